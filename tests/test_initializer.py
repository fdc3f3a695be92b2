"""Values and moments are compared with MXNet's in ``parity/test_training.py``."""

import itertools
import json
import logging

import numpy as np
import pytest

from rebind import initializer as init
from rebind import random
from rebind.device import cpu
from rebind.errors import ArgumentError, FormatError, NameLookupError, ParameterError, ShapeError
from rebind.initializer import InitDesc
from rebind.ndarray import array, save, zeros


def filled(initializer, name, shape=(4, 6), attrs=None, global_init=None, dtype="float32", ctx=None):
    values = array(np.full(shape, 77.0), dtype=dtype, ctx=ctx)
    initializer(name if attrs is None else InitDesc(name, attrs, global_init), values)
    return values.asnumpy()


@pytest.mark.parametrize("attrs", [None, {}])  # a plain name, and an InitDesc
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fc_weight", 3.0),
        ("weight", 3.0),
        ("fc_bias", 0.0),
        ("bn_gamma", 1.0),
        ("bn_beta", 0.0),
        ("bn_moving_mean", 0.0),
        ("bn_running_mean", 0.0),
        ("bn_moving_var", 1.0),
        ("bn_running_var", 1.0),
        ("x_moving_inv_var", 0.0),
        ("x_moving_avg", 0.0),
        ("x_min", 0.0),
        ("x_max", 1.0),
    ],
)
def test_names_say_what_a_parameter_starts_as(name, value, attrs):
    assert np.all(filled(init.Constant(3.0), name, attrs=attrs) == value)


@pytest.mark.parametrize("name", ["foo", "rnn_parameters", "lstm_begin_state", "x_state"])
def test_name_without_a_rule(name):
    with pytest.raises(
        NameLookupError, match=f"no rule for a parameter called '{name}'.*sym.var\\('{name}', init="
    ):
        filled(init.Uniform(), name, attrs={})


RAMP = [0.25, 0.75, 0.75, 0.25]  # of a bilinear kernel


@pytest.mark.parametrize(
    ("made", "name", "shape", "expected"),
    [
        (init.One(), "stn_loc_weight", (2, 3), [[0] * 3] * 2),
        (init.Zero(), "stn_loc_bias", (6,), [1, 0, 0, 0, 1, 0]),
        (init.Zero(), "upsampling0", (1, 1, 4, 4), [[np.outer(RAMP, RAMP).tolist()]]),
    ],
)
def test_old_rules_for_plain_names(made, name, shape, expected):
    assert filled(made, name, shape).tolist() == expected


@pytest.mark.parametrize("name", ["fc_bias", "anything"])
@pytest.mark.parametrize(
    ("text", "value"),
    [("ones", 1.0), (init.Constant(2.5).dumps(), 2.5), ('["constant", {"value": -1}]', -1.0)],
)
def test_the_variables_own_initializer_wins(text, value, name):
    assert np.all(filled(init.Uniform(), name, attrs={"__init__": text}) == value)


class Own(init.Initializer):
    """As in old scripts, which override hooks."""

    def _init_weight(self, name, arr):
        arr[:] = 5

    def _init_default(self, name, arr):
        arr[:] = 6


MIXED = init.Mixed(["fc.*bias", ".*"], [init.Constant(4.0), init.One()])


@pytest.mark.parametrize(
    ("made", "name", "attrs", "value"),
    [
        pytest.param(init.Uniform(), "fc_bias", {"__init__": ""}, 0, id="empty-is-none"),
        pytest.param(init.One(), "stn_loc_weight", {}, 1, id="no-old-rule-for-an-InitDesc"),
        pytest.param(Own(), "a_weight", {}, 5, id="hook-for-weights"),
        pytest.param(Own(), "anything", {}, 6, id="hook-for-others"),
        pytest.param(Own(), "a_bias", {}, 0, id="hook-of-the-base"),
        pytest.param(MIXED, "fc_weight", {}, 1, id="mixed-by-the-last-pattern"),
        pytest.param(MIXED, "fc_bias", {}, 0, id="mixed-still-by-name"),
    ],
)
def test_single_parameters(made, name, attrs, value):
    assert np.all(filled(made, name, attrs=attrs) == value)


CASES = [
    init.Zero(),
    init.One(),
    init.Constant(2.0),
    init.Uniform(0.2),
    init.Normal(0.2),
    init.Orthogonal(1.0, "normal"),
    init.Xavier("gaussian", "in", 2),
    init.MSRAPrelu("in", 0.1),
    init.Bilinear(),
    init.LSTMBias(2.0),
    init.FusedRNN(init.Xavier("gaussian"), 1, 2, "gru", True, 0.5),
    init.FusedRNN(None, 1, 1, "rnn_tanh"),
]


@pytest.mark.parametrize("made", CASES, ids=repr)
def test_dumps_and_back(made):
    again = init.create(made.dumps())
    assert again == made
    assert hash(again) == hash(made)
    assert json.loads(made.dumps())[0] == type(made).__name__.lower()
    assert init.create(made) is made


@pytest.mark.parametrize(
    ("one", "other"),
    [(init.Xavier(), init.Xavier("gaussian")), (init.Uniform(1), init.Normal(1))],
    ids=["settings", "classes"],
)
def test_different_initializers_differ(one, other):
    assert one != other


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "made", [case for case in CASES if not isinstance(case, (init.Bilinear, init.FusedRNN))], ids=repr
)
def test_types_and_seeds(made, dtype):
    random.seed(3)
    first = filled(made, "fc_weight", (8, 4), dtype=dtype)
    random.seed(3)
    assert first.dtype == dtype
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, filled(made, "fc_weight", (8, 4), dtype=dtype))


def test_devices_draw_from_their_own_generators():
    random.seed(3)
    first, other = (filled(init.Uniform(), "w_weight", ctx=cpu(number)) for number in (0, 1))
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (8, 4, 3, 3)])
@pytest.mark.parametrize("kind", ["uniform", "normal"])
def test_orthogonal(shape, kind):
    matrix = filled(init.Orthogonal(1.414, kind), "w_weight", shape).reshape(shape[0], -1).astype("float64")
    if matrix.shape[0] > matrix.shape[1]:
        matrix = matrix.T
    np.testing.assert_allclose(matrix @ matrix.T, 1.414**2 * np.eye(len(matrix)), atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "scale"),
    [
        ({}, np.sqrt(3 / ((40 * 9 + 100 * 9) / 2))),
        ({"factor_type": "in"}, np.sqrt(3 / (40 * 9))),
        ({"factor_type": "out", "magnitude": 2}, np.sqrt(2 / (100 * 9))),
    ],
)
def test_xavier_bounds(settings, scale):
    weight = filled(init.Xavier(**settings), "w_weight", (100, 40, 3, 3))
    assert np.abs(weight).max() <= scale
    assert weight.std() == pytest.approx(scale / np.sqrt(3), rel=0.02)


CONSTANT = init.Constant(array(np.array([1.0, 2.0])))


@pytest.mark.parametrize("made", [CONSTANT, init.create(CONSTANT.dumps())], ids=["made", "from-json"])
def test_constant_array_broadcasts(made):
    assert filled(made, "w_weight", (2, 2)).tolist() == [[1, 2], [1, 2]]
    assert made.dumps() == '["constant", {"value": [1.0, 2.0]}]'


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: init.Xavier("foo"),
            ParameterError,
            "rnd_type must be one of 'uniform', 'gaussian'; got 'foo'",
        ),
        (lambda: init.Xavier(factor_type="foo"), ParameterError, "factor_type must be one of"),
        (lambda: init.Orthogonal(rand_type="foo"), ParameterError, "rand_type must be one of"),
        (lambda: filled(init.Xavier(), "w_weight", (3,)), ShapeError, "'w_weight' must have at least 2 axes"),
        (lambda: filled(init.Bilinear(), "w_weight", (3,)), ShapeError, "must have 4 axes"),
        (lambda: init.Uniform()(5, array(np.zeros(2))), ArgumentError, "must be an InitDesc; got 5"),
        (lambda: init.create("normall"), NameLookupError, "no initializer 'normall'; did you mean 'normal'"),
        (lambda: init.Mixed(["a"], []), ArgumentError, "got 1 patterns and 0 initializers"),
        (
            lambda: filled(init.Mixed(["a"], [init.Zero()]), "b_weight"),
            NameLookupError,
            "Add the pattern '.\\*'",
        ),
        (lambda: filled(init.Load({}), "b_weight"), NameLookupError, "no parameter 'b_weight' is loaded"),
        (
            lambda: init.FusedRNN(None, 3, 1, "lsmt"),
            ParameterError,
            "mode must be one of 'rnn_relu'.*; got 'lsmt'",
        ),
        (lambda: init.FusedRNN(None, 0, 1, "gru"), ParameterError, "num_hidden must be an int >= 1; got 0"),
        (
            lambda: init.FusedRNN(None, 3, 1.5, "gru"),
            ParameterError,
            "num_layers must be an int >= 1; got 1.5",
        ),
        (lambda: init.FusedRNN(init.Load({}), 3, 1, "gru"), ArgumentError, "must be a name or an instance"),
        (
            lambda: filled(init.FusedRNN(init.One(), 3, 1, "gru"), "x_weight", (50,)),
            ShapeError,
            "FusedRNN: the size of 'x_weight' must fit 1 layer.* of 3 with mode 'gru' .*; got 50",
        ),
        (
            lambda: init.FusedRNN(None, 3, 1, "gru")._init_weight("x", array(np.zeros(90))),
            ArgumentError,
            "'x' needs an initializer for its gates",
        ),
        (lambda: init.Load([1]), FormatError, "must be a dict from name to array"),
        (
            lambda: init.Initializer()("a_weight", array(np.zeros(2))),
            NotImplementedError,
            "must define _init_weight",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def lstm(initializer, size=4 * 3 * (5 + 3 + 2), attrs=None, **settings):
    given = {"__init__": initializer.dumps()} if attrs is None else attrs
    return filled(init.Constant(7.0), "lstm_parameters", (size,), attrs=given, **settings)


ONES = init.FusedRNN(init.One(), 3, 1, "lstm", forget_bias=2.0)


@pytest.mark.parametrize(
    ("made", "numbers", "expected"),
    [
        pytest.param(ONES, slice(96), [1] * 96, id="weights"),
        # input, forget, cell, output
        pytest.param(ONES, slice(96, None), ([0] * 3 + [2] * 3 + [0] * 6) * 2, id="biases"),
        pytest.param(
            init.FusedRNN(None, 3, 1, "lstm"), slice(96), [7] * 96, id="weights-by-the-modules-initializer"
        ),
    ],
)
def test_parameters_of_rnn(made, numbers, expected):
    assert lstm(made)[numbers].tolist() == expected


def test_parameters_of_rnn_by_the_name_of_an_initializer():
    assert lstm(init.FusedRNN("normal", 3, 1, "lstm"))[:96].std() == pytest.approx(0.01, rel=0.3)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_parameters_of_rnn_in_other_types(dtype):
    random.seed(3)
    first = lstm(init.FusedRNN(init.Uniform(0.1), 3, 1, "lstm"), dtype=dtype)
    random.seed(3)
    assert first.dtype == dtype and np.unique(first[:96]).size > 80
    np.testing.assert_array_equal(first, lstm(init.FusedRNN(init.Uniform(0.1), 3, 1, "lstm"), dtype=dtype))


def test_parameters_of_rnn_in_a_module():
    import rebind as mx

    parameters = mx.sym.var("p", init=init.FusedRNN(init.Orthogonal(1.0), 3, 1, "lstm", forget_bias=4.0))
    network = mx.sym.RNN(
        mx.sym.var("data"),
        parameters,
        mx.sym.var("state"),
        mx.sym.var("cell"),
        state_size=3,
        num_layers=1,
        mode="lstm",
    )
    made = mx.mod.Module(network, data_names=["data", "state", "cell"], label_names=None)
    shapes = {"data": (2, 2, 5), "state": (1, 2, 3), "cell": (1, 2, 3)}
    made.bind(
        [mx.io.DataDesc(name, shape, layout="TNC") for name, shape in shapes.items()], for_training=False
    )
    made.init_params(init.Zero())
    values = made.get_params()[0]["p"].asnumpy()
    gate = values[:15].reshape(3, 5)
    np.testing.assert_allclose(gate @ gate.T, np.eye(3), atol=1e-6)
    assert values[99:102].tolist() == [4, 4, 4]


@pytest.fixture
def path(tmp_path):
    path = str(tmp_path / "a.params")
    save(path, {"arg:fc_bias": array(np.ones(3)), "aux:mean": array(np.full(2, 2.0))})
    return path


@pytest.mark.parametrize(
    ("name", "shape", "value", "message"),
    [
        ("fc_bias", (3,), 1, "Initialized fc_bias by loading"),
        ("mean", (2,), 2, "Initialized mean by loading"),
        ("other_weight", (4, 6), 0, "Initialized other_weight by default"),
    ],
)
def test_load(path, caplog, name, shape, value, message):
    caplog.set_level(logging.INFO)
    load = init.Load(path, default_init=init.Zero(), verbose=True)
    assert np.all(filled(load, name, shape, attrs={}) == value)
    assert caplog.messages == [message]


def test_load_of_another_shape(path):
    with pytest.raises(ShapeError, match=r"'fc_bias' must have shape \(4,\); the loaded one has \(3,\)"):
        filled(init.Load(path), "fc_bias", (4,), attrs={})


def test_verbosity(caplog):
    caplog.set_level(logging.INFO)
    made = init.One().set_verbosity(True)
    filled(made, "fc_weight", attrs={})
    filled(made, "fc_weight", attrs={"__init__": "zeros"})
    made.set_verbosity(True, lambda arr: "shown")
    filled(init.Zero(), "fc_bias", attrs={}, global_init=made)
    assert caplog.messages == [
        "Initialized fc_weight as weight: 1.0",
        "Initialized fc_weight as zeros: 0.0",
        "Initialized fc_bias as bias: shown",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            (["bias"], init.Zero()),
            r"Mixed: initializers must be a list; got Zero\(\). Write Mixed\(\['.\*bias'",
        ),
        (("bias", [init.Zero()]), "Mixed: patterns must be a list; got 'bias'"),
        ((["a", "b"], [init.Zero()]), "an initializer for each pattern; got 2 patterns and 1 initializers"),
    ],
)
def test_mixed_takes_lists(arguments, says):
    with pytest.raises(ArgumentError, match=says):
        init.Mixed(*arguments)


# As in MXNet a number cannot be written into all of a csr array.
@pytest.mark.parametrize(
    ("made", "stype"),
    [
        *[(each, "row_sparse") for each in (init.Zero(), init.One())],
        *itertools.product((init.Uniform(), init.Normal(), init.Xavier()), ("row_sparse", "csr")),
    ],
)
def test_sparse_weights_start_as_dense_ones_do(made, stype):
    found = []
    for each in ("default", stype):
        random.seed(5)
        weight = zeros((4, 3), stype=each)
        made(InitDesc("w_weight"), weight)
        assert weight.stype == each
        found.append(weight.asnumpy())
    np.testing.assert_array_equal(*found)
