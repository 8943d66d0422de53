"""Faults that are injected into what a stack hears from its providers, and claims about what must follow."""
