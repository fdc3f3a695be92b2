"""Record the modules: what the programs of `modules.py` compute with MXNet."""

from __future__ import annotations

import tempfile
from pathlib import Path

from .golden import DATA, join, write_arrays, write_manifest
from .modules import PROGRAMS
from .oracle import mx, origin


def main() -> None:
    """Run all programs."""
    arrays = {}
    for name, program in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            arrays.update(join(name, program(mx, Path(folder))))
    write_arrays(DATA / "modules.npz", arrays)
    write_manifest(DATA / "modules.json", {"origin": origin(), "programs": list(PROGRAMS)})


if __name__ == "__main__":
    main()
