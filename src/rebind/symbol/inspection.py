"""What a symbol is: its outputs, its nodes and their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..checks import TEXT, check_kind
from ..errors import ArgumentError, ParameterError
from ..graph import Node, symbol_json
from .base import SymbolBase

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Inspection"]


class Inspection(SymbolBase):
    """Methods that show what a symbol is made of."""

    __slots__ = ()

    def get_internals(self) -> Self:
        """Return a symbol whose outputs are all outputs of all nodes.

        >>> import rebind as mx
        >>> net = mx.sym.relu(mx.sym.exp(mx.sym.var("x"), name="e"), name="r")
        >>> net.get_internals()["e_output"]
        <Symbol e>
        """
        return self.symbol_class(self._graph.internals)

    def get_children(self) -> Self | None:
        """Return the inputs of the outputs' nodes; None for a variable.

        >>> import rebind as mx
        >>> (mx.sym.var("a") + mx.sym.var("b")).get_children()
        <Symbol group [a, b]>
        """
        # A node with several outputs in the group gives its inputs once.
        nodes = dict.fromkeys(entry.node for entry in self._graph.outputs)
        children = [entry for node in nodes for entry in node.inputs]
        return self.symbol_class(children) if children else None

    def attr(self, key: str) -> str | None:
        """Return an attribute or parameter as text; None when it is not set.

        >>> import rebind as mx
        >>> mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2).attr("num_hidden")
        '2'
        """
        check_kind("Symbol.attr", TEXT, key=key)
        if self.name is None:
            return None
        return self.name if key == "name" else self.list_attr().get(key)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """Return the attributes and parameters of this symbol's node.

        >>> import rebind as mx
        >>> mx.sym.var("w", wd_mult=0).list_attr()
        {'__wd_mult__': '0', 'wd_mult': '0'}
        """
        if recursive:
            raise ArgumentError("Symbol.list_attr: takes no recursive=True; use attr_dict()")
        return _shown(self._graph.outputs[0].node)

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes and parameters of all nodes that have some, by the node's name.

        >>> import rebind as mx
        >>> mx.sym.clip(mx.sym.var("x"), 0, 1, name="c").attr_dict()
        {'c': {'a_min': '0', 'a_max': '1'}}
        """
        return {node.name: shown for node in self._graph.nodes if (shown := _shown(node))}

    def _set_attr(self, **kwargs: str) -> None:
        """Set attributes of this symbol's node; a variable's may have any name."""
        if self.name is None:
            raise ArgumentError("Symbol: attributes are set on one symbol; choose one of the group with [i]")
        node = self._graph.outputs[0].node
        for key, value in kwargs.items():
            if not isinstance(value, str):
                raise ParameterError(f"Symbol: attribute {key!r} must be a string; got {value!r}")
            if node.operator is not None and not symbol_json.is_attribute(key):
                raise ParameterError(
                    f"Symbol: {node.operator.name} {node.name!r} takes attributes that begin and end with two "
                    f"underscores, or {', '.join(sorted(symbol_json.HIDDEN_KEYS))}; got {key!r}. "
                    "Parameters do not change."
                )
            # The one thing of a node that may change; see `rebind.graph.graph`.
            node.attributes[symbol_json.hide(key)] = value

    def debug_str(self) -> str:
        """Return a text that lists the nodes and their inputs, in the form of MXNet's.

        >>> import rebind as mx
        >>> print(mx.sym.exp(mx.sym.var("x"), name="e").debug_str())
        Symbol Outputs:
            output[0]=e(0)
        Variable:x
        --------------------
        Op:exp, Name=e
        Inputs:
            arg[0]=x(0) version=0
        """
        # MXNet's version of a variable is 1 where its operator writes to it, as to a state.
        auxiliary = set(self._graph.auxiliary)
        lines = ["Symbol Outputs:"]
        lines += [
            f"\toutput[{i}]={entry.node.name}({entry.index})" for i, entry in enumerate(self._graph.outputs)
        ]
        for node in self._graph.nodes:
            if node.operator is None:
                lines.append(f"Variable:{node.name}")
                continue
            lines += ["--------------------", f"Op:{node.operator.name}, Name={node.name}", "Inputs:"]
            lines += [
                f"\targ[{i}]={entry.node.name}({entry.index})"
                + (f" version={int(entry.node in auxiliary)}" if entry.node.is_variable else "")
                for i, entry in enumerate(node.inputs)
            ]
            texts = {**node.attributes, **node.given}
            if texts:
                lines += ["Attrs:", *(f"\t{key}={texts[key]}" for key in sorted(texts))]
        return "\n".join(lines) + "\n"


def _shown(node: Node) -> dict[str, str]:
    """Return a node's parameters and attributes as users see them: hidden keys in both forms."""
    shown = dict(node.given)
    for key, value in node.attributes.items():
        shown[key] = value
        plain = key.removeprefix("__").removesuffix("__")
        if plain in symbol_json.HIDDEN_KEYS:
            shown[plain] = value
    return shown
