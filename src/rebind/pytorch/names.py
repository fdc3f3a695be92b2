"""Names of a symbol as names that Python and `torch.nn.Module` take."""

from __future__ import annotations

import keyword
import re

from torch import fx, nn

__all__ = ["Names"]

#: What the written file uses itself.
_RESERVED = frozenset(("torch", "nn", "F", "Tensor", "self"))


class Names:
    """Names that are in use, each once.

    Parameters
    ----------
    members
        Whether they name members of a module, which has names of its own.

    Examples
    --------
    >>> names = Names()
    >>> names.new("conv-1"), names.new("conv_1"), names.new("lambda"), names.new("0fc")
    ('conv_1', 'conv_1_1', 'lambda_', 'n0fc')
    """

    def __init__(self, *, members: bool = False) -> None:
        self._used = set(_RESERVED)
        if members:
            # What `torch.export` gives has them as well.
            self._used.update(dir(nn.Module()), dir(fx.GraphModule({}, fx.Graph())))

    def new(self, wanted: str) -> str:
        """Return a name that is not used yet, the wanted one where it can be."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII) or "value"
        name = f"n{name}" if name[0].isdigit() else name
        name = f"{name}_" if keyword.iskeyword(name) or name in self._reserved_words else name
        base, number = name, 0
        while name in self._used:
            number += 1
            name = f"{base}_{number}"
        self._used.add(name)
        return name

    _reserved_words = frozenset(("None", "True", "False", "match", "type"))
