"""The rule of another time (J5): an owner reads a job that waits, and writes its time; meanwhile its time may come."""

from tests.model.state import LATER, READY, State
from tests.model.world import Step, Steps, World, put, spend


def steps(m: World, s: State) -> Steps:
    """Yield what can become of the times that jobs wait for."""
    if not m.scheduled:
        return
    for j, job in enumerate(s.jobs):
        if job.early:
            come = job._replace(early="")
            yield Step(True, f"the time of {j} comes", s._replace(jobs=put(s.jobs, j, come)))
        if s.left.move and job.state == READY and job.early and not job.moving:
            read = s._replace(jobs=put(s.jobs, j, job._replace(moving=True)))
            yield Step(False, f"owner reads {j}, to give it another time", spend(read, "move"))
        if job.moving:
            yield from _write(m, s, j)


def _write(m: World, s: State, j: int) -> Steps:
    """Write the time if the job is READY, and was not planned since it was read; else the owner is told."""
    job = s.jobs[j]
    if job.state == READY or "a_move_is_of_what_waits" in m.without:
        yield Step(True, f"owner: {j} is sent now", m.change_job(s, j, moving=False, early=""))
        later = job.early or LATER
        yield Step(True, f"owner: {j} is sent later", m.change_job(s, j, moving=False, early=later))
    else:
        yield Step(True, f"owner: 409, {j} is {job.state}", s._replace(jobs=put(s.jobs, j, job._replace(moving=False))))
