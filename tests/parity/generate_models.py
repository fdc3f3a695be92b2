"""Record what MXNet makes of the networks of `mx.models`: names and shapes of all, outputs of small variants.

python -m tests.parity.write_models DIR
ORACLE_PYTHON -m tests.parity.generate_models DIR
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

from .golden import join, write_arrays
from .models import INTERFACES, OUTPUTS, VARIANTS, run, usual_shapes
from .oracle import mx, origin


def interface(symbol: Any, name: str) -> dict[str, Any]:
    """Return the names and shapes of what a network takes and gives."""
    arguments, outputs, states = symbol.infer_shape(**usual_shapes(name))
    return {
        "arguments": dict(zip(symbol.list_arguments(), arguments)),
        "auxiliary_states": dict(zip(symbol.list_auxiliary_states(), states)),
        "outputs": dict(zip(symbol.list_outputs(), outputs)),
    }


def generate_models(directory: Path) -> None:
    """Record every network in a folder."""
    symbols = {
        path.name[: -len("-symbol.json")]: mx.sym.load(str(path))
        for path in sorted(directory.glob("*-symbol.json"))
    }
    networks = {
        name: interface(symbol, name) for name, symbol in symbols.items() if not name.startswith("small-")
    }
    text = json.dumps({"origin": origin(), "networks": networks}, separators=(",", ":"))
    # Names repeat in many networks: a tenth is left. Without the time, the same content is the same file.
    INTERFACES.write_bytes(gzip.compress(text.encode(), mtime=0))
    recorded = {}
    for name in VARIANTS:
        recorded.update(join(name, run(mx, name, symbols[f"small-{name}"])))
    write_arrays(OUTPUTS, recorded)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    generate_models(Path(sys.argv[1]))
