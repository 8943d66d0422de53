"""OGX as a stack: its configuration, made from the variables of a setup, and its two ways to start."""
