"""Modules with row_sparse parameters: all kinds, on several devices, with each store; rows are pulled for a batch."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import rebind as mx
from rebind.contrib.svrg_optimization import SVRGModule
from rebind.ndarray.sparse.row_sparse import RowSparseStorage

ROWS = 9
IDS = np.array(
    [[0, 1], [1, 4], [5, 5], [4, 0], [0, 1], [3, 5], [6, 7], [7, 0], [2, 2], [1, 1], [3, 3], [4, 6]]
)
LABELS = np.linspace(-1, 1, 12, dtype="float32").reshape(12, 1)

Values = dict[str, np.ndarray]


def network(stype: str = "row_sparse") -> mx.sym.Symbol:
    weight = mx.sym.var("embed_weight", stype=stype)
    taken = mx.sym.Embedding(
        mx.sym.var("data"), weight, input_dim=ROWS, output_dim=3, sparse_grad=True, name="embed"
    )
    output = mx.sym.FullyConnected(taken, num_hidden=1, name="fc")
    return mx.sym.LinearRegressionOutput(output, mx.sym.var("label"), name="out")


def module(
    stype: str = "row_sparse", devices: int = 1, kind: type = mx.mod.Module, **given: object
) -> mx.mod.Module:
    context = [mx.cpu(i) for i in range(devices)]
    return kind(network(stype), ["data"], ["label"], context=context, **given)


def bucketing(stype: str = "row_sparse", devices: int = 1) -> mx.mod.BucketingModule:
    return mx.mod.BucketingModule(
        lambda key: (network(stype), ["data"], ["label"]), 0, context=[mx.cpu(i) for i in range(devices)]
    )


def sequential(stype: str = "row_sparse", devices: int = 1) -> mx.mod.SequentialModule:
    context = [mx.cpu(i) for i in range(devices)]
    weight = mx.sym.var("embed_weight", stype=stype)
    first = mx.sym.Embedding(mx.sym.var("data"), weight, input_dim=ROWS, output_dim=3, sparse_grad=True)
    last = mx.sym.FullyConnected(mx.sym.var("taken"), num_hidden=1, name="fc")
    last = mx.sym.LinearRegressionOutput(last, mx.sym.var("label"), name="out")
    made = mx.mod.SequentialModule()
    made.add(mx.mod.Module(first, ["data"], None, context=context))
    made.add(mx.mod.Module(last, ["taken"], ["label"], context=context), take_labels=True, auto_wiring=True)
    return made


def svrg(stype: str = "row_sparse", devices: int = 1) -> SVRGModule:
    return module(stype, devices, SVRGModule, update_freq=2)


KINDS = {"module": module, "bucketing": bucketing, "sequential": sequential, "svrg": svrg}


class Buckets(mx.io.NDArrayIter):
    default_bucket_key = 0


def samples() -> mx.io.NDArrayIter:
    return Buckets(IDS, LABELS, 4, label_name="label")


def first_values() -> dict[str, mx.nd.NDArray]:
    draws = np.random.RandomState(3)
    shapes = {"embed_weight": (ROWS, 3), "fc_weight": (1, 6), "fc_bias": (1,)}
    return {name: mx.nd.array(draws.randn(*shape) / 2) for name, shape in shapes.items()}


def rows_of(batch: mx.io.DataBatch) -> dict[str, mx.nd.NDArray]:
    return {"embed_weight": batch.data[0]}


def train(
    of: mx.mod.BaseModule, store: object, epochs: int = 2, optimizer: str = "sgd", **given: object
) -> None:
    settings = {"learning_rate": 0.2, **({"momentum": 0.9, "wd": 0.01} if optimizer == "sgd" else {})}
    values = {"arg_params": first_values(), **given}
    of.fit(
        samples(), eval_metric="mse", kvstore=store, optimizer=optimizer, optimizer_params=settings,
        num_epoch=epochs, **values,
    )  # fmt: skip


def values(of: mx.mod.BaseModule) -> Values:
    found = of.get_params()[0]
    return {name: array.asnumpy() for name, array in found.items()}


def assert_equal(found: Values, expected: Values, exact: bool = False) -> None:
    assert found.keys() == expected.keys()
    for name, value in found.items():
        np.testing.assert_allclose(
            value, expected[name], rtol=0 if exact else 1e-5, atol=0 if exact else 1e-6
        )


#: Names of stores, and on how many devices.
STORES = [(None, 1), ("local", 1), (None, 2), ("local", 2), ("device", 2)]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(("store", "devices"), STORES)
@pytest.mark.parametrize("kind", KINDS)
def test_training_is_that_of_a_dense_weight(
    kind: str, store: str | None, devices: int, optimizer: str
) -> None:
    """The updates are lazy for both: their gradients are row_sparse."""
    train(expected := KINDS[kind]("default"), None, optimizer=optimizer)
    train(of := KINDS[kind](devices=devices), store, optimizer=optimizer)
    assert_equal(values(of), values(expected))
    assert of.get_params()[0]["embed_weight"].stype == "row_sparse"


@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_devices_that_update_sum_rows_in_a_store(monkeypatch: pytest.MonkeyPatch, stype: str) -> None:
    train(expected := module(), None)
    monkeypatch.setenv("MXNET_UPDATE_ON_KVSTORE", "0")
    train(of := module(stype, devices=2), "local")
    assert_equal(values(of), values(expected))
    store = of.stores()[0]
    rows = mx.nd.zeros((ROWS, 3), stype="row_sparse")
    store.row_sparse_pull("embed_weight", out=rows, row_ids=mx.nd.array([1]))  # it holds sums as rows


def first_module(of: mx.mod.BaseModule) -> mx.mod.Module:
    """Return the module that has the weight."""
    if isinstance(of, mx.mod.BucketingModule):
        return of._curr_module
    return of._modules[0] if isinstance(of, mx.mod.SequentialModule) else of


@pytest.mark.parametrize("store", ["local", "device"])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_pulled_for_each_batch(kind: str, store: str) -> None:
    train(expected := KINDS[kind](devices=2), store)
    of, seen = KINDS[kind](devices=2), []

    def look(record: mx.callback.BatchEndParam) -> None:
        seen.extend(stored(first_module(of)))

    train(of, store, sparse_row_id_fn=rows_of, batch_end_callback=look)
    assert seen[:2] == [sorted({*IDS[:4].ravel().tolist()})] * 2
    assert_equal(values(of), values(expected), exact=True)
    # The weights are whole again, and so is what is computed without ids.
    found, wanted = (each.predict(samples()).asnumpy() for each in (of, expected))
    np.testing.assert_array_equal(found, wanted)
    found = of.predict(samples(), sparse_row_id_fn=rows_of).asnumpy()
    np.testing.assert_array_equal(found, wanted)
    assert of.score(samples(), "mse", sparse_row_id_fn=rows_of) == expected.score(samples(), "mse")
    outputs = [each[0][0].asnumpy() for each in of.iter_predict(samples(), sparse_row_id_fn=rows_of)]
    np.testing.assert_array_equal(np.concatenate(outputs), wanted)
    assert_equal(values(of), values(expected), exact=True)


def started(store: object = "local", devices: int = 2) -> mx.mod.Module:
    of = module(devices=devices)
    data = samples()
    of.bind(data.provide_data, data.provide_label)
    of.init_params(arg_params=first_values())
    of.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.2})
    return of


def stored(of: mx.mod.Module) -> list[list[int]]:
    return [each.arg_dict["embed_weight"].indices.asnumpy().tolist() for each in of._exec_group.execs]


def batch() -> mx.io.DataBatch:
    return next(samples())


def test_prepare() -> None:
    of, everything = started(), list(range(ROWS))
    assert stored(of) == [everything] * 2
    of.prepare(batch(), lambda batch: {"embed_weight": mx.nd.array([3, 1, 3])})
    assert stored(of) == [[1, 3]] * 2
    of.prepare(batch(), lambda batch: {"embed_weight": [mx.nd.array([3]), mx.nd.array([1, 2])]})
    assert stored(of) == [[3], [1, 2]]
    of.prepare(batch())
    assert stored(of) == [everything] * 2
    of.prepare(batch(), rows_of)
    of.set_params({"fc_bias": mx.nd.ones((1,))}, {}, allow_missing=True)
    assert stored(of) == [everything] * 2
    expected = {**{name: each.asnumpy() for name, each in first_values().items()}, "fc_bias": np.ones(1)}
    assert_equal(values(of), expected, exact=True)


@pytest.mark.parametrize(
    ("row_ids", "error", "says"),
    [
        ([1], TypeError, "sparse_row_id_fn must return a dict from names of parameters"),
        (None, TypeError, "sparse_row_id_fn must return a dict"),
        (
            {"embed_wieght": mx.nd.array([1])},
            ValueError,
            "must return names of parameters; got 'embed_wieght'; did you mean",
        ),
        ({"embed_weight": mx.nd.array([ROWS])}, ValueError, "row_ids must be from 0 to 8; got 9"),
        ({"embed_weight": [1]}, TypeError, "row_ids must be an NDArray"),
    ],
)
def test_mistakes_of_row_ids(row_ids: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        started().prepare(batch(), lambda batch: row_ids)


def test_row_ids_of_no_module_of_a_chain() -> None:
    of = sequential(devices=2)
    train(of, "local")
    with pytest.raises(ValueError, match="must return names of parameters; got 'w'"):
        of.prepare(batch(), lambda batch: {"w": mx.nd.array([1])})


@pytest.mark.parametrize(("store", "devices"), [("local", 1), (None, 2)])
def test_row_ids_where_devices_update(store: str | None, devices: int) -> None:
    of = started(store, devices)
    with pytest.warns(UserWarning, match="sparse_row_id_fn has no effect"):
        of.prepare(batch(), rows_of)
    assert stored(of) == [list(range(ROWS))] * devices


def test_row_ids_of_a_dense_parameter() -> None:
    with pytest.warns(
        UserWarning, match="got 'fc_weight' of storage type 'default', of which all rows are pulled"
    ):
        started().prepare(batch(), lambda batch: {"fc_weight": mx.nd.array([0])})


@pytest.mark.parametrize("row_ids", [None, rows_of])
@pytest.mark.parametrize(("store", "devices"), STORES)
def test_files_and_resuming(
    store: str | None, devices: int, row_ids: Callable | None, tmp_path: Path
) -> None:
    prefix, given = str(tmp_path / "net"), {"sparse_row_id_fn": row_ids if store and devices > 1 else None}
    train(whole := module(devices=devices), store, 2, **given)
    train(first := module(devices=devices), store, 1, **given)
    first.prepare(batch(), given["sparse_row_id_fn"])  # the files have all rows, whatever the devices have
    first.save_checkpoint(prefix, 1, save_optimizer_states=True)
    _, arguments, _ = mx.model.load_checkpoint(prefix, 1)
    assert arguments["embed_weight"].stype == "row_sparse"
    context = [mx.cpu(i) for i in range(devices)]
    names = {"data_names": ["data"], "label_names": ["label"]}
    resumed = mx.mod.Module.load(prefix, 1, load_optimizer_states=True, context=context, **names)
    train(resumed, store, 2, arg_params=None, begin_epoch=1, **given)
    for epochs in (1, 2):
        train(stopped := module(devices=devices), store, epochs, checkpoint=str(tmp_path / "run"), **given)
    for of in (resumed, stopped):
        assert_equal(values(of), values(whole), exact=True)


@pytest.mark.parametrize("given", [first_values()["embed_weight"], None])
def test_values_in_and_out(given: mx.nd.NDArray | None) -> None:
    of = started(devices=2)
    some = mx.nd.zeros((ROWS, 3), stype="row_sparse") if given is None else given.tostype("row_sparse")
    of.set_params({"embed_weight": some}, {}, allow_missing=True)
    of.forward_backward(batch())
    of.update()
    other = started(None, 1)
    other.set_params({"embed_weight": some}, {}, allow_missing=True)
    other.forward_backward(batch())
    other.update()
    assert_equal(values(of), values(other))


@pytest.mark.parametrize("devices", [1, 2])
def test_feedforward(devices: int) -> None:
    found = []
    for stype, context in (("default", mx.cpu()), ("row_sparse", [mx.cpu(i) for i in range(devices)])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            model = mx.model.FeedForward(
                network(stype), ctx=context, num_epoch=2, optimizer="sgd", learning_rate=0.2, momentum=0.9,
                arg_params=first_values(), aux_params={},
            )  # fmt: skip
        model.fit(samples(), eval_metric="mse", logger=None)
        found.append({name: array.asnumpy() for name, array in model.arg_params.items()})
        assert model.arg_params["embed_weight"].stype == stype
    assert_equal(*found)


def test_copies_of_a_module() -> None:
    of = started()
    of.prepare(batch(), rows_of)
    of.forward_backward(batch())
    of.update()
    assert_equal(values(pickle.loads(pickle.dumps(of))), values(of), exact=True)


@pytest.mark.parametrize(("store", "devices"), STORES)
def test_full_gradients_of_svrg_are_rows(
    store: str | None, devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = svrg(devices=devices)
    data = samples()
    of.bind(data.provide_data, data.provide_label)
    of.init_params(arg_params=first_values())
    of.init_optimizer(kvstore=store, optimizer_params={"learning_rate": 0.2})

    def refuse(self: RowSparseStorage) -> torch.Tensor:
        if not self.is_whole:
            raise AssertionError("a dense copy")
        return self.data

    with monkeypatch.context() as patched:
        patched.setattr(RowSparseStorage, "to_dense", refuse)
        of.update_full_grads(data)
        data.reset()
        of.forward_backward(next(data))
        of.update()
    for full in of._param_dict:
        assert full["embed_weight"].stype == "row_sparse"
        assert full["embed_weight"].indices.asnumpy().tolist() == sorted({*IDS.ravel().tolist()})


class LargeArrays(TorchDispatchMode):
    """Collects the functions that allocate memory for as many numbers as `least`."""

    def __init__(self, least: int) -> None:
        super().__init__()
        self.least, self.found = least, []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        given = {each.untyped_storage().data_ptr() for each in dense_of((args, kwargs))}
        result = func(*args, **(kwargs or {}))
        for each in dense_of(result):
            memory = each.untyped_storage()
            if memory.nbytes() >= self.least and memory.data_ptr() not in given:
                self.found.append(str(func))
        return result


def dense_of(tree: object) -> list[torch.Tensor]:
    return [each for each in tree_leaves(tree) if type(each) is torch.Tensor]


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize(
    ("stype", "store", "devices"),
    [("default", None, 1), ("default", "local", 1), ("row_sparse", "local", 1), ("row_sparse", "local", 2)],
)
def test_a_step_allocates_nothing_of_a_tables_size(
    stype: str, store: str | None, devices: int, optimizer: str
) -> None:
    rows, width = 50_000, 4
    weight = mx.sym.var("w_weight", stype=stype)
    taken = mx.sym.Embedding(mx.sym.var("data"), weight, input_dim=rows, output_dim=width, sparse_grad=True)
    net = mx.sym.LinearRegressionOutput(mx.sym.sum(taken, axis=1), mx.sym.var("label"))
    of = mx.mod.Module(net, ["data"], ["label"], context=[mx.cpu(i) for i in range(devices)])
    of.bind([("data", (20,))], [("label", (20,))])
    of.init_params(mx.init.One())
    of.init_optimizer(kvstore=store, optimizer=optimizer)
    draws = np.random.RandomState(0)

    def step() -> None:
        ids = mx.nd.array(draws.randint(0, rows, 20))
        batch = mx.io.DataBatch([ids], [mx.nd.ones((20,))])
        if devices > 1:
            of.prepare(batch, lambda batch: {"w_weight": batch.data[0]})
        of.forward_backward(batch)
        of.update()

    for _ in range(3):
        step()
    with LargeArrays(4 * rows) as large:
        for _ in range(3):
            step()
    assert large.found == []


def test_drawn_values_have_all_rows() -> None:
    of = module(devices=2)
    of.bind(samples().provide_data, samples().provide_label)
    of.init_params(mx.init.Zero())
    assert stored(of) == [list(range(ROWS))] * 2
    np.random.seed(0)
    mx.random.seed(0)
    of.init_params(mx.init.Normal(0.1), force_init=True)
    dense = module("default")
    dense.bind(samples().provide_data, samples().provide_label)
    mx.random.seed(0)
    dense.init_params(mx.init.Normal(0.1))
    assert_equal(values(of), values(dense), exact=True)
