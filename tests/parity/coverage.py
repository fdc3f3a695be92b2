"""How much of MXNet 1.9.1's operator library is here: ``make parity``, or ``python -m tests.parity.coverage``."""

from __future__ import annotations

import functools
import json
from collections import defaultdict

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
