"""A small gateway in front of model providers, which calls them through their own SDKs."""
