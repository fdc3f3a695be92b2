"""Which part of the data is one worker's: ``num_parts`` and ``part_index``, as MXNet divides."""

from __future__ import annotations

from ..distributed import JobEnvironment, current_job
from ..errors import ParameterError
from ..logs import log

__all__ = ["byte_bounds", "check_part", "chosen_part", "part_of", "rank_and_size", "sample_bounds"]


def chosen_part(who: str, num_parts: int | None, part_index: int | None) -> tuple[int, int]:
    """Return the part to read, as ``(num_parts, part_index)``: that of this worker, where neither is given.

    >>> chosen_part("MNISTIter", None, None), chosen_part("MNISTIter", 2, None)
    ((1, 0), (2, 0))
    """
    if num_parts is not None or part_index is not None:
        return 1 if num_parts is None else num_parts, part_index or 0
    worker = rank_and_size()
    if worker is None:
        return 1, 0
    rank, size = worker
    log().info(
        "%s: reads part %d of %d, as this is worker %d of %d. To read all: num_parts=1.",
        who,
        rank,
        size,
        rank,
        size,
    )
    return size, rank


def rank_and_size() -> tuple[int, int] | None:
    """Return this worker's number, and how many there are; None for a program that is no worker among several.

    >>> rank_and_size() is None
    True
    """
    try:
        environment = JobEnvironment.read()
    except ParameterError:  # half of a job's description: joining the job says what is missing
        return None
    if environment is None or environment.role != "worker" or environment.num_workers == 1:
        return None
    # MXNet's launcher does not number the workers: the job does.
    rank = current_job().rank if environment.rank is None else environment.rank
    return rank, environment.num_workers


def part_of(data: object) -> tuple[int, int]:
    """Return which part of its data a source reads, as ``(part_index, num_parts)``; ``(0, 1)`` where nothing says so.

    >>> part_of([])
    (0, 1)
    """
    wrapped = getattr(data, "data_iter", None) or getattr(data, "iters", None)
    if wrapped is not None:  # ResizeIter, PrefetchingIter
        return part_of(wrapped[0] if isinstance(wrapped, list) else wrapped)
    index, count = getattr(data, "part_index", 0), getattr(data, "num_parts", 1)
    return (index, count) if isinstance(index, int) and isinstance(count, int) else (0, 1)


def check_part(who: str, num_parts: int, part_index: int) -> None:
    """Raise an error unless `part_index` is that of one of `num_parts` parts.

    >>> check_part("MNISTIter", 2, 2)
    Traceback (most recent call last):
    rebind.errors.ParameterError: MNISTIter: part_index must be in 0..1, for num_parts=2; got 2
    """
    if num_parts < 1:
        raise ParameterError(f"{who}: num_parts must be >= 1; got {num_parts}")
    if not 0 <= part_index < num_parts:
        raise ParameterError(
            f"{who}: part_index must be in 0..{num_parts - 1}, for num_parts={num_parts}; got {part_index}"
        )


def sample_bounds(total: int, num_parts: int, part_index: int) -> tuple[int, int]:
    """Return the first sample of a part, and the one after its last.

    >>> [sample_bounds(11, 3, part) for part in range(3)]
    [(0, 3), (3, 7), (7, 11)]
    """
    return total * part_index // num_parts, total * (part_index + 1) // num_parts


def byte_bounds(size: int, num_parts: int, part_index: int, unit: int = 1) -> tuple[int, int]:
    """Return where a part of `size` bytes begins and ends, before both are moved to the next record.

    A reader moves a bound that lies within a record to the start of the next one. From a bound at the first byte of a
    record files of text are read on to the next line, as in MXNet; a part of a record file begins there.

    Parameters
    ----------
    unit
        Parts begin at its multiples: 4 for record files, 1 for text.

    Examples
    --------
    >>> [byte_bounds(84, 5, part) for part in range(5)]
    [(0, 17), (17, 34), (34, 51), (51, 68), (68, 84)]
    """
    step = -(-size // num_parts)
    step = -(-step // unit) * unit
    return min(step * part_index, size), min(step * (part_index + 1), size)
