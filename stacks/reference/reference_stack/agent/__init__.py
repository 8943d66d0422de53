"""The agent runtime: a session's turns, each a model's answers and the calls of tools between them."""
