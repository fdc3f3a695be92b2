"""Networks with arrays that are not dense: a compiler is given the dense part, and that alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.executor.compiled.networks import QUICK, needs_inductor
from tests.module.test_row_sparse import LargeArrays
from tests.newer_torch import may_be_apart, uses_private_names
from tests.parity.sparse_examples import RUNS, run

import rebind as mx

pytestmark = may_be_apart

S = mx.sym
ROWS, WIDTH, BATCH = 40, 3, 4
SHAPES = {"crosses": (BATCH, ROWS), "ids": (BATCH,), "label": (BATCH,)}
GRADIENTS = {"crosses": "null", "ids": "null", "label": "null"}


def parts(deep: Any = None) -> tuple[Any, Any]:
    """Return the results of a product with a csr matrix and of an embedding."""
    wide = S.sparse.dot(S.var("crosses", stype="csr"), S.var("wide", shape=(ROWS, WIDTH), stype="row_sparse"))
    table = S.var("deep") if deep is None else deep
    deep = S.Embedding(S.var("ids"), table, input_dim=ROWS, output_dim=WIDTH, sparse_grad=True, name="taken")
    return wide, deep


def wide_and_deep() -> Any:
    wide, deep = parts()
    hidden = S.BatchNorm(
        S.FullyConnected(S.tanh(deep), num_hidden=WIDTH, name="fc"), name="bn", fix_gamma=False
    )
    return S.SoftmaxOutput(wide + hidden, S.var("label"), name="softmax")


def several_outputs() -> Any:
    """A loss, results of both parts that need head gradients, and one that no gradient comes to."""
    wide, deep = parts()
    loss = S.MakeLoss(S.sum(wide * deep, axis=1), name="loss")
    return S.Group([loss, deep, S.tanh(wide) * 2, S.BlockGrad(deep)])


def two_losses() -> Any:
    wide, deep = parts()
    products = S.MakeLoss(S.sum(wide * deep, axis=1), name="products")
    return S.Group(
        [
            products,
            S.BlockGrad(deep),
            S.MakeLoss(S.broadcast_add(S.square(deep), S.var("bias", shape=(1, 1)))),
        ]
    )


def tied() -> Any:
    """A table whose rows are taken, and which is multiplied by."""
    table = S.var("deep")
    wide, deep = parts(table)
    scores = S.FullyConnected(S.tanh(wide + deep), table, num_hidden=ROWS, no_bias=True)
    return S.SoftmaxOutput(scores, S.var("label"), name="softmax")


def random_numbers() -> Any:
    wide, deep = parts()
    return S.MakeLoss(S.Dropout(wide + deep, p=0.5), name="loss")


def filled(executor: Any) -> Any:
    draws = np.random.RandomState(0)
    for name, array in sorted({**executor.arg_dict, **executor.aux_dict}.items()):
        values = draws.normal(size=array.shape)
        if name in ("ids", "label"):
            values = draws.randint(0, WIDTH, array.shape)
        elif name == "crosses":
            values[draws.rand(*array.shape) < 0.9] = 0
        mx.nd.array(abs(values) if name.endswith("var") else values).tostype(array.stype).copyto(array)
    return executor


def bound(make: Callable[[], Any], backend: str, grad_req: str = "write") -> Any:
    names = make().list_arguments()
    requests = {name: GRADIENTS.get(name, grad_req) for name in names}
    shapes = {name: shape for name, shape in SHAPES.items() if name in names}
    return filled(make().simple_bind(mx.cpu(), requests, backend=backend, **shapes))


def state(executor: Any) -> dict[str, tuple[str, np.ndarray]]:
    """All that a program can see, with storage types."""
    found = {f"output {i}": array for i, array in enumerate(executor.outputs)}
    found.update({f"aux {name}": array for name, array in executor.aux_dict.items()})
    found.update({f"grad {name}": array for name, array in executor.grad_dict.items() if array is not None})
    return {name: (array.stype, array.asnumpy().copy()) for name, array in found.items()}


def equal(one: Any, other: Any) -> None:
    wanted = state(other)
    for name, (stype, values) in state(one).items():
        assert stype == wanted[name][0], name
        np.testing.assert_allclose(values, wanted[name][1], rtol=1e-5, atol=1e-6, err_msg=name)


def steps(*executors: Any, head: bool = False, times: int = 2) -> None:
    """Run forward and backward, announced and not, then inference; all results are equal in each."""
    for announced in (True, False) * times:
        for each in executors:
            each.forward_before_backward() if announced and not head else each.forward(is_train=True)
            heads = [None] + [mx.nd.ones(out.shape) * 3 for out in each.outputs[1:]]
            each.backward(heads if head else None)
        equal(*executors)
    for each in executors:
        each.forward()
    equal(*executors)


def description(executor: Any) -> str:
    text: str = executor.describe()
    return text.partition("inference:")[0]


@pytest.mark.sampled
@pytest.mark.parametrize("grad_req", ["write", "add"])
@pytest.mark.parametrize("make", [wide_and_deep, several_outputs, two_losses, tied])
def test_all_is_as_in_the_default_mode(make: Callable[[], Any], grad_req: str) -> None:
    exe, plain = bound(make, QUICK, grad_req), bound(make, "default", grad_req)
    steps(exe, plain, head=make is several_outputs)
    stype = "default" if make is tied else "row_sparse"
    assert exe.grad_dict["wide"].stype == "row_sparse" and exe.grad_dict["deep"].stype == stype
    assert "code: compiled by 'aot_eager'\n  not compiled: dot" in description(exe)
    assert ", taken: " in description(exe)


@pytest.mark.slow
@needs_inductor
@pytest.mark.parametrize("make", [wide_and_deep, tied])
def test_what_inductor_makes_is_as_in_the_default_mode(make: Callable[[], Any]) -> None:
    steps(bound(make, "inductor"), bound(make, "default"))


@pytest.mark.parametrize("grad_req", ["write", "add"])
def test_gradients_go_into_dense_arrays_that_were_bound(grad_req: str) -> None:
    def with_dense_gradients(backend: str) -> Any:
        like = bound(wide_and_deep, "default")
        grads = {name: mx.nd.ones(array.shape) for name, array in like.grad_dict.items() if array is not None}
        requests = {name: grad_req if name in grads else "null" for name in like.arg_dict}
        net = wide_and_deep().optimize_for(backend) if backend != "default" else wide_and_deep()
        return net.bind(mx.cpu(), like.arg_dict, grads, requests, like.aux_dict)

    exe, plain = with_dense_gradients(QUICK), with_dense_gradients("default")
    steps(exe, plain)
    assert exe.grad_dict["deep"].stype == "default"
    assert "  not compiled: dot" in description(exe)


def test_the_second_shape_is_right_too() -> None:
    exe, plain = bound(wide_and_deep, QUICK), bound(wide_and_deep, "default")
    steps(exe, plain, times=1)
    for batch in (6, 9):
        shapes = {name: (batch, *shape[1:]) for name, shape in SHAPES.items()}
        others = [filled(each.reshape(allow_up_sizing=True, **shapes)) for each in (exe, plain)]
        steps(*others, times=1)
        assert "code: compiled" in description(others[0])


def test_a_monitor_sees_each_operator_in_a_run_that_is_not_compiled() -> None:
    found: list[list[str]] = []
    executors = [bound(wide_and_deep, backend) for backend in (QUICK, "default")]
    for each in executors:
        names: list[str] = []
        each.set_monitor_callback(lambda name, _, names=names: names.append(name.lstrip("0123456789")))
        each.forward(is_train=True)
        each.backward()
        each.set_monitor_callback(None)
        found.append([name for name in names if name.startswith(("taken", "fc", "bn", "softmax"))])
    assert found[0] == found[1] and len(found[0]) > 5
    equal(*executors)
    steps(*executors)


@uses_private_names
def test_random_numbers_follow_from_the_seed() -> None:
    exe = bound(random_numbers, QUICK)
    found = []
    for _ in range(2):
        mx.random.seed(5)
        exe.forward_before_backward()
        exe.backward()
        found.append([exe.outputs[0].asnumpy(), exe.grad_dict["wide"].asnumpy()])
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert 0 < (found[0][0] == 0).mean() < 1


def test_inference_needs_no_kernel_for_gradients() -> None:
    net = S.tanh(S.Embedding(S.var("x"), S.var("w"), input_dim=9, output_dim=2, sparse_grad=True))
    exe = net.simple_bind(mx.cpu(), "null", x=(3,), w=(9, 2), backend=QUICK)
    exe.arg_dict["w"][:] = 1
    exe.forward()
    np.testing.assert_allclose(exe.outputs[0].asnumpy(), np.tanh(np.ones((3, 2))), rtol=1e-6)
    assert "code: compiled" in exe.describe() and "not compiled" not in exe.describe()
    exe.forward(is_train=True)
    np.testing.assert_allclose(exe.outputs[0].asnumpy(), np.tanh(np.ones((3, 2))), rtol=1e-6)


@pytest.mark.parametrize("ending", ["stored output", "stored input of a loss"])
def test_what_ends_in_arrays_that_are_not_dense_is_not_compiled(ending: str) -> None:
    squares = S.square(S.var("w", stype="csr"))
    dense = S.tanh(S.var("x"))
    loss = S.MakeLoss(squares, name="loss") if ending == "stored input of a loss" else squares
    with pytest.warns(UserWarning, match="is not compiled, .*: compilers take dense arrays only"):
        exe = S.Group([loss, S.MakeLoss(dense)]).simple_bind(
            mx.cpu(), "null", w=(2, 3), x=(2,), backend=QUICK
        )
    exe.forward()
    assert exe.outputs[0].asnumpy().tolist() == [[0] * 3] * 2


@uses_private_names
@pytest.mark.parametrize("stype", ["default", "row_sparse"])
def test_a_step_allocates_nothing_of_a_tables_size(stype: str) -> None:
    rows = 50_000
    weight = S.var("w_weight", stype=stype)
    taken = S.Embedding(S.var("data"), weight, input_dim=rows, output_dim=4, sparse_grad=True)
    hidden = S.FullyConnected(S.tanh(taken), num_hidden=1, name="fc")
    net = S.LinearRegressionOutput(S.Reshape(hidden, shape=(-1,)), S.var("label"))
    of = mx.mod.Module(net, ["data"], ["label"], backend=QUICK)
    of.bind([("data", (20,))], [("label", (20,))])
    of.init_params(mx.init.One())
    of.init_optimizer(kvstore="local", optimizer="adam")
    draws = np.random.RandomState(0)

    def step() -> None:
        ids = mx.nd.array(draws.randint(0, rows, 20))
        of.forward_backward(mx.io.DataBatch([ids], [mx.nd.ones((20,))]))
        of.update()

    for _ in range(3):
        step()
    assert "code: compiled by" in description(of._exec_group.execs[0])
    with LargeArrays(4 * rows) as large:
        for _ in range(3):
            step()
    assert large.found == []


@pytest.mark.parametrize("name", RUNS)
def test_ten_steps_of_each_example(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for backend in ("default", QUICK):
        monkeypatch.setenv("REBIND_BACKEND", backend)
        (folder := tmp_path / backend).mkdir()
        mx.random.seed(0)
        found.append(run(mx, name, folder))
    (params, outputs), (wanted, wanted_outputs) = found[::-1]
    for key, value in params.items():
        assert value.stype == wanted[key].stype
        np.testing.assert_allclose(value.asnumpy(), wanted[key].asnumpy(), rtol=1e-4, atol=1e-6, err_msg=key)
    for output, value in zip(outputs, wanted_outputs, strict=True):
        np.testing.assert_allclose(output.asnumpy(), value.asnumpy(), rtol=1e-4, atol=1e-6)


def test_a_compiler_that_fails_leaves_all_to_the_default_mode(own_backends: None) -> None:
    def broken(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        raise RuntimeError("no compiler is here")

    mx.graph.passes.register_backend("broken", [], compiler=broken)
    exe, plain = bound(wide_and_deep, "broken"), bound(wide_and_deep, "default")
    with pytest.warns(UserWarning, match="no compiler is here"):
        steps(exe, plain)
