"""`stackproof doctor`: what of a machine and a project is missing or odd for a run, and what to do about each."""
