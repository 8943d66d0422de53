"""Thin layers over HTTP libraries: each only translates and asks the brain."""
