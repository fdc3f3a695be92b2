"""The optimizer's states of `DistSyncStore` in real processes: gathered, written, read, and divided again."""

from __future__ import annotations

import pathlib
import time

import numpy as np
import pytest
from tests.distributed.workers import run_job

import rebind as mx
from rebind.kvstore.dist_sync import DistSyncStore
from rebind.optimizer.states import read_states

#: One that is divided over the workers, and others that belong to one each.
SHAPES = {"weight": (300, 50), "bias": (50,), "other": (7, 3)}

OPTIMIZERS = {
    "adam": {"learning_rate": 0.1},
    "sgd": {"momentum": 0.9, "learning_rate": 0.1},
    "rmsprop": {"centered": True},
    "lars": {"momentum": 0.9},  # whole weights
    "nadam": {},  # all on one worker
}


def store_with(name: str) -> DistSyncStore:
    """Return a store with weights and an optimizer."""
    store = mx.kv.create("dist_sync")
    store.init(list(SHAPES), [mx.nd.ones(shape) for shape in SHAPES.values()])
    store.set_optimizer(mx.optimizer.create(name, **OPTIMIZERS[name]))
    return store


def step(store: DistSyncStore, numbers: range, shapes: dict = SHAPES) -> dict[str, np.ndarray]:
    """Push gradients, whose sums over the workers do not depend on how many there are; return the weights."""
    for number in numbers:
        random = np.random.RandomState(number)
        sums = [random.randn(*shape) for shape in shapes.values()]
        store.push(list(shapes), [mx.nd.array(each / store.num_workers) for each in sums])
    found = [mx.nd.zeros(shape) for shape in shapes.values()]
    store.pull(list(shapes), out=found)
    return {key: array.asnumpy() for key, array in zip(shapes, found, strict=True)}


def save_after_two_steps(folder: str) -> dict[str, dict[str, np.ndarray]]:
    """Write states and weights after two steps; return the weights after two more, for each optimizer."""
    found = {}
    for name in OPTIMIZERS:
        store = store_with(name)
        weights = step(store, range(2))
        store.save_optimizer_states(f"{folder}/{name}.states", dump_optimizer=True)
        if store.rank == 0:
            mx.nd.save(f"{folder}/{name}.params", {key: mx.nd.array(each) for key, each in weights.items()})
        found[name] = step(store, range(2, 4))
    return found


def continue_from(folder: str) -> dict[str, dict[str, np.ndarray]]:
    """Continue with what was written, which only worker 0 can read; return the weights after two more steps."""
    found = {}
    for name in OPTIMIZERS:
        store = store_with(name)
        if store.rank == 0:
            saved = mx.nd.load(f"{folder}/{name}.params")
        else:  # worker 0's values count
            saved, folder = {key: mx.nd.zeros(shape) for key, shape in SHAPES.items()}, "/nowhere"
        store.put(list(SHAPES), [saved[key] for key in SHAPES])
        store.load_optimizer_states(f"{folder}/{name}.states")
        found[name] = step(store, range(2, 4))
    return found


def forms(path: pathlib.Path) -> dict[object, object]:
    """Return the shapes of the arrays in a file of states."""
    states, _ = read_states(path.read_bytes())

    def form(state: object) -> object:
        return state.shape if isinstance(state, mx.nd.NDArray) else state and tuple(map(form, state))

    return {key: form(state) for key, state in states.items()}


def assert_close(found: dict[str, dict[str, np.ndarray]], wanted: dict[str, dict[str, np.ndarray]]) -> None:
    """Compare the weights after training with each optimizer."""
    for name, weights in wanted.items():
        for key, array in weights.items():
            np.testing.assert_allclose(
                found[name][key], array, rtol=1e-4, atol=1e-6, err_msg=f"{name}: {key}"
            )


def test_states_of_all_workers_are_one_file_that_any_number_of_workers_continues(tmp_path):
    alone, together = tmp_path / "1", tmp_path / "3"
    alone.mkdir()
    together.mkdir()
    wanted = save_after_two_steps(str(alone))
    for found in run_job(save_after_two_steps, 3, str(together)):
        assert_close(found, wanted)
    for name in OPTIMIZERS:  # it looks like one that a single process has written
        assert forms(alone / f"{name}.states") == forms(together / f"{name}.states")
    assert_close(continue_from(str(together)), wanted)
    for folder in alone, together:
        for found in run_job(continue_from, 2, str(folder)):
            assert_close(found, wanted)


#: About ten million elements, as of a network with three layers.
BIG = {"one": (2000, 3000), "two": (1300, 3000), "three": (33, 3001), "bias": (3000,)}


def count_of_states() -> tuple[int, int]:
    """Return how many elements, and bytes, of Adam's states this worker holds after a step."""
    store = mx.kv.create("dist_sync")
    store.init(list(BIG), [mx.nd.zeros(shape) for shape in BIG.values()])
    store.set_optimizer(mx.optimizer.create("adam"))
    store.push(list(BIG), [mx.nd.ones(shape) for shape in BIG.values()])
    arrays = [array.tensor for state in store.updater.states.values() for array in state]
    return sum(each.numel() for each in arrays), sum(each.untyped_storage().nbytes() for each in arrays)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_worker_holds_its_share_of_the_states(count):
    total = 2 * sum(np.prod(shape) for shape in BIG.values())  # a mean and a variance for each element
    found = run_job(count_of_states, count)
    counts = [elements for elements, _ in found]
    assert sum(counts) == total
    # Equal shares, but for what rounding to cache lines and keys that are not divided make of it.
    assert max(counts) - min(counts) <= 2 * (3000 + 64 * count * len(BIG))
    assert [size for _, size in found] == [4 * elements for elements in counts]


def load_before_there_are_keys(folder: str) -> dict[str, np.ndarray]:
    """Load states first, as programs may that make their store in another order; then continue."""
    store = mx.kv.create("dist_sync")
    store.set_optimizer(mx.optimizer.create("adam", **OPTIMIZERS["adam"]))
    store.load_optimizer_states(f"{folder}/adam.states")
    saved = mx.nd.load(f"{folder}/adam.params")
    store.init("weight", saved["weight"])
    assert sorted(store.optimizer_states()) == (
        [] if store.rank else sorted(SHAPES)
    )  # the others wait for their keys
    store.init(list(SHAPES)[1:], [saved[key] for key in list(SHAPES)[1:]])
    return step(store, range(2, 4))


def add_a_key_between_steps() -> dict[str, np.ndarray]:
    """Give a key another size and add one, so that the keys are divided again; the others' states go with them."""
    shapes = {"first": (20, 20), **SHAPES, "last": (100,)}
    store = mx.kv.create("dist_sync")
    store.init(list(shapes), [mx.nd.ones(shape) for shape in shapes.values()])
    store.set_optimizer(mx.optimizer.create("adam", learning_rate=0.1))
    step(store, range(2), {key: shape for key, shape in shapes.items() if key != "first"})
    store.put("first", mx.nd.ones((40, 90)))
    return step(store, range(2, 4), {**shapes, "first": (40, 90)})


def test_states_find_their_keys_whenever_those_come(tmp_path):
    wanted = save_after_two_steps(str(tmp_path))["adam"]
    for found in [
        load_before_there_are_keys(str(tmp_path)),
        *run_job(load_before_there_are_keys, 2, str(tmp_path)),
    ]:
        assert_close({"adam": found}, {"adam": wanted})
    alone = add_a_key_between_steps()
    for found in run_job(add_a_key_between_steps, 3):
        assert_close({"adam": found}, {"adam": alone})


def save_on_worker_0_only(path: str) -> None:
    """Save on worker 0, as programs do that let it alone write."""
    store = store_with("sgd")
    step(store, range(1))
    if store.rank == 0:
        store.save_optimizer_states(path)
    else:
        time.sleep(4)


def save_to_no_folder() -> None:
    """Save where nothing can be written."""
    store_with("sgd").save_optimizer_states("/nowhere/net.states")


def load_what_is_no_file(path: str) -> None:
    """Load a file that is none of states."""
    store_with("sgd").load_optimizer_states(path)


def test_errors_say_what_must_be_done_on_all_workers(tmp_path):
    path = tmp_path / "net.states"
    first, _ = run_job(
        save_on_worker_0_only, 2, str(path), may_fail=True, environment={"REBIND_TIMEOUT": "1"}
    )
    assert first.message.startswith(
        "KVStore.optimizer_states (to be called on all workers, of which worker 0 reads and writes): worker 0 has "
        "waited for the others for 1 s (REBIND_TIMEOUT). All must make the same calls; worker 1 is in no call (pid"
    )
    path.write_bytes(b"no states")
    for function, args, kind, said in (
        (save_to_no_folder, (), "MissingFileError", "/nowhere"),
        (load_what_is_no_file, (str(path),), "FormatError", "must be a .states file"),
    ):
        one, other = run_job(function, 2, *args, may_fail=True)
        assert one.kind == kind
        assert said in one.message
        assert other.kind == "WorkerError"
        assert "worker 0 does this for all workers and must succeed; it failed with " + kind in other.message
