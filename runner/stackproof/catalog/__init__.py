"""The YAML files that name setups, stacks, services and suites, as checked, frozen records."""
