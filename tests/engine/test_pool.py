import threading

import pytest

from shared.engine.pool import ThreadPool


def test_calls_run_side_by_side_and_threads_outlive_the_lease() -> None:
    crew = ThreadPool(idle=60)
    together = threading.Barrier(5, timeout=10)
    names: list[set[str]] = []
    for _ in range(2):
        with crew(4) as pool:
            calls = [pool.submit(lambda: (together.wait(), threading.current_thread().ident)[1]) for _ in range(4)]
            together.wait()
            names.append({str(c.result()) for c in calls})

    assert len(names[0]) == 4, "each call has a thread of its own"
    assert names[0] == names[1], "the second lease started no thread"


def test_a_thread_without_a_call_ends_and_the_next_burst_starts_others() -> None:
    crew = ThreadPool(idle=0.01)
    for _ in range(2):
        together = threading.Barrier(4, timeout=10)
        with crew(4) as pool:
            calls = [pool.submit(lambda b=together: (b.wait(), threading.current_thread())[1]) for _ in range(4)]
            threads = [call.result() for call in calls]
        assert len(set(threads)) == 4
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()


@pytest.mark.slow
def test_no_call_is_lost_while_threads_end() -> None:
    crew = ThreadPool(idle=0.0002)
    with crew(3) as pool:
        for n in range(400):
            calls = [pool.submit(lambda n=n, i=i: n + i) for i in range(1 + n % 4)]
            assert [c.result() for c in calls] == [n + i for i in range(1 + n % 4)]
            threading.Event().wait(0.0002 * (n % 3))


def test_a_lease_has_no_more_threads_than_it_asked_for() -> None:
    crew = ThreadPool()
    seen: set[int] = set()
    with crew(2) as pool:
        for c in [pool.submit(lambda: seen.add(threading.get_ident())) for _ in range(50)]:
            c.result()

    assert 1 <= len(seen) <= 2


def test_leaving_waits_for_every_call() -> None:
    crew = ThreadPool()
    go, done = threading.Event(), threading.Event()

    def call() -> None:
        assert go.wait(10)
        done.set()

    def leave() -> None:
        with crew(1) as pool:
            pool.submit(call)

    lease = threading.Thread(target=leave)
    lease.start()
    lease.join(0.05)
    assert lease.is_alive()
    go.set()
    lease.join(10)
    assert done.is_set()


def test_an_error_is_raised_where_the_result_is_asked_for() -> None:
    def fail() -> None:
        raise ValueError("of the call")

    with ThreadPool()(1) as pool:
        failing, fine = pool.submit(fail), pool.submit(lambda: 7)
        with pytest.raises(ValueError, match="of the call"):
            failing.result()
        assert fine.result() == 7
