"""Stackproof: prove that a software stack which talks to language models is fit to release."""

__version__ = "0.1.0"
