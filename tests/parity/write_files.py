"""Have rebind write the files that ``generate.py --check`` has MXNet read.

python -m tests.parity.write_files DIR
ORACLE_PYTHON -m tests.parity.generate --check DIR
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .golden import NETWORKS, group, read_arrays
from .networks import NETWORKS as ALL_NETWORKS
from .networks import attributed, build
from .samples import NUMPY_SHAPES, array_files
from .sparse_arrays import MIXED, mixed_arrays


def write_all(mx: Any, directory: Path) -> None:
    """Write arrays, checkpoints and symbols with ``mx`` under the names that MXNet's own files have."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in array_files().items():
        save_arrays(mx, directory / name, content)
    mx.nd.save(str(directory / MIXED), mixed_arrays(mx))
    with mx.util.np_shape(True):
        save_arrays(mx, directory / "arrays-np_shape.params", NUMPY_SHAPES)
    for network in ALL_NETWORKS:
        build(mx, network).save(str(directory / f"{network.name}-symbol.json"))
        recorded = read_arrays(NETWORKS / f"{network.name}.npz")
        parameters = {f"arg:{name}": value for name, value in group(recorded, "parameter").items()}
        states = {f"aux:{name}": value for name, value in group(recorded, "state").items()}
        save_arrays(mx, directory / f"{network.name}-0001.params", {**parameters, **states})
    with mx.name.NameManager():
        attributed(mx).save(str(directory / "attributes-symbol.json"))


def save_arrays(mx: Any, path: Path, content: Mapping[str, np.ndarray] | list[np.ndarray]) -> None:
    """Save arrays as a dict or a list, with the types that they have."""
    if isinstance(content, list):
        mx.nd.save(str(path), [mx.nd.array(value, dtype=value.dtype) for value in content])
    else:
        mx.nd.save(
            str(path), {name: mx.nd.array(value, dtype=value.dtype) for name, value in content.items()}
        )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    import rebind

    write_all(rebind, Path(sys.argv[1]))
