"""Lanes: the jobs that a CI system runs, and what each of them takes over of a release."""
