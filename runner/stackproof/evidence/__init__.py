"""What the checks of a run produced, read as facts. This room has no opinions: the verdict weighs."""
