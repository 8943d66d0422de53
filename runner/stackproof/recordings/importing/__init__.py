"""Recordings of other tools, read as data and written as ours: one module for each format, the rest is shared."""
