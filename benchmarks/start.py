"""`python -m benchmarks.start CASE`: one cold start, in a process of its own; prints what it took."""

import json
import resource
import sys


def main() -> None:
    from importlib import import_module  # noqa: PLC0415 - nothing is imported before the clock is read

    before = resource.getrusage(resource.RUSAGE_SELF)
    import_module("benchmarks.cases").CASES[sys.argv[1]]()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"cpu_ms": cpu * 1000, "rss_mb": after.ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
