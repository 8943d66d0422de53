"""Faults of the wire that are put into replayed answers: what is planned for a test, and how it happens to an answer.

Loaded by a process only once a fault is planned in its run.
"""
