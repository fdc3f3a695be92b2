"""Numbers for tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...absent import old_names
from ...errors import ArgumentError, ParameterError, shown

__all__ = ["Vocabulary"]


class Vocabulary:
    """Tokens by number: the unknown token first, then the reserved ones, then those of a counter.

    Those of the counter are in the order of their frequency, the most frequent first, and equally frequent ones in
    their own order.

    Parameters
    ----------
    counter
        How often each token occurs; its keys are hashable, and of one type that has an order.
    most_freq_count
        The most tokens to take from `counter`, beside the reserved ones; all if None.
    min_freq
        Tokens that occur more rarely are left out.
    unknown_token
        What stands for every token that is not in the vocabulary; its number is 0.
    reserved_tokens
        Tokens that are in the vocabulary whatever the counts, such as those for padding.

    Examples
    --------
    >>> tokens = Vocabulary(Counter("abbccc"), most_freq_count=2, reserved_tokens=["<pad>"])
    >>> tokens.idx_to_token
    ['<unk>', '<pad>', 'c', 'b']
    >>> tokens.to_indices(["b", "a"]), tokens.to_tokens(2)
    ([3, 0], 'c')
    """

    def __init__(
        self,
        counter: Counter[Any] | None = None,
        most_freq_count: int | None = None,
        min_freq: int = 1,
        unknown_token: Hashable = "<unk>",
        reserved_tokens: Iterable[Hashable] | None = None,
    ) -> None:
        if counter is not None and not isinstance(counter, Counter):
            raise ArgumentError(f"Vocabulary: counter must be a collections.Counter; got {shown(counter)}")
        if min_freq < 1:
            raise ParameterError(f"Vocabulary: min_freq must be >= 1; got {min_freq}")
        reserved = None if reserved_tokens is None else list(reserved_tokens)
        if reserved is not None and (unknown_token in reserved or len(set(reserved)) < len(reserved)):
            raise ParameterError(
                f"Vocabulary: reserved_tokens must be different, and without the unknown token {unknown_token!r}; "
                f"got {shown(reserved)}"
            )
        self._unknown_token = unknown_token
        self._reserved_tokens = reserved
        self._idx_to_token: list[Any] = [unknown_token, *(reserved or ())]
        special = set(self._idx_to_token)
        if counter is not None:
            ranked = sorted(
                (token for token, count in counter.items() if count >= min_freq and token not in special)
            )
            ranked.sort(key=counter.__getitem__, reverse=True)  # stable: equal counts stay in order
            self._idx_to_token += ranked if most_freq_count is None else ranked[:most_freq_count]
        self._token_to_idx = {token: index for index, token in enumerate(self._idx_to_token)}

    def __len__(self) -> int:
        return len(self.idx_to_token)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} tokens>"

    @property
    def token_to_idx(self) -> dict[Any, int]:
        """The number of each token.

        >>> Vocabulary(Counter("aab")).token_to_idx
        {'<unk>': 0, 'a': 1, 'b': 2}
        """
        return self._token_to_idx

    @property
    def idx_to_token(self) -> list[Any]:
        """The tokens in the order of their numbers.

        >>> Vocabulary(Counter("aab")).idx_to_token
        ['<unk>', 'a', 'b']
        """
        return self._idx_to_token

    @property
    def unknown_token(self) -> Hashable:
        """What stands for every token that is not in the vocabulary."""
        return self._unknown_token

    @property
    def reserved_tokens(self) -> list[Any] | None:
        """Tokens that are in the vocabulary whatever the counts."""
        return self._reserved_tokens

    def to_indices(self, tokens: Hashable | list[Any]) -> int | list[int]:
        """Return the number of a token, or a list of those of a list of tokens; 0 for what is unknown.

        >>> Vocabulary(Counter("aab")).to_indices(["b", "x"])
        [2, 0]
        """
        if isinstance(tokens, list):
            return [self._token_to_idx.get(token, 0) for token in tokens]
        return self._token_to_idx.get(tokens, 0)

    def to_tokens(self, indices: int | Sequence[int]) -> Any:
        """Return the token of a number, or a list of those of a list of numbers.

        Raises
        ------
        ParameterError
            For a number that no token has. MXNet counts negative ones from the end.

        Examples
        --------
        >>> Vocabulary(Counter("aab")).to_tokens([2, 0])
        ['b', '<unk>']
        """
        if isinstance(indices, (list, tuple)):
            return [self._token_of(index) for index in indices]
        return self._token_of(indices)  # type: ignore[arg-type]  # a single number

    def _token_of(self, index: int) -> Any:
        if not isinstance(index, int) or not 0 <= index < len(self):
            raise ParameterError(f"to_tokens: indices must be in 0..{len(self) - 1}; got {shown(index)}")
        return self._idx_to_token[index]


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
