"""What a turn of the agent runtime costs when its model is replayed."""
