"""The provider edge: a server that stands in for providers, for stacks that the recorder cannot look into."""
