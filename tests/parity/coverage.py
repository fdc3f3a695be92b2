"""How much of MXNet 1.9.1's operator library is here: ``make parity``, or ``python -m tests.parity.coverage``."""

from __future__ import annotations

import functools
import json
from collections import defaultdict
from typing import NamedTuple

from rebind.ops import OPERATORS

from .generate_inventory import INVENTORY
from .golden import DATA, read_arrays
from .golden import OPERATORS as CALLS
from .types import TYPES

#: Arguments that the inventory lists and no caller gives: counts of inputs come from the inputs.
COUNTS = {"num_args", "num_arrays", "num_weights", "num_outputs"}

#: Operators that are left out on purpose, with the reason; `docs/differences.md` names them too.
LEFT_OUT = {
    "_NDArray": "a hook of MXNet 0.x for operators that live in the caller's memory, which it is given as a pointer",
    "_imdecode": "takes a picture by a pointer that only MXNet's own front end can make; `nd.imdecode` is there",
}


class Instead(NamedTuple):
    """Why no single call of an operator is recorded, and where it is tested."""

    reason: str
    tests: str


_AS_NETWORKS = "it is recorded as a part of networks"
_GPU = "MXNet has it on GPUs only"
_NO_SYMBOL = (
    "calls are recorded through symbols, and MXNet has it for arrays alone, or refuses it in a symbol"
)
_RANDOM = "its numbers are random, and drawn by PyTorch; their distribution is tested"
_SPARSE = "MXNet takes sparse arrays only; calls with those are recorded with the storage types"

#: Operators of which no single call is recorded: neither in `cases`, nor with the layers, nor with the updates.
NO_CALL = {
    "Custom": Instead("the user's code computes it", "tests/test_operator.py"),
    **dict.fromkeys(
        ["_foreach", "_while_loop", "_cond"], Instead(_AS_NETWORKS, "tests/parity/test_control_flow.py")
    ),
    "_contrib_quantized_conv": Instead(_AS_NETWORKS, "tests/parity/test_quantized.py"),
    "_contrib_quantized_rnn": Instead(
        "oneDNN refuses it on the processor that recorded", "tests/ops/test_quantization.py"
    ),
    "_contrib_BatchNormWithReLU": Instead(
        "MXNet has it with oneDNN only, which is off in the records", "tests/ops/nn/test_sync_norm.py"
    ),
    "_contrib_ModulatedDeformableConvolution": Instead(_GPU, "tests/ops/test_deformable.py"),
    **dict.fromkeys(["_contrib_fft", "_contrib_ifft"], Instead(_GPU, "tests/ops/test_contrib.py")),
    "_contrib_count_sketch": Instead(_GPU, "tests/ops/test_sketch.py"),
    **dict.fromkeys(
        ["_contrib_allclose", "_contrib_boolean_mask"], Instead(_NO_SYMBOL, "tests/ops/test_contrib.py")
    ),
    **dict.fromkeys(
        ["_contrib_edge_id", "_contrib_getnnz", "_sparse_retain", "_square_sum"],
        Instead(_SPARSE, "tests/parity/test_storage.py"),
    ),
    **dict.fromkeys(
        ["_cvimdecode", "_cvimread", "_cvimresize", "_cvcopyMakeBorder"],
        Instead(_NO_SYMBOL, "tests/ops/test_opencv.py"),
    ),
    "_copyto": Instead(_NO_SYMBOL, "tests/ndarray"),
    **dict.fromkeys(
        ["_onehot_encode", "_scatter_set_nd", "_zeros_without_dtype", "fill_element_0index"],
        Instead(_NO_SYMBOL, "tests/ops/samples.py"),
    ),
    "reset_arrays": Instead(_NO_SYMBOL, "tests/ops/test_reset.py"),
    **dict.fromkeys(
        ["_image_random_color_jitter", "_image_random_flip_left_right", "_image_random_flip_top_bottom"],
        Instead(_RANDOM, "tests/ops/test_image.py"),
    ),
    **dict.fromkeys(
        [
            *(
                f"_random_{law}{like}"
                for law in (
                    "exponential", "gamma", "generalized_negative_binomial", "negative_binomial", "normal",
                    "poisson", "uniform",
                )
                for like in ("", "_like")
            ),
            *(
                f"_sample_{law}"
                for law in (
                    "exponential", "gamma", "generalized_negative_binomial", "multinomial", "negative_binomial",
                    "normal", "poisson", "uniform", "unique_zipfian",
                )
            ),
            "_random_randint",
            "_shuffle",
        ],
        Instead(_RANDOM, "tests/ops/test_sampling.py"),
    ),
}  # fmt: skip

#: Parameters that MXNet lists and itself refuses: it takes others in their place.
LISTED_ONLY = {"_contrib_SparseEmbedding": ["sparse_grad"], "_linspace": ["infer_range", "repeat", "step"]}


@functools.cache
def inventory() -> dict[str, dict[str, str]]:
    """Return MXNet's operators: by name, the names and types of their arguments."""
    return json.loads(INVENTORY.read_text(encoding="utf-8"))


def missing_operators() -> list[str]:
    """Return the names that rebind does not have."""
    return sorted(set(inventory()) - set(OPERATORS))


def missing_parameters() -> dict[str, list[str]]:
    """Return, for operators that rebind has, the parameters that it lacks."""
    found = {}
    for name, arguments in inventory().items():
        op = OPERATORS.get(name)
        if op is None:
            continue
        # Inputs of old operators read "Symbol", those of others "NDArray-or-Symbol".
        parameters = {
            key for key, kind in arguments.items() if "Symbol" not in kind and "NDArray" not in kind
        }
        lacking = sorted(parameters - set(op.signature.parameters) - COUNTS)
        if lacking:
            found[name] = lacking
    return found


def recorded() -> dict[str, int]:
    """Return how much of what MXNet computed is recorded, by kind; README.md quotes these figures."""

    def manifest(path: str) -> dict[str, dict[str, object]]:
        return json.loads((DATA / path).read_text(encoding="utf-8"))

    types = json.loads(TYPES.read_text(encoding="utf-8"))
    return {
        "calls with their outputs": sum(len(manifest(str(path))["cases"]) for path in CALLS.glob("*.json")),
        "combinations of operator and element types": sum(len(columns) for columns in types.values()),
        "training runs": len(manifest("optimizers.json")["runs"]),
        "cases of update operators": len(manifest("updates.json")["cases"]),
        "programs": len(manifest("programs.json")["runs"]),
        "numbers": sum(array.size for path in DATA.rglob("*.npz") for array in read_arrays(path).values()),
    }


def main() -> None:
    """Print what is there and what is missing."""
    names, missing = inventory(), missing_operators()
    families: dict[str, list[str]] = defaultdict(list)
    for name in missing:
        if name not in LEFT_OUT:
            families[name.split("_")[1] if name.startswith("_") else "others"].append(name)
    print(f"{len(names) - len(missing)} of {len(names)} operators of MXNet 1.9.1")
    for family, members in sorted(families.items()):
        print(f"\nmissing, {family} ({len(members)}): {' '.join(members)}")
    for name, reason in LEFT_OUT.items():
        print(f"left out: {name}: {reason}")
    lacking = {name: found for name, found in missing_parameters().items() if found != LISTED_ONLY.get(name)}
    for name, found in lacking.items():
        print(f"\n{name} lacks {', '.join(found)}")
    if not lacking:
        print("No operator lacks a parameter.")
    for name, found in LISTED_ONLY.items():
        print(f"listed, but refused by MXNet itself: {', '.join(found)} of {name}")

    for kind, count in recorded().items():
        print(f"recorded from MXNet: {count:,} {kind}")


if __name__ == "__main__":
    main()
