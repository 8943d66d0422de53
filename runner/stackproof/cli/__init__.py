"""The `stackproof` command."""
