"""`verdict.html`: one page with everything in it that asks the network for nothing."""
