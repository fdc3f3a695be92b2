"""What ended a job: of the processes that failed, those that did not fail because of others."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Ending", "describe", "exit_code_of", "find_causes"]


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How one process of a job ended.

    Attributes
    ----------
    name
        What the launcher calls it.
    rank
        The worker that it is, or None.
    pid, host
        The process; the launcher's machine has the host ``''``.
    code
        Its exit code, or a signal's number less than 0; None for what did not end.
    said
        The error that it reported to the others.
    lost
        The workers whose loss ended it.
    hung
        Why it was taken for hung, and ended; ``''`` if it was not.
    last_lines
        What it wrote last to standard error.
    """

    name: str
    rank: int | None = None
    pid: int = 0
    host: str = ""
    code: int | None = None
    said: str = ""
    lost: tuple[int, ...] = ()
    hung: str = ""
    last_lines: tuple[str, ...] = ()


def find_causes(endings: Sequence[Ending]) -> list[Ending]:
    """Return what ended the job, among what is known of its processes when the first had failed.

    A worker that stopped since it lost another one is a consequence of that; what it lost is the cause. Where nothing
    but consequences is known, they stand for themselves.

    Examples
    --------
    >>> killed = Ending(name="worker 1", rank=1, code=-9)
    >>> follower = Ending(name="worker 0", rank=0, code=1, lost=(1,))
    >>> [cause.name for cause in find_causes([follower, killed])]
    ['worker 1']
    """
    by_rank = {each.rank: each for each in endings if each.rank is not None}
    causes = [each for each in endings if each.hung or (each.code and not each.lost)]
    for follower in endings:
        if follower.code and follower.lost:
            lost = [by_rank[rank] for rank in follower.lost if rank in by_rank]
            causes += [each for each in lost if not each.lost]
    # Hung ones would make the others wait, and a crash would end them: whichever there is came first.
    unique = list(dict.fromkeys(causes))
    return unique or [each for each in endings if each.code]


def describe(cause: Ending, lines: int = 12) -> str:
    """Return what became of a process, with the last lines that it wrote.

    >>> print(describe(Ending(name="worker 1", pid=7, code=-9, last_lines=("step 12",))))
    worker 1 (pid 7) was ended by SIGKILL.
      worker 1 | step 12
    """
    place = f"pid {cause.pid}{f' on {cause.host}' if cause.host else ''}"
    if cause.hung:
        text = f"{cause.hung}."
    elif cause.code is None:
        text = f"was lost{f': {cause.said}' if cause.said else ''}."
    elif cause.code < 0:
        text = f"was ended by {_name_of(-cause.code)}."
    else:
        text = f"ended with exit code {cause.code}{f': {cause.said}' if cause.said else ''}."
    shown = [f"  {cause.name} | {line}" for line in cause.last_lines[-lines:]]
    return "\n".join([f"{cause.name} ({place}) {text}", *shown])


def exit_code_of(causes: Sequence[Ending]) -> int:
    """Return the exit code of a job that failed: that of its cause, as a shell gives it.

    >>> exit_code_of([Ending(name="worker 1", code=-9)])
    137
    """
    for cause in causes:
        if cause.code:
            return cause.code if cause.code > 0 else 128 - cause.code
    return 1


def _name_of(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
