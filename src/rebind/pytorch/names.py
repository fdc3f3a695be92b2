"""Names of a symbol as names that Python and `torch.nn.Module` take."""

from __future__ import annotations

import keyword
import re

from torch import fx, nn

from ..unique_names import unique_name

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
    >>> names.new("conv-1"), names.new("conv_1"), names.new("lambda"), names.new("0fc"), names.new("__a")
    ('conv_1', 'conv_1_1', 'lambda_', 'n0fc', '_a')
    """

    def __init__(self, *, members: bool = False) -> None:
        self._used = set(_RESERVED)
        if members:
            # What `torch.export` gives has them as well.
            self._used.update(dir(nn.Module()), dir(fx.GraphModule({}, fx.Graph())))

    def new(self, wanted: str) -> str:
        """Return a name that is not used yet, the wanted one where it can be."""
        name = re.sub(r"\W", "_", wanted, flags=re.ASCII) or "value"
        name = re.sub(r"^__+", "_", name)  # two at the beginning have a meaning in classes
        name = "value" if name == "_" else name
        name = f"n{name}" if name[0].isdigit() else name
        name = f"{name}_" if keyword.iskeyword(name) or name in self._reserved_words else name
        return unique_name(name, self._used)

    _reserved_words = frozenset(("None", "True", "False", "match", "type"))
