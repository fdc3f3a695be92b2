"""`PythonModule` and `PythonLossModule`, point by point."""

import re

import numpy as np
import pytest

import rebind as mx
from rebind import nd
from rebind import sym as S
from rebind.io import DataBatch
from rebind.module import Module, PythonLossModule, PythonModule, SequentialModule

DATA, LABEL = [("data", (4, 3))], [("softmax_label", (4,))]


class Double(PythonModule):
    def __init__(self):
        super().__init__(["data"], ["softmax_label"], ["double_output"])

    def _compute_output_shapes(self):
        return [("double_output", self.data_shapes[0].shape)]

    def forward(self, data_batch, is_train=None):
        self.out = data_batch.data[0] * 2

    def get_outputs(self, merge_multi_context=True):
        return [self.out]

    def backward(self, out_grads=None):
        self.grads = [grad * 2 for grad in out_grads]

    def get_input_grads(self, merge_multi_context=True):
        return self.grads


def batch(rows=4, label=True):
    data = nd.array(np.arange(rows * 3).reshape(rows, 3))
    return DataBatch([data], [nd.zeros((rows,))] if label else [])


def loss(train=True, bind=True, **kwargs):
    made = PythonLossModule(**{"grad_func": lambda scores, labels: scores.asnumpy() * 2, **kwargs})
    if bind:
        made.bind(DATA, LABEL, for_training=train)
    return made


@pytest.mark.parametrize(
    ("name", "unbound", "bound"),
    [
        ("output_names", ["double_output"], ["double_output"]),
        ("data_names", ["data"], ["data"]),
        ("data_shapes", None, DATA),
        ("label_shapes", None, LABEL),
        ("output_shapes", None, [("double_output", (4, 3))]),
        ("binded", False, True),
        ("params_initialized", False, True),
        ("optimizer_initialized", False, True),
    ],
)
def test_what_a_module_without_parameters_reports(name, unbound, bound):
    made = Double()
    assert getattr(made, name) == unbound
    made.bind(DATA, LABEL)
    made.init_params()
    made.init_optimizer()
    assert getattr(made, name) == bound


def test_a_module_without_parameters_has_nothing_to_do():
    made = Double()
    made.bind(DATA, LABEL)
    made.bind(DATA, LABEL)  # as good as the first: it holds no memory
    made.init_params()
    made.init_optimizer()
    made.update()
    made.install_monitor(None)
    assert made.get_params() == ({}, {}) and made.trained_params() == {} and made.get_states() == []
    assert made.predict(np.ones((2, 3), "float32")).asnumpy().tolist() == [[2] * 3] * 2
    made.set_states([])
    with pytest.raises(ValueError, match="it has no states"):
        made.set_states(value=1)


@pytest.mark.parametrize(
    ("call", "missing"),
    [
        (lambda made: made.bind(DATA), "_compute_output_shapes"),
        (lambda made: made.forward(None), "forward"),
        (lambda made: made.backward(), "backward"),
        (lambda made: made.get_outputs(), "get_outputs"),
        (lambda made: made.get_input_grads(), "get_input_grads"),
    ],
)
def test_what_a_subclass_must_define(call, missing):
    with pytest.raises(mx.MXNetError, match=rf"PythonModule: must define {missing}\(\)"):
        call(PythonModule(["data"], None, "out"))


@pytest.mark.parametrize(
    ("data", "labels", "kwargs", "says"),
    [
        (
            [("dat", (4, 3))],
            None,
            {},
            "Double.bind: data_shapes must describe ['data'], in this order; got ['dat']",
        ),
        (DATA, [("l", (4,))], {}, "label_shapes must describe ['softmax_label'], in this order; got ['l']"),
        (DATA, LABEL, {"grad_req": "add"}, "grad_req must be 'write'; got 'add'"),
    ],
)
def test_what_bind_refuses(data, labels, kwargs, says):
    made = Double()
    with pytest.raises(ValueError, match=re.escape(says)):
        made.bind(data, labels, **kwargs)
    assert not made.binded


def test_a_metric():
    made, metric = Double(), mx.metric.create("acc")
    made.bind(DATA)
    made.update_metric(metric, batch().label)  # without bound labels nothing
    assert metric.num_inst == 0
    made.bind(DATA, LABEL)
    made.forward(batch())
    made.update_metric(metric, batch().label)
    assert metric.num_inst == 4
    with pytest.raises(ValueError, match="pre_sliced must be False"):
        made.update_metric(metric, [batch().label], pre_sliced=True)


@pytest.mark.parametrize(
    ("kwargs", "error", "says"),
    [
        (dict(data_names=["a", "b"]), ValueError, "data_names must hold one name; got ['a', 'b']"),
        (dict(label_names=[]), ValueError, "label_names must hold one name; got []"),
        (dict(grad_func=3), TypeError, "grad_func must be a function; got 3"),
    ],
)
def test_bad_arguments(kwargs, error, says):
    with pytest.raises(error, match=re.escape(says)):
        PythonLossModule(**kwargs)


def test_a_loss():
    made = loss(name="mine")
    assert made.output_names == ["mine_output"] and made.output_shapes == [("mine_output", (4, 3))]
    one = batch()
    made.forward(one)
    assert (
        made.get_outputs()[0] is one.data[0]
        and made.get_outputs(merge_multi_context=False)[0][0] is one.data[0]
    )
    made.forward(batch(2, label=False), is_train=False)
    assert made.get_outputs()[0].shape == (2, 3)


def unbound():
    return loss(bind=False)


def after_inference():
    made = loss()
    made.forward(batch(label=False), is_train=False)
    return made


def after_forward():
    made = loss()
    made.forward(batch())
    return made


@pytest.mark.parametrize(
    ("make", "call", "error", "says"),
    [
        (
            unbound,
            lambda made: made.get_outputs(),
            mx.MXNetError,
            "PythonLossModule.get_outputs() needs forward() first",
        ),
        (
            unbound,
            lambda made: made.get_input_grads(),
            mx.MXNetError,
            "PythonLossModule.get_input_grads() needs backward() first",
        ),
        (
            unbound,
            lambda made: made.backward(),
            mx.MXNetError,
            "backward() needs bind(for_training=True)",
        ),
        (loss, lambda made: made.backward(), mx.MXNetError, "backward() needs forward() first"),
        (
            after_inference,
            lambda made: made.backward(),
            mx.MXNetError,
            "backward() needs forward() with labels first",
        ),
        (
            loss,
            lambda made: made.forward(batch(label=False)),
            TypeError,
            "a batch for training must have label, for ['softmax_label']",
        ),
        (
            after_forward,
            lambda made: made.get_input_grads(),
            mx.MXNetError,
            "PythonLossModule.get_input_grads() needs backward() first",
        ),
        (
            after_forward,
            lambda made: made.backward([nd.ones((4, 3))]),
            ValueError,
            "out_grads must be None, for it is a loss",
        ),
    ],
)
def test_steps_come_in_order(make, call, error, says):
    with pytest.raises(error, match=re.escape(says)):
        call(make())


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (None, mx.MXNetError, "needs grad_func, or a subclass that defines _backward_impl()"),
        (lambda scores, labels: 3, TypeError, "must return an NDArray or a NumPy array; got int"),
        (
            lambda scores, labels: nd.ones((2, 2)),
            ValueError,
            "must return the shape of the scores, (4, 3); got (2, 2)",
        ),
    ],
)
def test_functions_that_give_no_gradient(function, error, says):
    made = loss(grad_func=function)
    made.forward(batch())
    with pytest.raises(error, match=re.escape(says)):
        made.backward()


class MinusOne(PythonLossModule):
    def _backward_impl(self):
        self._scores_grad = self._scores - 1


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        pytest.param(lambda: loss(bind=False), lambda scores: scores * 2, id="a function in NumPy"),
        pytest.param(
            lambda: loss(bind=False, grad_func=lambda scores, labels: scores + 1),
            lambda scores: scores + 1,
            id="a function of NDArrays",
        ),
        pytest.param(MinusOne, lambda scores: scores - 1, id="a method"),
    ],
)
def test_what_computes_the_gradient(make, expected):
    made = make()
    made.bind(DATA, LABEL)
    made.forward(batch())
    made.backward()
    (grad,) = made.get_input_grads()
    assert np.array_equal(grad.asnumpy(), expected(batch().data[0].asnumpy()))
    assert made.get_input_grads(merge_multi_context=False)[0][0] is grad


def test_a_python_module_between_two_others():
    first = Module(S.FullyConnected(S.var("data"), num_hidden=3, name="fc"), label_names=None)
    chain = SequentialModule()
    chain.add(first).add(Double(), auto_wiring=True)
    chain.add(
        loss(bind=False, grad_func=lambda scores, labels: scores - 4), take_labels=True, auto_wiring=True
    )
    data = mx.io.NDArrayIter(np.ones((8, 2), "float32"), np.zeros(8, "float32"), 4)
    chain.fit(data, num_epoch=60, initializer=mx.init.Constant(0.1), optimizer_params={"learning_rate": 0.1})
    assert np.allclose(chain.predict(data).asnumpy(), 4, atol=1e-3)
