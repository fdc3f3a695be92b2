"""Recurrent cells: fused and unfused equal, shared parameters, modifiers, convolutions, what users get wrong."""

from __future__ import annotations

import inspect
import re
import warnings

import numpy as np
import pytest

import rebind as mx
from rebind import rnn
from rebind.rnn.base_cell import flat

LENGTH, BATCH, INPUTS = 4, 3, 5


def unrolled(cell, *, layout="TNC", merge_outputs=True, dtype="float32", listed=False):
    """Return outputs and states of a cell as one symbol."""
    inputs = [mx.sym.var(f"x{i}") for i in range(LENGTH)] if listed else mx.sym.var("x")
    begin = cell.begin_state(dtype=dtype)
    outputs, states = cell.unroll(LENGTH, inputs, begin, layout, merge_outputs)
    steps = [outputs] if isinstance(outputs, mx.sym.Symbol) else outputs
    return mx.sym.Group([*steps, *map(mx.sym.identity, flat(states))])


def bound(net, values, dtype="float32", **shapes):
    """Bind with given parameters; inputs and parameters that are not given get numbers of a fixed seed."""
    random = np.random.RandomState(0)
    executor = net.simple_bind(mx.cpu(), type_dict={name: dtype for name in net.list_arguments()}, **shapes)
    for name, array in executor.arg_dict.items():
        drawn = mx.nd.array(random.uniform(-0.5, 0.5, array.shape), dtype=dtype)
        array[:] = values.get(name, drawn)
    return executor


def run(executor):
    outputs = executor.forward(is_train=True)
    random = np.random.RandomState(1)
    executor.backward([mx.nd.array(random.uniform(-1, 1, each.shape), dtype=each.dtype) for each in outputs])
    return [each.asnumpy() for each in outputs], executor.grad_dict


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("mode", ["rnn_relu", "rnn_tanh", "lstm", "gru"])
def test_fused_and_unfused_give_the_same(mode, layers, bidirectional):
    fused = rnn.FusedRNNCell(4, layers, mode, bidirectional, get_next_state=True)
    shape = (LENGTH, BATCH, INPUTS)
    one = bound(unrolled(fused), {}, x=shape)
    stack = fused.unfuse()
    weights = stack.pack_weights(
        fused.unpack_weights({fused._parameter.name: one.arg_dict[fused._parameter.name]})
    )
    other = bound(unrolled(stack), weights, x=shape)
    for executor in (one, other):
        executor.arg_dict["x"][:] = mx.nd.array(np.random.RandomState(3).normal(size=shape))
    (outputs, *states), _ = run(one)
    (wanted, *parts), _ = run(other)
    np.testing.assert_allclose(outputs, wanted, rtol=1e-5, atol=1e-6)
    # The stack's states come by layer, direction and kind; those of the operator by kind, with layers in one array.
    kinds = len(states)
    for kind, state in enumerate(states):
        np.testing.assert_allclose(state, np.stack(parts[kind::kinds]), rtol=1e-5, atol=1e-6)
    # Gradients of the outputs alone: their heads are the same in both.
    head = mx.nd.array(np.random.RandomState(2).normal(size=outputs.shape))
    for executor in (one, other):
        executor.forward(is_train=True)
        executor.backward([head, *(each.zeros_like() for each in executor.outputs[1:])])
    gradients = stack.pack_weights(
        fused.unpack_weights({fused._parameter.name: one.grad_dict[fused._parameter.name]})
    )
    for name, gradient in [*gradients.items(), ("x", one.grad_dict["x"])]:
        np.testing.assert_allclose(gradient.asnumpy(), other.grad_dict[name].asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-10), ("float16", 5e-3), ("bfloat16", 5e-2)])
def test_other_types(dtype, tolerance):
    fused = rnn.FusedRNNCell(4, 1, "lstm", get_next_state=True)
    one = bound(unrolled(fused, dtype=dtype), {}, dtype, x=(LENGTH, BATCH, INPUTS))
    stack = fused.unfuse()
    weights = stack.pack_weights(fused.unpack_weights({"lstm_parameters": one.arg_dict["lstm_parameters"]}))
    weights["x"] = one.arg_dict["x"]
    other = bound(unrolled(stack, dtype=dtype), weights, dtype, x=(LENGTH, BATCH, INPUTS))
    found, wanted = (executor.forward(is_train=False)[0] for executor in (one, other))
    assert found.dtype == wanted.dtype == mx.nd.zeros((1,), dtype=dtype).dtype
    np.testing.assert_allclose(
        found.astype("float64").asnumpy(), wanted.astype("float64").asnumpy(), rtol=tolerance, atol=tolerance
    )


def test_states_of_one_unrolling_begin_the_next():
    """Two halves give what the whole gives, nested states of a bidirectional cell's kind included."""
    cell = rnn.SequentialRNNCell()
    cell.add(rnn.LSTMCell(3, prefix="a_"))
    cell.add(rnn.GRUCell(3, prefix="b_"))
    steps = [mx.sym.var(f"x{i}") for i in range(4)]
    whole, _ = cell.unroll(4, steps)
    first, states = cell.unroll(2, steps[:2])
    second, _ = cell.unroll(2, steps[2:], begin_state=[states])
    shapes = {f"x{i}": (2, 3) for i in range(4)}
    one = bound(mx.sym.Group(whole), {}, **shapes)
    other = bound(mx.sym.Group([*first, *second]), one.arg_dict, **shapes)
    for found, wanted in zip(other.forward(), one.forward(), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-6)


def test_cells_that_share_parameters_unpack_them_once():
    shared = rnn.RNNParams("shared_")
    stack = rnn.SequentialRNNCell()
    for prefix in ("a_", "b_"):
        stack.add(rnn.LSTMCell(3, prefix=prefix, params=shared))
    args = {
        f"shared_{name}": mx.nd.array(np.arange(np.prod(shape)).reshape(shape))
        for name, shape in (
            ("i2h_weight", (12, 3)),
            ("h2h_weight", (12, 3)),
            ("i2h_bias", (12,)),
            ("h2h_bias", (12,)),
        )
    }
    unpacked = stack.unpack_weights(args)
    assert len(unpacked) == 16 and unpacked["shared_i2h_f_bias"].asnumpy().tolist() == [3, 4, 5]
    packed = stack.pack_weights(unpacked)
    assert {name: value.asnumpy().tolist() for name, value in packed.items()} == {
        name: value.asnumpy().tolist() for name, value in args.items()
    }


def test_unfused_cells_keep_the_forget_bias():
    lstm = rnn.FusedRNNCell(4, forget_bias=3.0).unfuse()
    assert lstm.params.get("lstm_l0_i2h_bias").attr("__init__") == '["lstmbias", {"forget_bias": 3.0}]'


@pytest.mark.parametrize("cell", [rnn.FusedRNNCell(2, forget_bias=3.0), rnn.LSTMCell(2, forget_bias=3.0)])
def test_the_forget_bias_is_the_first_value(cell):
    outputs, _ = cell.unroll(2, mx.sym.var("data"), layout="TNC", merge_outputs=True)
    module = mx.mod.Module(outputs, label_names=None)
    module.bind([mx.io.DataDesc("data", (2, 1, 3), layout="TNC")])
    module.init_params(mx.init.Zero())
    unpacked = cell.unpack_weights(module.get_params()[0])
    prefix = "lstm_l0_" if isinstance(cell, rnn.FusedRNNCell) else "lstm_"
    assert unpacked[f"{prefix}i2h_f_bias"].asnumpy().tolist() == [3, 3]
    assert unpacked[f"{prefix}i2h_i_bias"].asnumpy().tolist() == [0, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: rnn.ZoneoutCell(rnn.LSTMCell(5), 1.0, 1.0),
        lambda: rnn.ZoneoutCell(_stack(rnn.GRUCell(5, prefix="a_"), rnn.RNNCell(5, prefix="b_")), 1.0, 1.0),
    ],
)
def test_zoneout_of_everything_keeps_the_first_values(make):
    # Fractions of 1: in training every unit has its first value, the zeros before the first step.
    executor = bound(unrolled(make(), listed=True), {}, **{f"x{i}": (2, 5) for i in range(LENGTH)})
    assert not np.any(executor.forward(is_train=True)[0].asnumpy())
    assert np.any(executor.forward(is_train=False)[0].asnumpy())


def test_zoneout_of_a_convolution():
    cell = rnn.ZoneoutCell(rnn.ConvLSTMCell((1, 2, 4, 4), 3), 0.5, 0.5)
    outputs, _ = cell.unroll(2, mx.sym.var("x"), merge_outputs=True)
    assert bound(outputs, {}, x=(2, 2, 2, 4, 4)).forward(is_train=True)[0].shape == (2, 2, 3, 4, 4)


def _stack(*cells):
    stack = rnn.SequentialRNNCell()
    for cell in cells:
        stack.add(cell)
    return stack


@pytest.mark.parametrize(
    ("kind", "prefix"),
    [(rnn.ConvRNNCell, "ConvRNN_"), (rnn.ConvLSTMCell, "ConvLSTM_"), (rnn.ConvGRUCell, "ConvGRU_")],
)
def test_convolutional_cells_differ_in_their_prefix(kind, prefix):
    given, base = inspect.signature(kind).parameters, inspect.signature(rnn.BaseConvRNNCell).parameters
    assert [*given] == [*base]
    assert [name for name, each in given.items() if each.default is each.empty] == [
        "input_shape",
        "num_hidden",
    ]
    assert given["prefix"].default == prefix
    assert kind((1, 2, 4, 4), 3).params.get("i2h_weight").name == f"{prefix}i2h_weight"
    assert kind((1, 2, 4, 4), 3, prefix="mine_")._prefix == "mine_"


@pytest.mark.parametrize("kind", [rnn.ConvRNNCell, rnn.ConvLSTMCell, rnn.ConvGRUCell])
def test_convolutions_in_either_layout(kind):
    found = {}
    weights = {}
    for layout, shape, order in (("NCHW", (1, 2, 4, 4), (0, 1, 2, 3)), ("NHWC", (1, 4, 4, 2), (0, 2, 3, 1))):
        outputs, _ = kind(shape, 3, conv_layout=layout, prefix="c_").unroll(
            2, [mx.sym.var("a"), mx.sym.var("b")]
        )
        executor = bound(outputs[1], {}, a=shape, b=shape)
        for seed, (name, array) in enumerate(executor.arg_dict.items()):
            drawn = weights.setdefault(name, np.random.RandomState(seed).normal(size=array.shape))
            array[:] = mx.nd.array(drawn.transpose(order) if array.ndim == 4 else drawn)
        back = np.argsort(order)
        found[layout] = executor.forward()[0].asnumpy().transpose(back)
    np.testing.assert_allclose(found["NCHW"], found["NHWC"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("layout", "axes"), [("NCW", 1), ("NCDHW", 3)])
def test_convolutions_in_other_dimensions(layout, axes):
    cell = rnn.ConvGRUCell(
        (1, 2, *(5,) * axes), 3, (3,) * axes, (1,) * axes, (3,) * axes, (2,) * axes, (1,) * axes, (1,) * axes,
        conv_layout=layout,
    )  # fmt: skip
    outputs, _ = cell.unroll(2, mx.sym.var("x"), merge_outputs=True)
    assert outputs.infer_shape(x=(7, 2, 2, *(5,) * axes))[1] == [(7, 2, 3, *(3,) * axes)]


def test_a_fused_cell_with_the_batch_first_tells_that_it_transposes():
    with pytest.warns(UserWarning, match="layout='TNC' needs neither") as caught:
        rnn.FusedRNNCell(4).unroll(2, mx.sym.var("x"))
    assert caught[0].filename == __file__


def test_rnn_unroll_is_deprecated():
    with pytest.warns(DeprecationWarning, match="call cell.unroll"):
        outputs, _ = rnn.rnn_unroll(rnn.RNNCell(4), 2, input_prefix="in_")
    assert {"in_t0_data", "in_t1_data"} < set(outputs[1].list_arguments())


def test_modifiers_take_either_name_of_the_function():
    cell = rnn.ResidualCell(rnn.RNNCell(4))
    for name in ("func", "init_sym"):
        assert cell.begin_state(**{name: mx.sym.var})[0].list_arguments()[0].startswith("rnn_begin_state")


def test_a_shape_for_states_has_no_effect():
    with pytest.warns(UserWarning, match="shape has no effect"):
        (state,) = rnn.RNNCell(4).begin_state(shape=(2, 3))
    assert state.attr("shape") == "(0, 4)"


X = mx.sym.var("x")


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: rnn.RNNCell("4"), ValueError, "RNNCell: num_hidden must be an int >= 1; got '4'"),
        (lambda: rnn.FusedRNNCell(4, 0), ValueError, "FusedRNNCell: num_layers must be an int >= 1; got 0"),
        (
            lambda: rnn.FusedRNNCell(4, mode="lsmt"),
            ValueError,
            "mode must be one of 'rnn_relu'.*; got 'lsmt'",
        ),
        (
            lambda: rnn.RNNCell(4).unroll(2, X, layout="NC"),
            ValueError,
            "layout must have a T for time.*; got 'NC'",
        ),
        (lambda: rnn.RNNCell(4).unroll("2", X), ValueError, "RNNCell: length must be an int >= 0; got '2'"),
        (lambda: rnn.RNNCell(4).unroll(2, [X]), TypeError, "inputs must have 2 steps, as length says; got 1"),
        (lambda: rnn.RNNCell(4).unroll(1, [3]), TypeError, "each step of inputs must be a Symbol; got 3"),
        (
            lambda: rnn.RNNCell(4).unroll(2, None),
            TypeError,
            "must be a Symbol, or a list of symbols; got None",
        ),
        (
            lambda: rnn.RNNCell(4).unroll(2, mx.sym.split(X, num_outputs=2)),
            TypeError,
            r"inputs must be a symbol with one output, or a list.*Give list\(inputs\)",
        ),
        (lambda: rnn.LSTMCell(4)(X, [X]), TypeError, "LSTMCell: states must be 2 symbols; got 1"),
        (lambda: rnn.LSTMCell(4).unroll(1, [X], [X]), TypeError, "begin_state must have 2 states; got 1"),
        (
            lambda: rnn.FusedRNNCell(4)(X, []),
            RuntimeError,
            r"runs whole sequences.*Use unroll\(\), or unfuse\(\)",
        ),
        (lambda: rnn.SequentialRNNCell().add(3), TypeError, "a cell must be a BaseRNNCell; got 3"),
        (lambda: rnn.ResidualCell(3), TypeError, "ResidualCell: base_cell must be a BaseRNNCell; got 3"),
        (
            lambda: rnn.DropoutCell("0.5"),
            ValueError,
            "DropoutCell: dropout must be a number; got the text '0.5'",
        ),
        (
            lambda: rnn.ZoneoutCell(_stack(rnn.FusedRNNCell(4)), 0.1),
            TypeError,
            "ZoneoutCell: base_cell must run step by step",
        ),
        (
            lambda: (lambda cell: (rnn.ResidualCell(cell), cell.unroll(1, [X])))(rnn.RNNCell(4)),
            RuntimeError,
            "a cell inside of a modifier.*Call the modifier",
        ),
        (
            lambda: rnn.ConvRNNCell((1, 2, 4, 4), 3, h2h_kernel=(2, 3)),
            ValueError,
            r"h2h_kernel must be odd.*; got \(2, 3\)",
        ),
        (
            lambda: rnn.LSTMCell(4).unpack_weights({"w": mx.nd.ones((1,))}),
            ValueError,
            "LSTMCell.unpack_weights: the parameters must have 'lstm_i2h_weight'; got w",
        ),
        (
            lambda: rnn.RNNCell(4).unpack_weights({"rnn_i2h_weight": mx.nd.ones((3, 3)), "rnn_i2h_bias": X}),
            ValueError,
            r"'rnn_i2h_weight' must have 4 rows for each of 1 gate\(s\); got shape \(3, 3\)",
        ),
        (
            lambda: rnn.FusedRNNCell(4).unpack_weights({"lstm_parameters": mx.nd.ones((7,))}),
            ValueError,
            "'lstm_parameters' must hold the weights of 1 layer.*; got 7 elements, which fit no input size",
        ),
        (
            lambda: rnn.FusedRNNCell(4).pack_weights({}),
            ValueError,
            "FusedRNNCell.pack_weights: the parameters must have 'lstm_l0_i2h_i_weight'; got none",
        ),
    ],
)
def test_mistakes(call, error, says):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(error, match=says) as raised:
            call()
    assert isinstance(raised.value, mx.MXNetError) and re.match(r"\w+", str(raised.value))
