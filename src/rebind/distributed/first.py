"""What worker 0 does for all: it reads and writes the job's files, since machines need not share a file system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import torch
from torch import Tensor

from ..errors import WorkerError
from .job import Job
from .tags import Tag

__all__ = ["first_does", "from_first", "gather_bytes", "scatter_bytes"]


def first_does(job: Job, what: str, action: Callable[[], object]) -> None:
    """Let worker 0 do something, such as writing a file, while the others wait; all workers must call it.

    Parameters
    ----------
    job
        The workers.
    what
        What it is for, as errors say it.
    action
        Called on worker 0 only.

    Raises
    ------
    WorkerError
        On the others, when worker 0 fails; that has the error itself.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> first_does(current_job(), "greeting", lambda: print("hello"))
    hello
    """
    failed: Exception | None = None
    if job.rank == 0:
        try:
            action()
        except Exception as error:  # the others must hear of it before it ends this worker
            failed = error
    said = job.exchange(what, None if failed is None else f"{type(failed).__name__}: {failed}")[0]
    if failed is not None:
        raise failed
    if said is not None:
        raise WorkerError(
            f"{what}: worker 0 does this for all workers and must succeed; it failed with {said}"
        )


def from_first(job: Job, what: str, content: bytes | None) -> bytes:
    """Return the bytes that worker 0 gives, on all workers; all must call it.

    Parameters
    ----------
    job, what
        As in `first_does`.
    content
        On worker 0 the bytes; on the others nothing.

    Examples
    --------
    >>> from rebind.distributed import current_job
    >>> from_first(current_job(), "greeting", b"hello")
    b'hello'
    """
    if job.size == 1:
        return content or b""
    length = job.exchange(what, len(content or b""))[0]
    assert isinstance(length, int)  # it is this function's own
    array = _array(content or b"") if job.rank == 0 else torch.empty(length, dtype=torch.uint8)
    if length:
        job.broadcast(array)
    return array.numpy().tobytes()


def gather_bytes(job: Job, what: str, content: bytes) -> list[bytes]:
    """Return the bytes of all workers by rank, on worker 0; the others return nothing. All must call it.

    >>> from rebind.distributed import current_job
    >>> gather_bytes(current_job(), "greeting", b"hello")
    [b'hello']
    """
    lengths = cast(list[int], job.exchange(what, len(content)))
    if job.rank > 0:
        job.transfer({0: _array(content)}, {}, Tag.FROM_FIRST).wait(what)
        return []
    rows = [torch.empty(length, dtype=torch.uint8) for length in lengths]
    job.transfer({}, dict(enumerate(rows)), Tag.FROM_FIRST).wait(what)
    return [content, *(row.numpy().tobytes() for row in rows[1:])]


def scatter_bytes(job: Job, what: str, contents: Sequence[bytes] | None) -> bytes:
    """Return what worker 0 has for this worker, of bytes by rank; all must call it.

    >>> from rebind.distributed import current_job
    >>> scatter_bytes(current_job(), "greeting", [b"hello"])
    b'hello'
    """
    said = job.exchange(what, None if job.rank > 0 else [len(each) for each in contents or ()])[0]
    if job.rank > 0:
        row = torch.empty(cast(list[int], said)[job.rank], dtype=torch.uint8)
        job.transfer({}, {0: row}, Tag.FROM_FIRST).wait(what)
        return row.numpy().tobytes()
    given = list(contents or ())
    job.transfer(dict(enumerate(map(_array, given))), {}, Tag.FROM_FIRST).wait(what)
    return given[0]


def _array(content: bytes) -> Tensor:
    return (
        torch.frombuffer(bytearray(content), dtype=torch.uint8)
        if content
        else torch.empty(0, dtype=torch.uint8)
    )
