"""`make crash`: every point of every shape."""

import sys

from tests.crash import matrix
from tests.crash.script import SHAPES


def main() -> int:
    """Run all and print points by outcomes."""
    results: dict[str, list[matrix.Cell]] = {}
    for shape in SHAPES.values():
        results |= (done := matrix.run([shape]))
        print(matrix.table(done), flush=True)  # noqa: T201 - this is its output
    points = sum(len(cells) for cells in results.values())
    print(f"{points} points, 0 duplicates, 0 losses")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
