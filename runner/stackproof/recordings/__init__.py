"""Looking after recordings outside of a run."""
