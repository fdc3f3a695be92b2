"""`Custom`: operators of the user's own, by the name that they were registered under.

The user's class declares what such an operator takes and returns; this package knows nothing of it. Whoever registers
one (`rebind.operator`) adds a factory here, and each call gets an operator of its own from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor

from ..errors import NameLookupError, ParameterError, near_names
from .declaration import Operator, operator

__all__ = ["CUSTOM_OPERATORS"]

#: By the name in ``op_type``: from the other parameters to the operator of one call.
CUSTOM_OPERATORS: dict[str, Callable[[Mapping[str, object]], Operator]] = {}


def _resolve(given: Mapping[str, object]) -> Operator:
    name = given.get("op_type")
    if not isinstance(name, str):
        raise ParameterError(
            "op_type must be the name of an operator that was registered with mx.operator.register(name); "
            f"got {name!r}"
        )
    make = CUSTOM_OPERATORS.get(name)
    if make is None:
        raise NameLookupError(
            f"no operator {name!r} was registered with mx.operator.register{near_names(name, CUSTOM_OPERATORS)}"
        )
    return make(given)


@operator("Custom", resolve=_resolve, listed={"op_type": "string"})
def _custom(*data: Tensor, op_type: str) -> Tensor:
    """Apply an operator that was written in Python and registered with `mx.operator.register`.

    Its arrays are named as its ``list_arguments()`` and ``list_auxiliary_states()`` say, and may be given by position
    or by name. All parameters but `op_type` go to its `CustomOpProp`, as text.

    Parameters
    ----------
    op_type
        The name that it is registered under.
    """
    # Only reached by a call that `_resolve` was not asked for.
    raise ParameterError("op_type must name the operator; it is missing")
