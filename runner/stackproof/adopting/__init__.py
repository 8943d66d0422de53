"""What `stackproof init` does: look at somebody else's repository, draft the files that put it under test, place them.

`looking` reads and decides nothing, `drafting` decides and touches nothing, `placing` writes and never overwrites.
"""
