"""A help desk that two providers answer for."""
