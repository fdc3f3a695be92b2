"""With PyTorch's public functions alone, programs give the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from . import programs


def test_numbers_are_the_same_without_private_names(tmp_path: Path) -> None:
    script, file = Path(programs.__file__), tmp_path / "numbers.npz"
    environment = {**os.environ, "REBIND_PRIVATE_TORCH": "0"}
    with subprocess.Popen([sys.executable, "-W", "ignore", script, file], env=environment) as child:
        wanted = programs.numbers()
    assert child.returncode == 0
    found = np.load(file)
    for name, group in wanted.items():
        for i, each in enumerate(group):
            np.testing.assert_allclose(
                found[f"{name} {i}"], each, rtol=1e-4, atol=1e-6, err_msg=f"{name} {i}"
            )
