"""Record what MXNet's `quantize_model` makes of networks in each of its modes: the symbols and the parameters.

ORACLE_PYTHON -m tests.parity.generate_quantize_model
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np

from .generate_operators import ONEDNN
from .golden import DATA
from .oracle import mx, origin
from .quantize_model import BATCH, NETWORKS, ROWS, drawn


def record(network: str, options: dict[str, Any]) -> dict[str, Any]:
    """Quantize one network; its symbol as nodes, and its arguments as lists, or MXNet's error."""
    symbol, arguments, states, data = drawn(mx, network)
    labels = ["softmax_label"] if "softmax_label" in symbol.list_arguments() else None
    batches = mx.io.NDArrayIter(data, np.zeros(len(data)) if labels else None, BATCH)
    calibration = {} if options["calib_mode"] == "none" else {"calib_data": batches}
    try:
        quantized, parameters, _ = mx.contrib.quantization.quantize_model(
            symbol, arguments, states, label_names=labels, ctx=mx.cpu(), **calibration, **options
        )
    except (ValueError, mx.MXNetError) as error:
        return {"error": str(error).splitlines()[0]}
    values = {
        key: {"type": str(value.dtype.__name__), "values": value.asnumpy().tolist()}
        for key, value in sorted(parameters.items())
        if "_quantize" in key
    }
    return {
        "symbol": json.loads(quantized.tojson()),
        "parameters": values,
        "others": sorted(set(parameters) - set(values)),
    }


def generate_quantize_model() -> None:
    """Record every row, in a process whose MXNet uses oneDNN: without it these operators do not run."""
    if not os.environ.get(ONEDNN):
        command = [sys.executable, "-m", "tests.parity.generate_quantize_model"]
        subprocess.run(command, check=True, env={**os.environ, ONEDNN: "1"})
        return
    rows = {name: record(*row) for name, row in ROWS.items()}
    # The parameters do not depend on the calibration: once for each network is enough.
    parameters = {name: rows[f"{name}-full-none"].get("parameters") for name in NETWORKS}
    for row in rows.values():
        if "parameters" in row:
            row["parameters"] = sorted(row["parameters"])
    text = json.dumps({"origin": origin(), "rows": rows, "parameters": parameters}, separators=(",", ":"))
    (DATA / "quantize_model.json").write_text(text + "\n")


if __name__ == "__main__":
    generate_quantize_model()
