"""Have rebind write the networks of `mx.models` that ``generate_models.py`` has MXNet read.

python -m tests.parity.write_models DIR
ORACLE_PYTHON -m tests.parity.generate_models DIR
"""

from __future__ import annotations

import sys
from pathlib import Path

import rebind as mx

from .models import VARIANTS

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    directory = Path(sys.argv[1])
    directory.mkdir(parents=True, exist_ok=True)
    for name in mx.models.list():
        mx.models.get(name).save(str(directory / f"{name}-symbol.json"))
    for name, variant in VARIANTS.items():
        symbol = getattr(mx.models, variant.model)(**variant.parameters)
        symbol.save(str(directory / f"small-{name}-symbol.json"))
