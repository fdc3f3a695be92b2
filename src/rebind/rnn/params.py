"""`RNNParams`: the variables of one or several cells, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from ..checks import refuses_unknown
from ..dtypes import DTypeLike
from ..symbol import Symbol, var
from ..symbol.creation import Dumped

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["RNNParams"]


class VariableSettings(TypedDict, total=False):
    """What `sym.var` takes besides a name."""

    attr: Mapping[str, str] | None
    shape: int | Sequence[int] | None
    lr_mult: float | None
    wd_mult: float | None
    dtype: DTypeLike | None
    init: str | Dumped | None
    stype: str | None


class RNNParams:
    """Variables by name, for sharing: cells that are given one `RNNParams` have equal weights.

    Parameters
    ----------
    prefix
        What all names begin with.

    Examples
    --------
    >>> import rebind as mx
    >>> shared = RNNParams("shared_")
    >>> first, second = (mx.rnn.RNNCell(4, prefix=prefix, params=shared) for prefix in ("a_", "b_"))
    >>> second(*first(mx.sym.var("x"), first.begin_state()))[0].list_arguments()
    ['x', 'shared_i2h_weight', 'shared_i2h_bias', 'shared_h2h_weight', 'shared_h2h_bias']
    """

    @refuses_unknown
    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def __repr__(self) -> str:
        return f"<RNNParams {self._prefix!r}: {', '.join(self._params) or 'no variables yet'}>"

    @property
    def prefix(self) -> str:
        """What all names begin with."""
        return self._prefix

    def get(self, name: str, **settings: Unpack[VariableSettings]) -> Symbol:
        """Return the variable of a name, which is made when it is first asked for.

        Parameters
        ----------
        name
            Its name, without the prefix.
        **settings
            For `sym.var`; without effect on a variable that there is.

        Examples
        --------
        >>> params = RNNParams("lstm_")
        >>> params.get("i2h_weight", shape=(16, 0)), params.get("i2h_weight") is params.get("i2h_weight")
        (<Symbol lstm_i2h_weight>, True)
        """
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = var(name, **settings)
        return self._params[name]

    def update(self, other: RNNParams) -> None:
        """Take the variables of another one too, by their full names.

        >>> params, other = RNNParams("a_"), RNNParams("b_")
        >>> _ = other.get("weight")
        >>> params.update(other)
        >>> params
        <RNNParams 'a_': b_weight>
        """
        self._params.update(other._params)
