"""Which part of the data is one worker's: ``num_parts`` and ``part_index``, as MXNet divides."""

from __future__ import annotations

from ..errors import ParameterError

__all__ = ["byte_bounds", "check_part", "sample_bounds"]


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
