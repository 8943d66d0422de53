"""The YAML files that name setups, stacks, services and suites, as checked, frozen records."""

from stackproof.catalog.catalog import builtin_folder, load

__all__ = ["builtin_folder", "load"]
