"""The count of operators that ``make parity`` prints."""

from __future__ import annotations

from .coverage import LEFT_OUT, LISTED_ONLY, inventory, missing_operators, missing_parameters


def test_all_operators_are_here_but_those_that_are_left_out_on_purpose() -> None:
    assert len(inventory()) == 593
    assert missing_operators() == sorted(LEFT_OUT)


def test_operators_have_all_their_parameters() -> None:
    assert missing_parameters() == LISTED_ONLY
