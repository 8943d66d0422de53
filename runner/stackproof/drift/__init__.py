"""Live answers compared by shape with the recordings of the same tests."""
