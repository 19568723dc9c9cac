"""`make mutants`: apply every sabotage, two at a time, and print what its test said. Exits with 1 if any survives.

Words on the command line choose the sabotages whose names contain one of them. Each of these tests is first run in the
same way without its sabotage.
"""

import contextlib
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import Queue

from tests.mutants.catalogue import MUTANTS
from tests.mutants.mutant import Mutant
from tests.mutants.run import Bench, Dependents, Misfit, Result, prepare

AT_ONCE = 2


def main(words: list[str]) -> int:
    """Return the exit code."""
    chosen = [m for m in MUTANTS if not words or any(w.lower() in m.name.lower() for w in words)]
    if not chosen:
        return _fail(f"no sabotage is called {' or '.join(words)}")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        base = Path(folder).resolve() / "base"
        base.mkdir()
        try:
            wrong = prepare(base, chosen)
        except Misfit as misfit:
            return _fail(str(misfit))
        if wrong:
            return _fail(f"{wrong}\nthe named tests must pass before anything is sabotaged")
        tests = len({m.test for m in chosen})
        _say(f"unsabotaged, {tests} tests pass ({time.monotonic() - began:.1f} s)\n")
        _say(f"{'promise':>7}  {'sabotage':<48} {'verdict':<12} {'s':>5}  test")
        results: list[Result] = []
        dependents = Dependents(base)
        with contextlib.ExitStack() as stack:
            benches: Queue[Bench] = Queue()
            for n in range(AT_ONCE):
                benches.put(stack.enter_context(Bench(base, base.with_name(str(n)), dependents)))
            pool = stack.enter_context(ThreadPoolExecutor(AT_ONCE))
            for r in pool.map(partial(_try, benches, twice=bool(words)), chosen):
                results.append(r)
                _show(r)
    killed = sum(r.killed for r in results)
    _say(f"\n{killed} of {len(results)} sabotages turned their test red ({time.monotonic() - began:.1f} s)")
    return 0 if killed == len(results) else 1


def _try(benches: "Queue[Bench]", mutant: Mutant, *, twice: bool) -> Result:
    bench = benches.get()
    try:
        return bench.sabotage(mutant, twice=twice)
    finally:
        benches.put(bench)


def _show(result: Result) -> None:
    m = result.mutant
    _say(f"{m.promise:>7}  {m.name:<48} {result.verdict:<12} {result.seconds:5.1f}  {m.test}")


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _fail(text: str) -> int:
    sys.stderr.write(f"error: {text}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
