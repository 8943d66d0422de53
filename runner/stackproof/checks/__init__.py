"""Checks beside the tests, each a command of its own: types and the benchmark."""
