"""What loading makes of JSON as MXNet 0.8 wrote it."""

from __future__ import annotations

import json
from typing import Any


def _batch_norm_of_08(mx: Any) -> Any:
    """Auxiliary states are no nodes there; those that loading adds carry what their node does."""
    variables = [
        {"op": "null", "param": {}, "name": name, "inputs": [], "attr": {"ctx_group": "one"}}
        for name in ("data", "bn_gamma", "bn_beta")
    ]
    node = {
        "op": "BatchNorm",
        "param": {"eps": "0.001", "momentum": "0.9"},
        "name": "bn",
        "inputs": [[0, 0], [1, 0], [2, 0]],
        "attr": {"ctx_group": "one", "lr_mult": "2.0"},
    }
    for each in (*variables, node):
        each["backward_source_id"] = -1
    text = json.dumps({"nodes": [*variables, node], "arg_nodes": [0, 1, 2], "heads": [[3, 0]]})
    symbol = mx.sym.load_json(text)
    return [symbol.attr_dict(), symbol.list_auxiliary_states()]


SNIPPETS = {"moving_statistics_have_attributes": _batch_norm_of_08}
