"""`python -m benchmarks.start CASE`: one cold start, in a process of its own; prints what it took."""

import json
import resource
import sys


def main() -> None:
    from importlib import import_module  # noqa: PLC0415 - nothing is imported before the clock is read

    before = resource.getrusage(resource.RUSAGE_SELF)
    import_module("benchmarks.rig.cases").CASES[sys.argv[1]]()
    after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps({"cpu_ms": cpu * 1000, "rss_mb": peak_kb() / 1024}))


def peak_kb() -> int:
    """Return the greatest memory of this process; `ru_maxrss` would count what its parent had before it began."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123 - pathlib is not to be imported
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
