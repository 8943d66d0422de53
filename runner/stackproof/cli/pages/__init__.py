"""The documentation as it travels with the package: which pages there are, and how a terminal shows them."""
