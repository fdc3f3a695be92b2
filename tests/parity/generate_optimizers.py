"""Record what MXNet 1.9.1's optimizers do to weights in ten steps, and the ``.states`` files from the middle.

Run with the Python of an environment that has MXNet 1.9.1::

    python -m tests.parity.generate_optimizers [--check DIR]

``--check`` reads the ``.states`` files that rebind wrote into ``DIR`` (``python -m tests.parity.write_states DIR``),
says whether they hold what they should, and goes on from them: the direction from rebind to MXNet.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from .golden import DATA, Pack, assert_close, group, read_arrays, read_manifest, same_arrays, write_manifest
from .optimizers import MIDDLE, RECORDED, RUNS, STEPS, Run, flatten
from .oracle import mx, origin

#: Draws of SGLD, of which moments are recorded.
SAMPLES = 200_000


def layout(state: Any, pack: Pack) -> Any:
    """Return a state with references for its arrays."""
    if isinstance(state, (list, tuple)):
        return {"parts": [layout(each, pack) for each in state]}
    return None if state is None else pack.add(state.asnumpy())


def record(run: Run, pack: Pack) -> dict[str, Any]:
    """Run the steps and return the entry; arrays go into `pack`."""
    drawn, grads = run.draw()
    updater = mx.optimizer.get_updater(run.create(mx))
    weights = [mx.nd.array(each, dtype=each.dtype) for each in drawn]
    index = list(range(len(weights)))
    entry: dict[str, Any] = {"weights": {}}
    for step, gradients in enumerate(grads, 1):
        updater(index, [mx.nd.array(each, dtype=each.dtype) for each in gradients], weights)
        if step in RECORDED:
            entry["weights"][str(step)] = [pack.add(each.asnumpy()) for each in weights]
        if step == MIDDLE:
            entry["middle"] = [layout(updater.states[i], pack) for i in index]
            for name, dump in (("states", False), ("dumped", True)):
                content = np.frombuffer(updater.get_states(dump_optimizer=dump), dtype=np.uint8)
                entry[name] = pack.add(content)
    entry["after"] = [layout(updater.states[i], pack) for i in index]
    return entry


def noise() -> dict[str, Any]:
    """Take one step of SGLD from zeros and return the moments of where it led."""
    mx.random.seed(3)
    settings = {"learning_rate": 0.09, "wd": 0.5, "rescale_grad": 0.5, "clip_gradient": 0.8}
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgld", **settings))
    weight = mx.nd.ones((SAMPLES,))
    updater(0, 2 * mx.nd.ones((SAMPLES,)), weight)
    values = weight.asnumpy().astype("float64")
    moments = {"mean": values.mean(), "std": values.std(), "skew": ((values - values.mean()) ** 3).mean()}
    return {"settings": settings, "samples": SAMPLES, **{name: float(each) for name, each in moments.items()}}


def generate_optimizers() -> None:
    """Record every run."""
    pack = Pack()
    entries = {name: record(run, pack) for name, run in RUNS.items()}
    pack.write(DATA / "optimizers.npz")
    write_manifest(DATA / "optimizers.json", {"origin": origin(), "sgld": noise(), "runs": entries})


def check(run: Run, stem: Path, ends: list[np.ndarray]) -> None:
    """Read what rebind wrote in the middle of a run, and make the other steps; they lead to `ends`."""
    expected = read_arrays(stem.with_suffix(".npz"))
    states = {f"state/{name}": each for name, each in group(expected, "state").items()}
    _, grads = run.draw()
    for suffix in (".states", ".dumped"):
        # Without the optimizer in the file, counts and schedule begin again: nothing to go on with.
        updater = mx.optimizer.get_updater(run.create(mx))
        updater.set_states(stem.with_suffix(suffix).read_bytes())
        same_arrays(flatten(updater.states), states, what=f"{run.name}, {suffix}")
    made = updater.optimizer
    assert type(made) is type(run.create(mx)), type(made)
    assert made.num_update == made.begin_num_update + MIDDLE, made.num_update
    weights = [mx.nd.array(each, dtype=each.dtype) for each in group(expected, "weight").values()]
    for step in grads[MIDDLE:]:
        updater(list(range(len(weights))), [mx.nd.array(each, dtype=each.dtype) for each in step], weights)
    for found, wanted in zip(weights, ends):
        assert_close(
            found.asnumpy(), wanted, rtol=5 * run.rtol if run.dtype == "float32" else 1e-3, what=run.name
        )
    print("read by MXNet:", run.name)


def main() -> None:
    """Make the records, or check files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", type=Path, metavar="DIR")
    folder = parser.parse_args().check
    if folder is None:
        generate_optimizers()
        return
    entries, pack = read_manifest(DATA / "optimizers.json")["runs"], Pack.read(DATA / "optimizers.npz")
    for number, run in enumerate(RUNS.values()):
        ends = [pack.get(each) for each in entries[run.name]["weights"][str(STEPS)]]
        check(run, folder / str(number), ends)


if __name__ == "__main__":
    main()
