"""The count of operators that ``make parity`` prints."""

from __future__ import annotations

from rebind.ops import OPERATORS

from .coverage import inventory, missing_operators, missing_parameters

#: Parameters that MXNet lists and itself refuses: it takes others in their place.
LISTED_ONLY = {"_linspace": ["infer_range", "repeat", "step"]}


def test_operators_that_are_here_have_all_their_parameters() -> None:
    assert missing_parameters() == LISTED_ONLY


def test_what_is_missing_is_missing() -> None:
    missing = missing_operators()
    assert not set(missing) & set(OPERATORS)
    assert len(inventory()) == 593 > len(missing)
