"""Where two values that should be equal differ."""

from __future__ import annotations

__all__ = ["difference"]


def difference(one: object, other: object, at: str = "") -> tuple[str, str]:
    """Return the first difference of two values as text, from each side; of dicts in their keys and values.

    >>> difference({"shapes": {"w": 1}}, {"shapes": {"w": 2}})
    ('shapes: w: 1', 'shapes: w: 2')
    """
    if isinstance(one, dict) and isinstance(other, dict):
        for key in [*one, *(key for key in other if key not in one)]:
            if key not in one or key not in other or one[key] != other[key]:
                where = f"{at}{key}"
                missing = f"no {where!r}"
                if key not in one:
                    return missing, f"{where!r}: {other[key]}"
                if key not in other:
                    return f"{where!r}: {one[key]}", missing
                return difference(one[key], other[key], f"{where}: ")
    return f"{at}{one}", f"{at}{other}"
