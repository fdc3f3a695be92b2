"""Each row of the tables against this package, the installed NumPy and this Python."""

from __future__ import annotations

import builtins
import importlib.util
import warnings
from typing import Any

import numpy as np
import pytest

import rebind as mx
from rebind.script_check import check_source, older_numpy, older_python, values
from rebind.script_check.names import look_up


@pytest.mark.parametrize("path", older_python.GONE)
def test_python_has_it_no_more(path: str) -> None:
    module, _, name = path.rpartition(".")
    if not module:
        assert importlib.util.find_spec(name) is None
    elif module == "builtins":
        assert not hasattr(builtins, name)
    else:
        assert not hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", older_python.METHODS)
def test_a_dict_has_no_such_method(name: str) -> None:
    assert not hasattr({}, name)


@pytest.mark.parametrize("name", older_numpy.GONE)
def test_a_name_is_reported_where_numpy_lacks_it(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # older versions warn of names that are to go
        there = hasattr(np, name)
    found = check_source(f"import numpy as np\nnp.{name}\n", "a.py")
    assert [finding.kind for finding in found] == ([] if there else ["numpy"])


def test_arrays_of_one_element_are_refused_from_that_version_on() -> None:
    array = np.ones(1)
    if tuple(map(int, np.__version__.split(".")[:2])) >= older_numpy.REFUSES_ARRAYS_AS_NUMBERS:
        for convert in (float, int, "%f".__mod__, "%d".__mod__):
            with pytest.raises(TypeError):
                convert(array)


@pytest.mark.parametrize("row", values.ROWS, ids=lambda row: f"{row.path} {row.argument}")
def test_a_row_names_a_function_and_its_argument(row: values.Row) -> None:
    import inspect

    called = look_up(f"mxnet.{row.path}")
    assert callable(called)
    if row.argument is not None:
        assert row.argument in inspect.signature(called).parameters


def _seed() -> None:
    drawn = []
    for _ in range(2):
        mx.random.seed(7)
        drawn.append(mx.nd.random.uniform(shape=3).asnumpy())
    np.testing.assert_array_equal(*drawn)


def _selu() -> None:
    x = mx.nd.array([-2.0])
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.LeakyReLU(x, act_type="selu")
    y.backward()
    assert x.grad.asscalar() == pytest.approx(0.238, abs=1e-3)  # MXNet: 0.161


def _nadam() -> None:
    """Several weights with equal gradients stay equal: none depends on how many were updated before."""
    optimizer = mx.optimizer.create("nadam")
    weights = [mx.nd.ones((2,)) for _ in range(2)]
    states = [optimizer.create_state(index, weight) for index, weight in enumerate(weights)]
    for _ in range(3):
        for index, weight in enumerate(weights):
            optimizer.update(index, weight, mx.nd.ones((2,)), states[index])
    np.testing.assert_array_equal(weights[0].asnumpy(), weights[1].asnumpy())


def _horovod() -> None:
    assert importlib.util.find_spec("horovod") is None
    store = mx.kv.create("horovod")
    assert (store.rank, store.num_workers) == (0, 1)


def _svrg() -> None:
    """The full gradient of a second snapshot with the same weights is that of the first."""
    from rebind.contrib.svrg_optimization import SVRGModule

    data = mx.io.NDArrayIter(np.eye(4, dtype="float32"), np.arange(4.0), batch_size=2, label_name="lin_label")
    net = mx.sym.LinearRegressionOutput(
        mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=1, name="fc"),
        mx.sym.var("lin_label"),
        name="lin",
    )
    module = SVRGModule(net, data_names=["data"], label_names=["lin_label"], update_freq=1)
    module.bind(data.provide_data, data.provide_label)
    module.init_params()
    module.init_optimizer(kvstore=None)
    gradients = []
    for _ in range(2):
        module.update_full_grads(data)
        gradients.append({name: copied(value) for name, value in module._param_dict[0].items()})
    for name, value in gradients[0].items():
        np.testing.assert_allclose(value, gradients[1][name])


def copied(value: Any) -> np.ndarray:
    return value.asnumpy().copy()


HELD: dict[str, Any] = {
    "random.seed": _seed,
    "sym.LeakyReLU": _selu,
    "nd.LeakyReLU": _selu,
    "optimizer.Nadam": _nadam,
    "optimizer.create": _nadam,
    "kvstore.create": _horovod,
    "contrib.svrg_optimization.SVRGModule": _svrg,
}


@pytest.mark.parametrize("path", [row.path for row in values.ROWS])
def test_a_row_is_true_of_this_package(path: str) -> None:
    HELD[path]()
