"""Counting the tokens of a text."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from ...absent import old_names
from ...checks import TEXT, check_kind

__all__ = ["count_tokens_from_str"]


def count_tokens_from_str(
    source_str: str,
    token_delim: str = " ",
    seq_delim: str = "\n",
    to_lower: bool = False,
    counter_to_update: Counter[str] | None = None,
) -> Counter[str]:
    r"""Count the tokens of a text.

    Parameters
    ----------
    source_str
        The text.
    token_delim, seq_delim
        Regular expressions for what is between tokens, and between sequences of tokens.
    to_lower
        Whether to count in lower case.
    counter_to_update
        The counter to add to, which is returned; a new one if None.

    Examples
    --------
    >>> count_tokens_from_str(" Life is great ! \n life is good . \n", to_lower=True)
    Counter({'life': 2, 'is': 2, 'great': 1, '!': 1, 'good': 1, '.': 1})
    >>> count_tokens_from_str("*Life*is*great*", r"\*")
    Counter({'Life': 1, 'is': 1, 'great': 1})
    """
    check_kind("count_tokens_from_str", TEXT, source_str=source_str)
    # Split as it is: what is between tokens may be a letter.
    tokens = filter(None, re.split(f"{token_delim}|{seq_delim}", source_str))
    counter = Counter() if counter_to_update is None else counter_to_update
    counter.update(map(str.lower, tokens) if to_lower else tokens)
    return counter


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
