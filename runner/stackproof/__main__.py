"""`python -m stackproof`, the same as the `stackproof` command."""

from stackproof.cli.main import entry

if __name__ == "__main__":
    entry()
