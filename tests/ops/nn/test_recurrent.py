"""RNN: what the recorded numbers do not cover. An unrolled NumPy net, derivatives, dropout, lengths, messages."""

import json

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError, ParameterError, ShapeError
from rebind.ops import find

MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
T, N, C, H = 5, 3, 2, 4
LENGTHS = [2, 5, 1]
CLIP = {"lstm_state_clip_min": -0.2, "lstm_state_clip_max": 0.3}


def call(*tensors, training=False, generator=None, **given):
    op = find("RNN")
    out = op(*tensors, **op.signature.keywords(op.parse(given)), training=training, generator=generator)
    return out if isinstance(out, tuple) else (out,)


def inputs(given, dtype=torch.float64, shape=(T, N, C)):
    """Return random data, parameters and states of the shapes that the operator tells."""
    op = find("RNN")
    p = op.parse(given)
    names = [name for name in op.signature.inputs_for(p) if name != "sequence_length"]
    shapes = {"data": shape} | op.inference.filled_shapes(dict.fromkeys(names) | {"data": shape}, p)
    random = torch.Generator().manual_seed(0)
    return [torch.randn(shapes[name], generator=random, dtype=dtype) * 0.7 for name in names]


def given_for(mode, layers=2, directions=1, **more):
    return {
        "mode": mode,
        "state_size": H,
        "num_layers": layers,
        "bidirectional": directions == 2,
        "state_outputs": True,
        **more,
    }


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def one_step(mode, x, h, c, weights, clip):
    i2h, h2h, i2h_bias, h2h_bias, *projection = weights
    a, b = x @ i2h.T + i2h_bias, h @ h2h.T + h2h_bias
    if mode == "lstm":
        i, f, g, o = np.split(a + b, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        c = np.clip(c, *clip) if clip else c
        h = sigmoid(o) * np.tanh(c)
        return (projection[0] @ h if projection else h), c
    if mode == "gru":
        (ar, az, an), (br, bz, bn) = np.split(a, 3), np.split(b, 3)
        z = sigmoid(az + bz)
        return (1 - z) * np.tanh(an + sigmoid(ar + br) * bn) + z * h, c
    return (np.tanh if mode == "rnn_tanh" else lambda v: np.maximum(v, 0))(a + b), c


def unrolled(given, data, parameters, state, cell=None, lengths=None):
    """Compute each sequence by itself, cut to its length."""
    mode, layers, projection = given["mode"], given["num_layers"], given.get("projection_size")
    directions = 2 if given["bidirectional"] else 1
    rows, out_size = {"lstm": 4, "gru": 3}.get(mode, 1) * H, projection or H
    position = 0

    def take(*shape):
        nonlocal position
        position += int(np.prod(shape))
        return parameters[position - int(np.prod(shape)) : position].reshape(shape)

    cells = []
    for layer in range(layers):
        for _ in range(directions):
            features = directions * out_size if layer else data.shape[2]
            weights = [take(rows, features), take(rows, out_size)]
            cells.append((weights, [take(projection, H)] if projection else []))
    cells = [(*weights, take(rows), take(rows), *last) for weights, last in cells]
    assert position == len(parameters)

    clip = (
        (given["lstm_state_clip_min"], given["lstm_state_clip_max"])
        if "lstm_state_clip_min" in given
        else None
    )
    out = np.zeros((*data.shape[:2], directions * out_size))
    states, memories = state.copy(), np.zeros((len(cells), data.shape[1], H)) if cell is None else cell.copy()
    for n in range(data.shape[1]):
        length = data.shape[0] if lengths is None else lengths[n]
        x = data[:length, n]
        for layer in range(layers):
            sides = []
            for direction in range(directions):
                k = layer * directions + direction
                h, c, steps = states[k, n], memories[k, n], []
                for row in x[::-1] if direction else x:
                    h, c = one_step(mode, row, h, c, cells[k], clip)
                    steps.append(h)
                states[k, n], memories[k, n] = h, c
                sides.append(np.array(steps[::-1] if direction else steps))
            x = np.concatenate(sides, -1)
        out[:length, n] = x
    return (out, states, memories) if mode == "lstm" else (out, states)


VARIANTS = [
    *(given_for(mode, layers, directions) for mode in MODES for layers in (1, 3) for directions in (1, 2)),
    given_for("lstm", projection_size=3),
    given_for("lstm", 2, 2, projection_size=3),
    given_for("lstm", 1, 1, **CLIP),
    given_for("lstm", 2, 2, **CLIP),
    given_for("lstm", 2, 2, projection_size=3, **CLIP),
]


@pytest.mark.parametrize("lengths", [None, LENGTHS], ids=["whole", "lengths"])
@pytest.mark.parametrize("given", VARIANTS, ids=str)
def test_equals_the_unrolled_net(given, lengths):
    tensors = inputs(given)
    wanted = unrolled(
        given, *(t.numpy() for t in tensors), **({} if lengths is None else {"lengths": lengths})
    )
    if lengths is not None:
        given = given | {"use_sequence_length": True}
        cell = [] if given["mode"] == "lstm" else [None]
        tensors = [*tensors, *cell, torch.tensor(lengths, dtype=torch.float32)]
    found = call(*tensors, **given)
    assert len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-9, atol=1e-12)
    (alone,) = call(*tensors, **given | {"state_outputs": False})
    torch.testing.assert_close(alone, found[0], rtol=0, atol=0)


@pytest.mark.sampled
@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize(
    "given",
    [
        *(given_for(mode, 2, 2, state_size=2) for mode in MODES),
        given_for("rnn_tanh", 3, state_size=2),  # MXNet's own gradient is another one: record.py
        given_for("lstm", 2, 2, state_size=3, projection_size=2),
        given_for("lstm", 2, 2, state_size=2, **CLIP),
    ],
    ids=str,
)
def test_gradient_is_the_derivative(given, lengths):
    tensors = [t.requires_grad_() for t in inputs(given, shape=(3, 2, 2))]
    rest = []
    if lengths:
        given = given | {"use_sequence_length": True}
        rest = [*([] if given["mode"] == "lstm" else [None]), torch.tensor([3.0, 2.0])]
    assert torch.autograd.gradcheck(lambda *free: call(*free, *rest, **given), tensors)


def test_nothing_flows_into_padding():
    given = given_for("gru", 2, 2, use_sequence_length=True)
    data, *rest = inputs(given)
    call(data.requires_grad_(), *rest, None, torch.tensor(LENGTHS), **given)[0].sum().backward()
    beyond = torch.arange(T)[:, None] >= torch.tensor(LENGTHS)
    assert not data.grad[beyond].any()
    assert data.grad[~beyond].all()


@pytest.mark.parametrize("asked", [False, True])
def test_nan_in_a_state_is_clipped_when_asked(asked):
    given = given_for("lstm", 1, **CLIP)
    data, parameters, state, cell = inputs(given)
    cell[0, 1, 2] = float("nan")
    outs = call(data, parameters, state, cell, **given, lstm_state_clip_nan=asked)
    has_nan = [bool(out.isnan().any()) for out in outs]
    assert not any(has_nan) if asked else has_nan[0]


@pytest.mark.parametrize("more", [{}, CLIP, {"use_sequence_length": True}], ids=["plain", "clip", "lengths"])
def test_dropout_is_between_layers_in_training_and_drawn_from_the_generator(more):
    given = given_for("lstm", 2, p=0.5, **more)
    tensors = inputs(given) + ([torch.tensor(LENGTHS)] if "use_sequence_length" in more else [])

    def run(seed, **changed):
        return call(*tensors, training=True, generator=torch.Generator().manual_seed(seed), **given | changed)

    torch.manual_seed(0)
    first = run(1)
    torch.manual_seed(9)
    for again, other, whole, one in zip(run(1), run(2), run(1, p=0.0), first, strict=True):
        assert torch.equal(again, one)
        assert not torch.equal(other, one)
        assert not torch.equal(whole, one)
    # The first layer's states know nothing of it.
    torch.testing.assert_close(first[1][0], call(*tensors, **given)[1][0])
    torch.testing.assert_close(call(*tensors, **given), run(1, p=0.0))


def test_dropout_takes_that_fraction_and_keeps_the_mean():
    # The second layer of this net sums what it is given: its last unit counts what was left over.
    units = 200
    given = {"mode": "rnn_relu", "state_size": units, "num_layers": 2, "p": 0.25}
    _, parameters, state = inputs(given, torch.float32, (1, 50, 1))
    parameters.zero_()
    parameters[:units] = 1.0
    second = units + units * units
    parameters[second : second + units] = 1 / units
    (out,) = call(
        torch.ones(1, 50, 1),
        parameters,
        state * 0,
        training=True,
        generator=torch.Generator().manual_seed(3),
        **given,
    )
    sums = out[0, :, 0]
    assert abs(sums.mean() - 1) < 0.02
    assert abs(sums.std() - (0.25 / 0.75 / units) ** 0.5) < 0.01
    assert not out[0, :, 1:].any()


def test_a_seed_gives_the_same_again():
    size = 2 * (4 * H * (H + H + 2))
    symbol = mx.sym.RNN(mx.sym.var("data"), state_size=H, num_layers=2, mode="lstm", p=0.5, name="rnn")
    executor = symbol.simple_bind(mx.cpu(), data=(T, N, H))
    assert executor.arg_dict["rnn_parameters"].shape == (size,)
    for array in executor.arg_arrays:
        array[:] = 0.3
    outs = []
    for seed in (5, 5, 6):
        mx.random.seed(seed)
        outs.append(executor.forward(is_train=True)[0].asnumpy())
    assert np.array_equal(outs[0], outs[1])
    assert not np.array_equal(outs[0], outs[2])


@pytest.mark.parametrize(
    ("given", "inputs", "outputs"),
    [
        (
            {"mode": "lstm", "state_outputs": True},
            ["state_cell"],
            ["output", "state_output", "statecell_output"],
        ),
        ({"mode": "gru", "use_sequence_length": True}, ["sequence_length"], ["output"]),
        ({"mode": "gru", "state_outputs": True}, [], ["output", "state_output"]),
    ],
    ids=str,
)
def test_names_are_mxnets(given, inputs, outputs):
    symbol = mx.sym.RNN(mx.sym.var("data"), state_size=2, num_layers=1, name="r", **given)
    assert symbol.list_arguments() == ["data", *(f"r_{each}" for each in ("parameters", "state", *inputs))]
    assert symbol.list_outputs() == [f"r_{each}" for each in outputs]
    attrs = {node["name"]: node.get("attrs") for node in json.loads(symbol.tojson())["nodes"]}
    assert attrs["r_parameters"] == attrs["r_state"] == attrs["r"]


@pytest.mark.parametrize(
    ("given", "arguments", "output"),
    [
        (
            {"mode": "lstm", "projection_size": 2},
            [(5, 4, 6), (204,), (2, 4, 2), (2, 4, 3)],
            (5, 4, 2),
        ),
        ({"mode": "rnn_relu", "bidirectional": True}, [(5, 4, 6), (132,), (4, 4, 3)], (5, 4, 6)),
    ],
    ids=["projection", "bidirectional"],
)
def test_shapes_follow_from_the_data(given, arguments, output):
    net = mx.sym.RNN(mx.sym.var("s"), state_size=3, num_layers=2, name="r", **given)
    assert net.infer_shape(s=(5, 4, 6)) == (arguments, [output], [])


def test_bound_net_equals_one_of_fully_connected_layers():
    data = mx.sym.var("data")
    fused = mx.sym.RNN(data, state_size=H, num_layers=1, mode="lstm", state_outputs=True, name="rnn")
    one = fused.simple_bind(mx.cpu(), data=(T, N, C))
    random = np.random.RandomState(0)
    for array in one.arg_arrays:
        array[:] = random.standard_normal(array.shape)

    shared = {name: mx.sym.var(name) for name in ("i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias")}
    hidden, memory, outs = mx.sym.var("state"), mx.sym.var("state_cell"), []
    for step in mx.sym.split(data, num_outputs=T, axis=0, squeeze_axis=True):
        sums = [
            mx.sym.FullyConnected(x, shared[f"{k}_weight"], shared[f"{k}_bias"], num_hidden=4 * H)
            for k, x in (("i2h", step), ("h2h", hidden))
        ]
        i, f, g, o = mx.sym.split(sums[0] + sums[1], num_outputs=4, axis=1)
        memory = mx.sym.sigmoid(f) * memory + mx.sym.sigmoid(i) * mx.sym.tanh(g)
        hidden = mx.sym.sigmoid(o) * mx.sym.tanh(memory)
        outs.append(hidden)
    net = mx.sym.Group([mx.sym.stack(*outs, axis=0), hidden, memory])
    other = net.simple_bind(mx.cpu(), data=(T, N, C), state=(N, H), state_cell=(N, H))
    packed = one.arg_dict["rnn_parameters"].asnumpy()
    ends = np.cumsum([4 * H * C, 4 * H * H, 4 * H])
    parts = dict(
        zip(("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"), np.split(packed, ends), strict=True)
    )
    for name, array in other.arg_dict.items():
        source = parts.get(name)
        if source is None:
            source = one.arg_dict[name if name == "data" else f"rnn_{name}"].asnumpy()
        array[:] = source.reshape(array.shape)

    head_grads = [mx.nd.array(random.standard_normal(out.shape)) for out in one.forward(is_train=True)]
    other.forward(is_train=True)
    for a, b in zip(one.outputs, other.outputs, strict=True):
        np.testing.assert_allclose(a.asnumpy().reshape(b.shape), b.asnumpy(), rtol=1e-5, atol=1e-6)
    one.backward(head_grads)
    other.backward([head_grads[0], head_grads[1][0], head_grads[2][0]])
    found, wanted = one.grad_dict, other.grad_dict
    order = ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
    pairs = {
        "rnn_parameters": np.concatenate([wanted[name].asnumpy().ravel() for name in order]),
        "data": wanted["data"].asnumpy(),
        "rnn_state": wanted["state"].asnumpy()[None],
        "rnn_state_cell": wanted["state_cell"].asnumpy()[None],
    }
    for name, expected in pairs.items():
        np.testing.assert_allclose(found[name].asnumpy(), expected, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("more", [{}, {"p": 0.5}])
def test_an_empty_batch_gives_empty_outputs(mode, more):
    given = given_for(mode, 2, 2, **more)
    out, *states = call(*inputs(given, shape=(T, 0, C)), training=True, **given)
    assert out.shape == (T, 0, 2 * H)
    assert all(state.shape == (4, 0, H) for state in states)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mode": "ltsm"}, "RNN: mode must be one of 'rnn_relu', 'rnn_tanh', 'lstm', 'gru'; got 'ltsm'"),
        ({"p": 1.0}, "RNN: p must be in [0, 1); got 1.0"),
        ({"state_size": 0}, "RNN: state_size must be an int >= 1; got 0"),
        ({"num_layers": 0}, "RNN: num_layers must be an int >= 1; got 0"),
        (
            {"lstm_state_clip_min": -1.0},
            "RNN: lstm_state_clip_min and lstm_state_clip_max must be given together; got -1.0 and None",
        ),
        (
            {"lstm_state_clip_min": 1.0, "lstm_state_clip_max": 0.0},
            "RNN: lstm_state_clip_min must be at most lstm_state_clip_max; got 1.0 and 0.0",
        ),
        (
            {"mode": "gru", "projection_size": 2},
            "RNN: projection_size is for mode 'lstm' only; got 2 with 'gru'",
        ),
        ({"mode": "gru", **CLIP}, "RNN: lstm_state_clip_min is for mode 'lstm' only; got -0.2 with 'gru'"),
    ],
)
def test_parameters_that_do_not_fit(given, says):
    with pytest.raises(ParameterError) as caught:
        find("RNN").parse(given_for("lstm") | given)
    assert str(caught.value) == says


def zeros(*shapes):
    return [torch.zeros(shape) for shape in shapes]


GRU = ((T, N, C), (H * 3 * (C + H + 2),), (1, N, H))


@pytest.mark.parametrize(
    ("mode", "tensors", "more", "says"),
    [
        (
            "gru",
            zeros(GRU[0], (7,), GRU[2]),
            {},
            "RNN: parameters must have shape (96,) for mode 'gru', 1 layer(s) of 4 in 1 direction(s) and data "
            "(5, 3, 2); got (7,)",
        ),
        (
            "gru",
            zeros(*GRU[:2], (1, N, 5)),
            {},
            "RNN: state must have shape (1, 3, 4) for data (5, 3, 2); got (1, 3, 5)",
        ),
        (
            "gru",
            zeros((T, C), *GRU[1:]),
            {},
            "RNN: data must have 3 axes (time, batch, features); got shape (5, 2)",
        ),
        (
            "gru",
            zeros((0, N, C), *GRU[1:]),
            {},
            "RNN: data must have 1 time step at least; got shape (0, 3, 2)",
        ),
        ("lstm", zeros(*GRU), {}, "RNN: mode 'lstm' needs state_cell"),
        ("gru", zeros(*GRU, GRU[2]), {}, "RNN: state_cell is for mode 'lstm' only; got it with 'gru'"),
        (
            "gru",
            [*zeros(*GRU), None, torch.ones(N)],
            {},
            "RNN: sequence_length is taken only with use_sequence_length=True; got it without",
        ),
        (
            "gru",
            zeros(*GRU),
            {"use_sequence_length": True},
            "RNN: use_sequence_length=True needs sequence_length",
        ),
        (
            "gru",
            [*zeros(*GRU), None, torch.ones(2)],
            {"use_sequence_length": True},
            "RNN: sequence_length must have shape (3,) for data (5, 3, 2); got (2,)",
        ),
        (
            "gru",
            [*zeros(*GRU), None, torch.tensor([1.0, 6.0, 0.0])],
            {"use_sequence_length": True},
            "RNN: sequence_length must be in [1, 5]; got [1, 6, 0]",
        ),
    ],
)
def test_inputs_that_do_not_fit(mode, tensors, more, says):
    with pytest.raises((ParameterError, ShapeError)) as caught:
        call(*tensors, **given_for(mode, 1, **more))
    assert str(caught.value) == says


GRU_GIVEN = {"state_size": H, "num_layers": 1, "mode": "gru"}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        pytest.param(
            lambda: mx.sym.RNN(mx.sym.var("data"), **GRU_GIVEN, name="rnn").infer_shape(
                data=(T, N, C), rnn_parameters=(7,)
            ),
            r"(?s)rnn.*parameters.*\(96,\).*\(7,\)",
            id="symbol-with-its-node",
        ),
        pytest.param(
            lambda: mx.nd.RNN(*map(mx.nd.zeros, (GRU[0], (7,), GRU[2])), **GRU_GIVEN),
            r"parameters.*\(96,\).*\(7,\)",
            id="arrays",
        ),
    ],
)
def test_a_wrong_size_of_parameters_is_named(call, says):
    with pytest.raises(MXNetError, match=says):
        call()
