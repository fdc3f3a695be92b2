"""Record which operators MXNet 1.9.1 has, and their parameters; run through ``generate.py``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

INVENTORY = Path(__file__).parent / "data" / "inventory.json"

#: What begins like this is no user's: gradients, the parts of other front ends, what MXNet makes for itself.
INTERNAL = (
    "_backward", "_np_", "_npi", "_npx", "_sg_", "_TVM", "_copyto_", "_contrib_tvm", "_NoGradient", "_Native",
    "_CachedOp", "_CrossDeviceCopy", "_set_value", "_CustomFunction", "_FusedOp", "_contrib_dgl",
)  # fmt: skip


def generate_inventory() -> None:
    """Write the names of operators with the names and types of their arguments."""
    from mxnet.operator import get_all_registered_operators, get_operator_arguments

    operators: dict[str, dict[str, Any]] = {}
    for name in sorted(get_all_registered_operators()):
        if not name.startswith(INTERNAL) and "backward" not in name:
            arguments = get_operator_arguments(name)
            operators[name] = dict(zip(arguments.names, arguments.types))
    # A line for an operator; its arguments in MXNet's order.
    lines = [f"{json.dumps(name)}: {json.dumps(arguments)}" for name, arguments in operators.items()]
    INVENTORY.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    print(len(operators), "operators")
