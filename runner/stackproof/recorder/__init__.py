"""Records and replays calls to model providers inside somebody else's process.

This package is a guest: it uses the standard library only and imports nothing of the orchestrator, so that it can be
put, alone, on the path of a foreign environment. All imports inside it are relative for that reason.
"""
