"""What the pytest plugin is made of: the stack, scopes around tests, what is kept of their calls, what is told."""
