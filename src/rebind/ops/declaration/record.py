"""What MXNet's symbols and their files say of an operator's node."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from torch import Tensor

from ...params import Params

#: From parameters, inputs, outputs and whether it trains, to outputs by name.
HiddenRule = Callable[[Params, Sequence[Tensor | None], Sequence[Tensor | None], bool], Mapping[str, Tensor]]

__all__ = ["HiddenRule", "Record"]


@dataclass(frozen=True)
class Record:
    """Outputs by name, how many of them are seen and counted, and first values of variables.

    Attributes
    ----------
    outputs
        The names of all outputs, hidden ones too; or a function of the parameters.
    visible
        How many outputs a user sees; all without it.
    counted
        How many outputs MXNet's files count for a node, workspaces too; as many as there are without it.
    inits
        For an input, the initializer of a variable that is made for it (``'["one", {}]'``).
    listed
        Where MXNet's own list of arguments says what does not follow from the signature: by argument, its words; None
        for an argument that it does not list. Names that are no arguments come first.
    hidden
        What MXNet's hidden outputs hold, where the function does not return it: a monitor shows them.

    Examples
    --------
    >>> record = Record(outputs=("output", "mean", "var"), visible=lambda p: 1)
    >>> record.output_names(Params()), record.visible_outputs(Params()), record.recorded_outputs(Params())
    (('output', 'mean', 'var'), 1, 3)
    """

    outputs: Sequence[str] | Callable[[Params], Sequence[str]] = ("output",)
    visible: Callable[[Params], int] | None = None
    counted: int | Callable[[Params], int] | None = None
    inits: Mapping[str, str] = field(default_factory=dict)
    listed: Mapping[str, str | None] = field(default_factory=dict)
    hidden: HiddenRule | None = None

    def output_names(self, p: Params) -> tuple[str, ...]:
        """Return the names of all outputs, hidden ones too.

        >>> from rebind.ops import find
        >>> find("split").record.output_names(Params(num_outputs=2))
        ('output0', 'output1')
        """
        return tuple(self.outputs(p) if callable(self.outputs) else self.outputs)

    def visible_outputs(self, p: Params) -> int:
        """Return how many outputs a user sees (`BatchNorm` hides its mean and variance).

        >>> from rebind.ops import find
        >>> record = find("BatchNorm").record
        >>> [record.visible_outputs(Params(output_mean_var=shown)) for shown in (False, True)]
        [1, 3]
        """
        return len(self.output_names(p)) if self.visible is None else self.visible(p)

    def recorded_outputs(self, p: Params) -> int:
        """Return how many outputs MXNet's files count for a node: hidden ones and workspaces too.

        >>> from rebind.ops import find
        >>> record = find("LRN").record  # MXNet counts an intermediate array
        >>> record.output_names(Params()), record.recorded_outputs(Params())
        (('output',), 2)
        """
        if self.counted is None:
            return len(self.output_names(p))
        return self.counted(p) if callable(self.counted) else self.counted
