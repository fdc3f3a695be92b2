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


def test_a_module_without_parameters_has_nothing_to_do():
    made = Double()
    assert made.output_names == ["double_output"] and made.data_names == ["data"]
    assert (made.data_shapes, made.label_shapes, made.output_shapes) == (None, None, None)
    assert not made.binded and not made.params_initialized and not made.optimizer_initialized
    made.bind(DATA, LABEL)
    made.bind(DATA, LABEL)  # as good as the first: it holds no memory
    made.init_params()
    made.init_optimizer()
    made.update()
    made.install_monitor(None)
    assert made.binded and made.params_initialized and made.optimizer_initialized
    assert made.get_params() == ({}, {}) and made.trained_params() == {} and made.get_states() == []
    assert made.output_shapes == [("double_output", (4, 3))] and made.label_shapes == LABEL
    assert made.predict(np.ones((2, 3), "float32")).asnumpy().tolist() == [[2] * 3] * 2
    made.set_states([])
    with pytest.raises(ValueError, match="it has no states"):
        made.set_states(value=1)


def test_what_a_subclass_must_define():
    made = PythonModule(["data"], None, "out")
    with pytest.raises(mx.MXNetError, match=r"must define _compute_output_shapes\(\)"):
        made.bind(DATA)
    for call in ("forward", "backward", "get_outputs", "get_input_grads"):
        with pytest.raises(mx.MXNetError, match=rf"PythonModule: must define {call}\(\)"):
            getattr(made, call)(*[None] * (call == "forward"))


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


# ---- the loss ----------------------------------------------------------------------------------------------------


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
    made.backward()
    (grad,) = made.get_input_grads()
    assert np.array_equal(grad.asnumpy(), one.data[0].asnumpy() * 2)
    assert made.get_input_grads(merge_multi_context=False)[0][0] is grad
    made.forward(batch(2, label=False), is_train=False)
    assert made.get_outputs()[0].shape == (2, 3)


def test_steps_come_in_order():
    made = loss(bind=False)
    for call in ("get_outputs", "get_input_grads"):
        with pytest.raises(
            mx.MXNetError, match=rf"PythonLossModule\.{call}\(\) needs (forward|backward)\(\) first"
        ):
            getattr(made, call)()
    with pytest.raises(mx.MXNetError, match=r"backward\(\) needs bind\(for_training=True\)"):
        made.backward()
    made.bind(DATA, LABEL)
    with pytest.raises(mx.MXNetError, match=r"backward\(\) needs forward\(\) first"):
        made.backward()
    made.forward(batch(label=False), is_train=False)
    with pytest.raises(mx.MXNetError, match=r"backward\(\) needs forward\(\) with labels first"):
        made.backward()
    with pytest.raises(TypeError, match=r"a batch for training must have label, for \['softmax_label'\]"):
        made.forward(batch(label=False))
    made.forward(batch())
    with pytest.raises(mx.MXNetError, match=r"get_input_grads\(\) needs backward\(\) first"):
        made.get_input_grads()
    with pytest.raises(ValueError, match="out_grads must be None, for it is a loss"):
        made.backward([nd.ones((4, 3))])


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


def test_a_subclass_may_compute_the_gradient():
    class Mine(PythonLossModule):
        def _backward_impl(self):
            self._scores_grad = self._scores - 1

    made = Mine()
    made.bind(DATA, LABEL)
    made.forward(batch())
    made.backward()
    assert np.array_equal(made.get_input_grads()[0].asnumpy(), batch().data[0].asnumpy() - 1)


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
