"""Ten steps of each program in `examples/sparse`, from weights that follow from their names, for one record."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

import numpy as np

from .golden import DATA

EXAMPLES = Path(__file__).parents[2] / "examples" / "sparse"
RECORD = DATA / "sparse_examples"
STEPS = 10


def load(mx: Any, name: str) -> ModuleType:
    """Return an example as a module that takes `mx` for rebind."""
    own = sys.modules.get("rebind")
    sys.modules["rebind"] = mx
    try:
        spec = importlib.util.spec_from_file_location(f"sparse_example_{name}", EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        if own is None:
            del sys.modules["rebind"]
        else:
            sys.modules["rebind"] = own
    return module


def initializer(mx: Any) -> Any:
    """Weights of normal numbers that follow from their names, the same in both programs."""

    class ByName(mx.init.Initializer):
        def _init_weight(self, name, arr):
            random = np.random.RandomState(crc32(str(name).encode()))
            arr[:] = mx.nd.array(0.1 * random.randn(*arr.shape))

    return ByName()


def linear_classification(example: ModuleType, folder: Path, start: Any) -> Any:
    example.write_texts(folder / "texts", STEPS * example.BATCH, seed=0)
    return example.train(folder / "texts", 1, initializer=start)


def factorization_machine(example: ModuleType, folder: Path, start: Any) -> Any:
    example.write_likes(folder / "all", folder / "others")
    lines = (folder / "all").read_text(encoding="ascii").splitlines(keepends=True)
    (folder / "first").write_text("".join(lines[: STEPS * example.BATCH]), encoding="ascii")
    return example.train(folder / "first", 1, start)


def matrix_factorization(example: ModuleType, folder: Path, start: Any) -> Any:
    return example.train(example.batches(*example.ratings(STEPS * example.BATCH)), 1, start)


def wide_deep(example: ModuleType, folder: Path, start: Any) -> Any:
    return example.train(example.batches(*example.people(STEPS * example.BATCH)), 1, start)


def sampled_softmax(example: ModuleType, folder: Path, start: Any) -> Any:
    words, vocabulary = example.read_words()
    return example.train(words[: STEPS * example.BATCH * example.LENGTH + 1], vocabulary, 1, start)


RUNS: dict[str, Callable[[ModuleType, Path, Any], Any]] = {
    run.__name__: run
    for run in (
        linear_classification,
        factorization_machine,
        matrix_factorization,
        wide_deep,
        sampled_softmax,
    )
}


def run(mx: Any, name: str, folder: Path) -> tuple[dict[str, Any], list[Any]]:
    """Train for ten steps; return the parameters and the outputs of the last step."""
    module = RUNS[name](load(mx, name), folder, initializer(mx))
    return module.get_params()[0], module.get_outputs()


def sample(array: np.ndarray) -> np.ndarray:
    """Return the first rows of a table, and every n-th of all others: of text, the frequent words come first."""
    first, others = array[:200], array[200:]
    return np.concatenate([first, others[:: max(1, len(others) // 200)]])
