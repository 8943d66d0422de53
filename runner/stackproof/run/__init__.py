"""Carrying out a plan: one process for each cell, watched, judged, shown and written down."""
