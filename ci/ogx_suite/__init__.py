"""OGX's own integration tests, unchanged, with its own recorder and under Stackproof: `python -m ci.ogx_suite`."""
