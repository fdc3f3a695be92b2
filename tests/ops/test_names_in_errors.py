"""An error names the operator as it was called, by any of its names, and the node: for every operator."""

import dataclasses

import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError, ShapeError
from rebind.ops import OPERATORS, Inference, Kernels
from rebind.params import REQUIRED

NODE = "the_node"
UNKNOWN = {"no_such_parameter": 1}
#: What some parameter of each kind accepts; a parameter takes the first that it does.
VALUES = (1, 0.5, (1, 1), "float32", True)

BUILT_BY_A_FRONT_END = {"_foreach", "_while_loop", "_cond"}  # they take graphs; see below
RESOLVED_BY_A_PARAMETER = {"Custom"}  # see below
WITHOUT_OUTPUT = {"reset_arrays"}  # no node of a symbol
CALLED = sorted(
    name for name, op in OPERATORS.items() if op.name not in BUILT_BY_A_FRONT_END | RESOLVED_BY_A_PARAMETER
)


def value_for(parameter):
    if parameter.type_text.startswith("one of "):
        return parameter.type_text.removeprefix("one of ").split(", ")[0].strip("'")
    for value in VALUES:
        try:
            parameter.parse(value)
        except MXNetError:
            continue
        return value
    raise AssertionError(f"no value for {parameter}")


def arguments_for(op):
    """Return the names of the inputs, and parameters that are allowed, whatever they do."""
    signature = op.signature
    given = {p.name: value_for(p) for p in signature.parameters.values() if p.default is REQUIRED}
    if signature.count:
        given[signature.count] = 1 if signature.fixed_names else 3
    p = dataclasses.replace(signature, check=None).parse(given)
    return signature.inputs_for(p) or ("arg0",) * signature.variadic, given, p


def assert_names(error, alias, node):
    assert (error.operator, error.called_as, error.node) == (OPERATORS[alias].name, alias, node)
    who = alias if node is None else f"{alias} {node!r}"
    assert str(error).startswith(f"{who}: ")
    assert not error.message.startswith(alias)  # once is enough


@pytest.mark.parametrize("alias", sorted(OPERATORS))
def test_a_parameter_that_there_is_not(alias):
    op = OPERATORS[alias]
    count = 1 if op.signature.variadic else len(op.signature.inputs)
    given = {"op_type": "not registered"} if op.name == "Custom" else UNKNOWN
    with pytest.raises(MXNetError) as caught:
        getattr(mx.nd._internal, alias)(*[mx.nd.ones((1,))] * count, **given)
    assert_names(caught.value, alias, None)
    with pytest.raises(MXNetError) as caught:
        getattr(mx.sym._internal, alias)(*[mx.sym.var(f"x{i}") for i in range(count)], name=NODE, **given)
    assert_names(caught.value, alias, NODE)
    if op.name != "Custom":
        assert caught.value.argument == "no_such_parameter"


@pytest.fixture(params=["rebind's error", "torch's error"])
def error(request):
    return ShapeError("it failed") if request.param.startswith("rebind") else RuntimeError("it failed")


def fails(op, p, error, on_meta):
    """Return kernels that fail: always, or not where shapes are inferred."""
    outputs = len(op.record.output_names(p)) + len(op.returned_aux)

    def function(*tensors, **keywords):
        device = keywords.get("device") or next((t.device for t in tensors if t is not None), None)
        if on_meta or device is None or torch.device(device).type != "meta":
            raise error
        made = tuple(torch.empty((1,), device="meta") for _ in range(outputs))
        return made if outputs > 1 else made[0]

    return Kernels(function, writes_aux=op.kernels.writes_aux, head_gradient=op.kernels.head_gradient)


@pytest.fixture
def broken(monkeypatch, error):
    """Return a function that puts a kernel that fails into an operator, and takes the rules out of it."""

    def break_(op, p, on_meta=False):
        monkeypatch.setattr(op, "kernels", fails(op, p, error, on_meta))
        monkeypatch.setattr(op, "inference", Inference())
        monkeypatch.setattr(op, "signature", dataclasses.replace(op.signature, check=None))
        monkeypatch.setattr(op, "shared", False)
        monkeypatch.setattr(op, "_parsed", {})  # what is parsed without the check is nobody's

    return break_


@pytest.mark.parametrize("alias", CALLED)
def test_a_kernel_that_fails_on_arrays(alias, broken):
    op = OPERATORS[alias]
    names, given, p = arguments_for(op)
    broken(op, p, on_meta=True)
    with pytest.raises(MXNetError, match="it failed") as caught:
        getattr(mx.nd._internal, alias)(*[mx.nd.ones((1,)) for _ in names], **given)
    assert_names(caught.value, alias, None)


def node_of(alias):
    """Return a symbol of one node, `NODE`, and its arguments and states."""
    op = OPERATORS[alias]
    names, given, p = arguments_for(op)
    wanted = op.signature.inputs_for(p, len(names))
    variables = [mx.sym.var(name) if name in wanted else None for name in names]
    return getattr(mx.sym._internal, alias)(*variables, name=NODE, **given)


@pytest.mark.parametrize("alias", [name for name in CALLED if name not in WITHOUT_OUTPUT])
def test_a_kernel_that_fails_in_a_graph(alias, broken):
    op = OPERATORS[alias]
    _, _, p = arguments_for(op)
    broken(op, p)
    symbol = node_of(alias)
    args, aux = (
        {name: mx.nd.ones((1,)) for name in names}
        for names in (symbol.list_arguments(), symbol.list_auxiliary_states())
    )
    executor = symbol.bind(mx.cpu(), args, aux_states=aux, grad_req="null")
    with pytest.raises(MXNetError, match="it failed") as caught:
        executor.forward()
    assert_names(caught.value, alias, NODE)


@pytest.mark.parametrize("alias", [name for name in CALLED if name not in WITHOUT_OUTPUT])
def test_a_kernel_that_fails_where_shapes_are_inferred(alias, broken):
    op = OPERATORS[alias]
    _, _, p = arguments_for(op)
    broken(op, p, on_meta=True)
    symbol = node_of(alias)
    with pytest.raises(MXNetError, match="it failed") as caught:
        symbol.infer_shape(**{name: (1,) for name in symbol.list_inputs()})
    assert_names(caught.value, alias, NODE)


@pytest.mark.parametrize("space", ["contrib", "image", "linalg", "sparse"])
def test_a_namespace_calls_an_operator_by_its_full_name(space):
    for kind, node in ((mx.nd, None), (mx.sym, NODE)):
        for short, function in vars(getattr(kind, space)).items():
            alias = f"_{space}_{short}"
            if OPERATORS.get(alias) is None or function.__module__ != kind.__name__:
                continue
            op = OPERATORS[alias]
            value = mx.nd.ones((1,)) if node is None else mx.sym.var("x")
            inputs = [value] * (1 if op.signature.variadic else len(op.signature.inputs))
            with pytest.raises(MXNetError) as caught:
                function(*inputs, **UNKNOWN, **({} if node is None else {"name": node}))
            assert_names(caught.value, alias, node)


def test_methods_name_what_was_called():
    with pytest.raises(MXNetError, match=r"^swapaxes: no parameter"):
        mx.nd.ones((2, 2)).swapaxes(**UNKNOWN)
    with pytest.raises(MXNetError, match=r"^swapaxes 's': no parameter"):
        mx.sym.var("x").swapaxes(name="s", **UNKNOWN)


def test_an_alias_survives_rewriting():
    x = mx.sym.Convolution_v1(mx.sym.var("x"), num_filter=3, kernel=(2, 2), no_bias=True, name="c")
    for symbol in (x, x(x=mx.sym.var("y")), x.__copy__(), mx.sym.load_json(x.tojson())):
        with pytest.raises(ShapeError, match=r"^Convolution_v1 'c': data must have 4 axes") as caught:
            symbol.infer_shape(**{symbol.list_arguments()[0]: (2, 3)})
        assert caught.value.inputs == () or "c_weight" in caught.value.inputs[1]
    renamed = mx.sym.contrib.SparseEmbedding(mx.sym.var("x"), input_dim=2, output_dim=2, name="e")
    with pytest.raises(ShapeError, match=r"^_contrib_SparseEmbedding 'e': weight"):
        renamed.infer_shape(x=(3,), e_weight=(5, 5))
    with pytest.raises(ShapeError, match=r"^_contrib_SparseEmbedding: "):
        mx.nd.contrib.SparseEmbedding(mx.nd.ones((2,)), mx.nd.ones((5, 5)), input_dim=2, output_dim=2)


def test_the_innermost_node_is_named():
    def body(slices, states):
        wrong = mx.sym.FullyConnected(slices, num_hidden=2, no_bias=True, name="inside")
        return wrong, states + slices

    outputs, _ = mx.sym.contrib.foreach(body, mx.sym.var("data"), mx.sym.var("total"))
    with pytest.raises(ShapeError, match=r"^FullyConnected 'inside': weight") as caught:
        outputs.infer_shape(data=(3, 2, 4), inside_weight=(2, 5))
    assert (caught.value.operator, caught.value.node) == ("FullyConnected", "inside")


def test_an_error_can_be_copied_to_another_process():
    import pickle

    error = ShapeError("data must have 4 axes", argument="data").locate("Pad", called_as="pad", node="p0")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.argument, again.node) == (str(error), "data", "p0")
