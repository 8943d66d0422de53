"""What the log of a CI job needs: which system reads it, what it obeys, and what it folds."""
