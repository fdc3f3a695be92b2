"""An error names the operator as it was called, by any of its names, and the node: for every operator."""

import contextlib
import dataclasses

import pytest
import torch

import rebind as mx
from rebind.errors import MXNetError, ShapeError, UserCodeError
from rebind.ops import OPERATORS, Inference, Kernels, storage_types
from rebind.ops.control_flow import RUNNERS
from rebind.ops.custom import CUSTOM_OPERATORS
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


def bad_call(op):
    """Return keywords that the operator refuses: those without parameters take any, but no array twice."""
    if op.name == "Custom":
        return {"op_type": "not registered"}
    return {op.signature.input_names[0]: 1} if op.signature.takes_any else UNKNOWN


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


def assert_names(error, alias, node, registered=None):
    assert (error.operator, error.called_as, error.node) == (OPERATORS[registered or alias].name, alias, node)
    who = alias if node is None else f"{alias} {node!r}"
    assert str(error).startswith(f"{who}: ")
    assert not error.message.startswith(alias)  # once is enough


@pytest.mark.parametrize("alias", sorted(OPERATORS))
def test_a_parameter_that_there_is_not(alias):
    op = OPERATORS[alias]
    count = 1 if op.signature.variadic else len(op.signature.inputs)
    given = bad_call(op)
    with pytest.raises(MXNetError) as caught:
        getattr(mx.nd._internal, alias)(*[mx.nd.ones((1,))] * count, **given)
    assert_names(caught.value, alias, None)
    with pytest.raises(MXNetError) as caught:
        getattr(mx.sym._internal, alias)(*[mx.sym.var(f"x{i}") for i in range(count)], name=NODE, **given)
    assert_names(caught.value, alias, NODE)
    if given is UNKNOWN:
        assert caught.value.argument == "no_such_parameter"


@pytest.mark.parametrize("alias", sorted(OPERATORS))
def test_an_automatic_name_of_a_node_that_cannot_be_made(alias):
    op = OPERATORS[alias]
    count = 1 if op.signature.variadic else len(op.signature.inputs)
    given = bad_call(op)
    inputs = [mx.sym.var(f"x{i}") for i in range(count)]
    with mx.name.NameManager():
        for number in range(2):  # as in MXNet, a call that fails uses its name up
            with pytest.raises(MXNetError) as caught:
                getattr(mx.sym._internal, alias)(*inputs, **given)
            assert_names(caught.value, alias, f"{alias.lower()}{number}")


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
        # Kernels for storage types have a test of their own.
        monkeypatch.setitem(storage_types._KERNELS, op.name, [])
        monkeypatch.setattr(op, "inference", Inference())
        monkeypatch.setattr(op, "_signature", dataclasses.replace(op.signature, check=None))
        monkeypatch.setattr(op, "shared", False)
        monkeypatch.setattr(op, "_parsed", {})  # what is parsed without the check is nobody's

    return break_


@pytest.mark.parametrize("recording", [False, True])
def test_a_kernel_for_storage_types_that_fails(recording, monkeypatch, error):
    def function(*storages, **keywords):
        raise error

    kernel = storage_types.StorageKernel(("csr",), ("csr",), function, gradient=function)
    monkeypatch.setitem(storage_types._KERNELS, "square", [kernel])
    x = mx.nd.ones((1, 1)).tostype("csr")
    x.attach_grad()
    block = mx.autograd.record() if recording else contextlib.nullcontext()
    with block, pytest.raises(MXNetError, match="it failed") as caught:
        mx.nd.square(x)
    assert_names(caught.value, "square", None)
    executor = mx.sym.square(mx.sym.var("x", stype="csr"), name=NODE).bind(mx.cpu(), {"x": x})
    with pytest.raises(MXNetError, match="it failed") as caught:
        executor.forward()
    assert_names(caught.value, "square", NODE)


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


def bound(symbol, grad_req="null"):
    """Return an executor with arrays of one element, whatever the operators would infer."""
    args, aux = (
        {name: mx.nd.ones((1,)) for name in names}
        for names in (symbol.list_arguments(), symbol.list_auxiliary_states())
    )
    grads = {name: mx.nd.zeros((1,)) for name in args}
    return symbol.bind(mx.cpu(), args, grads, grad_req, aux)


@pytest.mark.parametrize("alias", [name for name in CALLED if name not in WITHOUT_OUTPUT])
def test_a_kernel_that_fails_in_a_graph(alias, broken):
    op = OPERATORS[alias]
    _, _, p = arguments_for(op)
    broken(op, p)
    executor = bound(node_of(alias))
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


@pytest.mark.parametrize("alias", [name for name in CALLED if OPERATORS[name].kernels.gradient is not None])
@pytest.mark.parametrize("is_output", [True, False], ids=["an output", "among others"])
def test_a_declared_gradient_that_fails(alias, is_output, error, broken, monkeypatch):
    op = OPERATORS[alias]
    _, _, p = arguments_for(op)

    def first(data, *others, **keywords):
        made = [data.clone() for _ in op.record.output_names(p)]
        return tuple(made) if len(made) > 1 else made[0]

    def rule(p, inputs, outputs, head_grads):
        raise error

    broken(op, p)
    kernels = dataclasses.replace(op.kernels, function=first, gradient=rule)
    monkeypatch.setattr(op, "kernels", kernels)
    symbol = node_of(alias) if is_output else mx.sym.exp(node_of(alias)[0])
    executor = bound(symbol, grad_req="write")
    outputs = executor.forward(is_train=True)
    with pytest.raises(MXNetError, match="it failed") as caught:
        executor.backward([mx.nd.ones(output.shape) for output in outputs])
    assert_names(caught.value, alias, NODE)


class Fails(mx.operator.CustomOp):
    """Fails in the function that `where` names."""

    def __init__(self, where):
        self.where = where

    def forward(self, is_train, req, in_data, out_data, aux):
        if self.where == "forward":
            raise RuntimeError("it failed")
        self.assign(out_data[0], req[0], in_data[0])

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        raise RuntimeError("it failed")


class FailsProp(mx.operator.CustomOpProp):
    def __init__(self, where):
        super().__init__()
        self.where = where

    def infer_shape(self, in_shape):
        if self.where == "infer_shape":
            raise RuntimeError("it failed")
        return super().infer_shape(in_shape)

    def create_operator(self, ctx, in_shapes, in_dtypes):
        if self.where == "create_operator":
            raise RuntimeError("it failed")
        return Fails(self.where)


@pytest.fixture
def fails_where():
    """Return a function that makes the node of a custom operator that fails in one of the user's functions."""
    mx.operator.register("fails")(FailsProp)
    yield lambda where, x: mx.sym.Custom(x, op_type="fails", where=where, name=NODE)
    del CUSTOM_OPERATORS["fails"]


def looped(body):
    """Return a loop of one step around a function of one symbol."""
    outputs, _ = mx.sym.contrib.foreach(lambda x, state: (body(x), state), mx.sym.var("x"), mx.sym.var("s"))
    return outputs


#: Where the custom operator is.
NESTED = {
    "alone": lambda make: make(mx.sym.var("x")),
    "among others": lambda make: mx.sym.exp(make(mx.sym.tanh(mx.sym.var("x")))),
    "in foreach": looped,
    "in foreach in foreach": lambda make: looped(
        lambda x: mx.sym.contrib.foreach(lambda y, s: (make(y), s), mx.sym.reshape(x, shape=(1, 1)), x)[0]
    ),
    "in while_loop": lambda make: mx.sym.contrib.while_loop(
        lambda x: mx.sym.sum(x) < 5, lambda x: (make(x), x + 9), mx.sym.var("x"), max_iterations=2
    )[0][0],
    "in cond": lambda make: mx.sym.contrib.cond(
        mx.sym.var("x") > 0, lambda: make(mx.sym.var("x")), lambda: mx.sym.var("x")
    ),
}


@pytest.mark.parametrize("where", ["infer_shape", "create_operator", "forward", "backward"])
@pytest.mark.parametrize("nested", NESTED)
def test_a_custom_operator_that_fails(where, nested, fails_where):
    symbol = NESTED[nested](lambda x: fails_where(where, x))
    with pytest.raises(MXNetError, match=rf"^Custom '{NODE}': operator 'fails': {where} failed") as caught:
        executor = symbol.simple_bind(
            mx.cpu(), grad_req="write", x=(1,), **({"s": (1,)} if "foreach" in nested else {})
        )
        for array in executor.arg_arrays:
            array[:] = 1
        executor.forward(is_train=True)
        executor.backward([mx.nd.ones(output.shape) for output in executor.outputs])
    assert isinstance(caught.value, UserCodeError)
    assert (caught.value.operator, caught.value.called_as, caught.value.node) == ("Custom", "Custom", NODE)


@pytest.mark.parametrize("where", ["create_operator", "forward", "backward"])
def test_a_custom_operator_that_fails_on_arrays(where, fails_where):
    x = mx.nd.ones((1,))
    x.attach_grad()
    with pytest.raises(UserCodeError, match=rf"^Custom: operator 'fails': {where} failed") as caught:
        with mx.autograd.record():
            y = mx.nd.Custom(x, op_type="fails", where=where)
        y.backward()
    assert_names(caught.value, "Custom", None)


LOOPS = {"_foreach": "in foreach", "_while_loop": "in while_loop", "_cond": "in cond"}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_that_fails(name, error, monkeypatch):
    def runner(*anything):
        raise error

    monkeypatch.setitem(RUNNERS, name, runner)
    called_as = name.replace("_", "contrib.", 1)
    with mx.name.NameManager():
        symbol = NESTED[LOOPS[name]](mx.sym.exp)
    executor = bound(symbol)
    with pytest.raises(MXNetError, match="it failed") as caught:
        executor.forward()
    assert_names(caught.value, called_as, f"{name}0", name)


IN_NAMESPACES = [
    (f"{space}.{name.removeprefix(f'_{space}_')}", name)
    for space in ("contrib", "image", "linalg", "sparse")
    for name in sorted(OPERATORS)
    if name.startswith(f"_{space}_")
]


@pytest.mark.parametrize(("called_as", "registered"), IN_NAMESPACES, ids=[row[0] for row in IN_NAMESPACES])
@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_a_namespace_names_the_call(front, called_as, registered):
    """``nd.contrib.quantize`` is ``contrib.quantize`` in errors, not ``_contrib_quantize``."""
    space, _, short = called_as.partition(".")
    op = OPERATORS[registered]
    count = 1 if op.signature.variadic else len(op.signature.inputs)
    if front is mx.nd:
        inputs, given, node = [mx.nd.ones((1,))] * count, bad_call(op), None
    else:
        inputs, given, node = [mx.sym.var("x")] * count, {**bad_call(op), "name": NODE}, NODE
    with pytest.raises(MXNetError) as caught:
        getattr(getattr(front, space), short)(*inputs, **given)
    assert_names(caught.value, called_as, node, registered)


#: Functions that are no plain front of one operator: what to call them with, and the operator that refuses it.
MADE_OTHERWISE = {
    "random.uniform": (lambda f, x: f(shape="wide"), "_random_uniform"),
    "random.normal": (lambda f, x: f(x, x, shape="wide"), "_sample_normal"),
    "random.randn": (lambda f, x: f(-2), "_random_normal"),
    "random.poisson_like": (lambda f, x: f(x, **UNKNOWN), "_random_poisson_like"),
    "random.shuffle": (lambda f, x: f(3), "_shuffle"),
    "random.multinomial": (lambda f, x: f(x, **UNKNOWN), "_sample_multinomial"),
    "contrib.adamw_update": (lambda f, x: f(x, x, x, x, x, lr="fast", eta=1), "_adamw_update"),
}


@pytest.mark.parametrize("name", MADE_OTHERWISE)
@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_a_function_written_by_hand_names_the_call(front, name):
    call, registered = MADE_OTHERWISE[name]
    space, _, short = name.partition(".")
    x = mx.nd.ones((1,)) if front is mx.nd else mx.sym.var("x")
    with mx.name.NameManager(), pytest.raises(MXNetError) as caught:
        call(getattr(getattr(front, space), short), x)
    assert caught.value.operator == OPERATORS[registered].name
    assert caught.value.called_as == name
    assert (caught.value.node is None) == (front is mx.nd)


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
    with pytest.raises(ShapeError, match=r"^contrib.SparseEmbedding 'e': weight"):
        renamed.infer_shape(x=(3,), e_weight=(5, 5))
    with pytest.raises(ShapeError, match=r"^contrib.SparseEmbedding: "):
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
