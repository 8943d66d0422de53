"""A program for a hosted tool: reads its arguments as JSON from the command line, and prints the result."""

from __future__ import annotations

import json
import sys

_MEASURED = {"Paris": "clear, 20.5 °C", "Riga": "rain, 8.5 °C"}


def main() -> int:
    """0 and the weather, or 1 where nothing is measured."""
    city = json.loads(sys.argv[1])["city"]
    if city not in _MEASURED:
        sys.stdout.write(f"there is no station in {city}\n")
        return 1
    sys.stdout.write(f"{city}: {_MEASURED[city]}, measured at the station\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
