"""Shards of a run as tasks of a Docker Swarm: started, watched, started again elsewhere, and their evidence fetched."""
