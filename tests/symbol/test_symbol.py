"""Symbols: composition, attributes, inference where rebind knows more, and mistakes."""

from __future__ import annotations

import copy
import logging
import pickle

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import NotImplementedForSymbol

S = mx.sym
VARIABLE_ATTRIBUTES = [
    ({"shape": (0, 3)}, {"__shape__": "(0, 3)"}),
    ({"shape": [2, 3]}, {"__shape__": "[2, 3]"}),
    ({"shape": (np.int64(2),)}, {"__shape__": "(2,)"}),
    ({"dtype": "float16"}, {"__dtype__": "2"}),
    ({"dtype": np.float64}, {"__dtype__": "1"}),
    ({"init": "zeros"}, {"__init__": "zeros"}),
    ({"init": mx.init.Normal(0.1)}, {"__init__": '["normal", {"sigma": 0.1}]'}),
    ({"lr_mult": 2.5}, {"__lr_mult__": "2.5", "lr_mult": "2.5"}),
    ({"wd_mult": 0}, {"__wd_mult__": "0", "wd_mult": "0"}),
    ({"stype": "row_sparse"}, {"__storage_type__": "1"}),
    ({"attr": {"ctx_group": "dev1"}}, {"__ctx_group__": "dev1", "ctx_group": "dev1"}),
    ({"attr": {"foo": "bar"}}, {"foo": "bar"}),
    ({"__foo__": "x"}, {"__foo__": "x"}),
]


def fc(**attributes) -> mx.Symbol:
    return S.FullyConnected(S.var("data"), num_hidden=5, name="fc", **attributes)


@pytest.mark.parametrize(
    ("given", "expected"), VARIABLE_ATTRIBUTES, ids=[str(g) for g, _ in VARIABLE_ATTRIBUTES]
)
def test_attributes_of_variables(given, expected) -> None:
    assert S.var("v", **given).attr_dict() == {"v": expected}


@pytest.mark.parametrize(
    ("given", "key", "value"),
    [
        ({"lr_mult": 2}, "lr_mult", "2"),
        ({"__lr_mult__": 2}, "lr_mult", "2"),
        ({"ctx_group": "x"}, "__ctx_group__", "x"),
        ({"attr": {"__a__": 1}}, "__a__", "1"),
        ({"__init__": "y"}, "__init__", "y"),
    ],
)
def test_attributes_of_operators_reach_their_parameters(given, key, value) -> None:
    shown = fc(**given).attr_dict()
    assert "data" not in shown
    assert [shown[name][key] for name in ("fc_weight", "fc_bias", "fc")] == [value] * 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("lr_mult", "2"),
        ("__lr_mult__", "2"),
        ("__mood__", "x"),
        ("no_bias", None),
        ("name", "fc"),
    ],
)
def test_set_attr(name, value) -> None:
    net = fc()
    net._set_attr(lr_mult="2", __mood__="x")
    assert net.attr(name) == value


def test_attributes_of_an_input_are_set_where_it_is() -> None:
    net = fc()
    net.get_internals()["fc_weight"]._set_attr(anything="1")
    assert net.attr_dict()["fc_weight"]["anything"] == "1"


def test_compose() -> None:
    net = fc()
    other = net(data=S.var("in"), name="other")
    assert other.list_arguments() == ["in", "fc_weight", "fc_bias"]
    assert other.list_outputs() == ["other_output"]
    assert net(S.var("in")).list_arguments()[0] == "in"
    assert net.list_arguments()[0] == "data"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies(copied) -> None:
    net = S.Group([fc(lr_mult=2), S.SliceChannel(S.var("x"), num_outputs=2, name="parts")])
    other = copied(net)
    assert other.tojson() == net.tojson()
    other[0]._set_attr(lr_mult="3")
    assert net[0].attr("lr_mult") == "2"


SPLITS = S.SliceChannel(S.var("x"), num_outputs=3, name="parts")
GROUP = S.Group([SPLITS, S.var("y")])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(lambda: len(SPLITS), 3, id="len"),
        pytest.param(lambda: [split.name for split in SPLITS], ["parts"] * 3, id="iteration"),
        pytest.param(lambda: SPLITS["parts_output1"].list_outputs(), ["parts_output1"], id="by-name"),
        pytest.param(lambda: SPLITS[-1].list_outputs(), ["parts_output2"], id="from-the-end"),
        pytest.param(lambda: len(SPLITS[0:2]), 2, id="slice"),
        pytest.param(lambda: GROUP.name, None, id="name-of-a-group"),
        pytest.param(lambda: repr(GROUP), "<Symbol group [parts, parts, parts, y]>", id="repr-of-a-group"),
        pytest.param(lambda: GROUP.get_children().list_outputs(), ["x"], id="children"),
        pytest.param(lambda: S.var("y").get_children(), None, id="children-of-a-variable"),
        pytest.param(lambda: S.Concat(*SPLITS).list_arguments(), ["x"], id="all-outputs-as-inputs"),
    ],
)
def test_outputs(found, expected) -> None:
    assert found() == expected


@pytest.mark.parametrize(
    ("infer", "expected"),
    [
        pytest.param(lambda x: fc().infer_shape((2, 3))[1], [(2, 5)], id="by-position"),
        pytest.param(
            lambda x: fc().infer_shape_partial(), ([(), (), (5,)], [()], []), id="bias-without-data"
        ),
        pytest.param(
            lambda x: S.Flatten(x).infer_shape_partial(x=(0, 4, 5))[1], [(0, 20)], id="unknown-batch-size"
        ),
        pytest.param(
            lambda x: S.var("v", shape=(0, 3)).infer_shape(v=(4, 5))[0], [(4, 5)], id="what-is-given-wins"
        ),
        pytest.param(
            lambda x: S.var("v", shape=(-1, 3)).infer_shape_partial()[0], [(0, 3)], id="minus-one-is-unknown"
        ),
        pytest.param(
            lambda x: S.BatchNorm(x, name="b").infer_type(x="float64")[2], [np.float64] * 2, id="states"
        ),
        # of which only a run of the operator shows the type
        pytest.param(
            lambda x: S._internal._plus_scalar(x, scalar=1.5, is_int=False).infer_type(x="int32")[1],
            [np.float64],
            id="fraction-added-to-integers",
        ),
        pytest.param(
            lambda x: S.amp_cast(x, dtype="float16").infer_type(x="float32")[1], [np.float16], id="cast"
        ),
        pytest.param(
            lambda x: S.amp_cast(x, dtype="float16").infer_type(x="int32")[1],
            [np.int32],
            id="cast-of-integers",
        ),
    ],
)
def test_inference_knows_more_than_mxnet(infer, expected) -> None:
    assert infer(S.var("x")) == expected


@pytest.mark.parametrize(
    ("infer", "says"),
    [
        (mx.sym.Symbol.infer_shape, "cannot infer the shapes of data, fc_weight"),
        (mx.sym.Symbol.infer_type, "cannot infer the types of data"),
    ],
)
def test_what_does_not_follow_is_logged(caplog, infer, says) -> None:
    with caplog.at_level(logging.WARNING):
        assert infer(fc()) == (None, None, None)
    assert says in caplog.text


@pytest.mark.parametrize(
    ("compute", "scalar"),
    [
        (lambda x: x + np.float32(0.1), "0.1"),
        (lambda x: x + True, "1"),
        (lambda x: np.float32(2) * x, "2.0"),
    ],
)
def test_numbers_in_attributes(compute, scalar) -> None:
    assert compute(S.var("x")).attr("scalar") == scalar


def test_numbers_in_parameters_are_those_of_a_file() -> None:
    node = (S.var("x") * np.float32(0.1)).graph.outputs[0].node
    assert node.params.scalar == 0.1  # not that of the float32, 0.10000000149


@pytest.mark.parametrize(
    ("symbol", "shape"),
    [
        (S.random.randn(2, 3), (2, 3)),
        (S.random.negative_binomial(2, 0.5, shape=(4,)), (4,)),
        (S.random.normal_like(S.var("x")), (5,)),
        (S.random.shuffle(S.var("x")), (5,)),
    ],
)
def test_random_symbols_draw(symbol, shape) -> None:
    given = {"x": mx.nd.ones((5,))} if symbol.list_arguments() else {}
    assert symbol.eval(**given)[0].shape == shape


# MXNet 1.9.1 composes each of them, without an argument.
@pytest.mark.parametrize(
    ("compose", "key"),
    [
        (lambda x: S.random.randn(2, 3, data=x), "data"),
        (lambda x: S.random.uniform(shape=(2, 3), data=x), "data"),
        (lambda x: S.random.exponential(1, shape=(2, 3), foo=x), "foo"),
        (lambda x: S.zeros((2, 3), foo=x), "foo"),
    ],
)
def test_operators_without_inputs_ignore_symbols(compose, key) -> None:
    with pytest.warns(UserWarning, match=f"takes no symbols; {key} is ignored, as in MXNet"):
        symbol = compose(S.var("x"))
    assert symbol.list_arguments() == []
    assert symbol.infer_shape()[1] == [(2, 3)]


@pytest.mark.parametrize(
    ("compose", "kind", "says"),
    [
        (
            lambda x: S.zeros((2, 3), foo=S.Group([x, x * 2])),
            TypeError,
            "_zeros '_zeros0': foo must be a symbol with one output; .* has 2",
        ),
        (lambda x: S.zeros(shape=x), TypeError, "_zeros '_zeros0': shape must be"),
        (
            lambda x: S.zeros_like(x, dat=x),
            ValueError,
            "zeros_like 'zeros_like0': no input 'dat'; did you mean 'data'\\? Inputs: data.",
        ),
        (lambda x: S.exp(x, __weight__=x), ValueError, "exp 'exp0': no input '__weight__'. Inputs: data."),
        (
            lambda x: S.Convolution(x, x, x, kernel=(1, 1), num_filter=1, no_bias=True, name="c"),
            ValueError,
            "Convolution 'c': takes no bias with these parameters, only data, weight; got <Symbol x>",
        ),
        (lambda x: S.clip(x, 0, 1, a=x), ValueError, "clip 'clip0': no input 'a'. Inputs: data."),
    ],
)
def test_other_symbols_among_the_keywords_are_refused(compose, kind, says) -> None:
    with mx.name.NameManager(), pytest.raises(kind, match=says):
        compose(S.var("x"))


@pytest.mark.parametrize(
    ("mistake", "kind", "says"),
    [
        (
            lambda x: S.FullyConnected(x),
            ValueError,
            "FullyConnected 'fullyconnected0': needs a value for num_hidden (an int >= 1)",
        ),
        (lambda x: S.FullyConnected(x, num_hiden=3), ValueError, "did you mean 'num_hidden'?"),
        (lambda x: S.FullyConnected(x, num_hidden="abc"), ValueError, "num_hidden must be an int >= 1; got 'abc'"),
        (lambda x: S.FullyConnected(3, num_hidden=3), TypeError, "data must be of class Symbol; got 3"),
        (lambda x: S.FullyConnected(x, weights=x, num_hidden=3), ValueError, "did you mean 'weight'?"),
        (lambda x: S.Activation(x, act_type="rely"), ValueError, "act_type must be one of 'relu'"),
        (lambda x: S.Convolution(x, kernel="(3,", num_filter=1), ValueError, "kernel must be a tuple of ints"),
        (lambda x: S.Concat(), TypeError, "Concat 'concat0': needs at least one Symbol"),
        (lambda x: S.relu(S.Group([x, x])), TypeError, "one output"),
        (lambda x: S.Group([]), TypeError, "list of symbols"),
        (lambda x: S.Group([x, 3]), TypeError, "list of symbols"),
        (lambda x: S.var(3), TypeError, "name must be a string"),
        (lambda x: S.var("v", foo="x"), ValueError, "begin and end with two underscores"),
        (lambda x: S.var("v", attr={"x": 1}), ValueError, "must be a string"),
        (lambda x: S.var("v", stype="x"), ValueError, "stype must be one of"),
        (lambda x: S.maximum(x, "a"), TypeError, "must be symbols or numbers"),
        (lambda x: x + "a", TypeError, "unsupported operand"),
        (lambda x: x + None, TypeError, "unsupported operand"),
        (lambda x: x + np.ones(2), TypeError, "takes symbols and numbers; got a NumPy array"),
        (lambda x: np.ones(2) + x, TypeError, "takes symbols and numbers; got a NumPy array"),
        (lambda x: x + mx.nd.ones((1,)), TypeError, "unsupported operand"),
        (lambda x: bool(x), NotImplementedForSymbol, "no truth value"),
        (lambda x: x[1], IndexError, "must be below 1; got 1"),
        (lambda x: x["y"], ValueError, "no output 'y'"),
        (lambda x: x[1.5], TypeError, "a number, a name or a slice"),
        (lambda x: x(y=x), ValueError, "no argument 'y'"),
        (lambda x: x(x, x=x), TypeError, "by position or by name, not both"),
        (lambda x: x._set_attr(a=1), ValueError, "must be a string"),
        (lambda x: fc()._set_attr(num_hidden="3"), ValueError, "Parameters of an operator cannot be changed"),
        (lambda x: S.Group([x, x + 1])._set_attr(a="1"), TypeError, "choose one"),
        (lambda x: x.infer_shape(y=(2,)), ValueError, "no argument 'y'. Arguments: x."),
        (lambda x: x.infer_shape((2,), x=(2,)), ValueError, "by position or by name"),
        (lambda x: x.infer_shape(x="ab"), ValueError, "must be an int or a sequence of ints"),
        (lambda x: x.infer_type(x="floatx"), TypeError, "did you mean"),
        (
            lambda x: fc().infer_shape(data=(2, 3), fc_weight=(5, 4)),
            ValueError,
            "FullyConnected 'fc': weight ('fc_weight') must have shape (5, 3) to match data (2, 3); got (5, 4)",
        ),
        (
            lambda x: S.elemwise_add(x, S.var("y"), name="sum").infer_shape(x=(2, 3), y=(3, 2)),
            ValueError,
            "elemwise_add 'sum': rhs must have the shape of lhs, (2, 3); got (3, 2). "
            "Inputs: lhs ('x') (2, 3), rhs ('y') (3, 2)",
        ),
        (
            lambda x: S.Convolution(x, kernel=(3, 3), num_filter=1, name="c").infer_shape(x=(2, 3)),
            ValueError,
            "Convolution 'c': data must have 4 axes",
        ),
        (
            lambda x: S.elemwise_add(x, S.var("y"), name="sum").infer_type(x="int32", y="float32"),
            TypeError,
            "elemwise_add 'sum': rhs must be of the type of lhs, int32; got float32",
        ),
        (lambda x: S.load_json(3), TypeError, "must be a string"),
    ],
)  # fmt: skip
def test_mistake(mistake, kind, says) -> None:
    with mx.name.NameManager(), pytest.raises(kind) as caught:
        mistake(S.var("x"))
    assert says in str(caught.value)
    assert isinstance(caught.value, mx.MXNetError) or "unsupported operand" in says


def test_many_variables_of_unknown_type_are_bound_in_the_default_type() -> None:
    net = S.Cast(S.var("a"), dtype="float16") + S.var("b")
    executor = net.simple_bind(mx.cpu(), a=(2,))
    assert [executor.arg_dict[name].tensor.dtype for name in "ab"] == [torch.float32, torch.float16]


@pytest.mark.parametrize(
    "name",
    ["as_in_context", "asnumpy", "asscalar", "backward", "copy", "detach", "gradient", "wait_to_read"],
)
def test_what_only_arrays_can_do_says_so(name: str) -> None:
    with pytest.raises(
        NotImplementedForSymbol, match=rf"Symbol\.{name}: only an array can do this; 'x' has no values"
    ):
        getattr(mx.sym.var("x"), name)()
