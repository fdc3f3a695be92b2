"""Update operators: memory, types, errors; and the rules behind them: each form is the same rule.

What they compute is compared with MXNet in tests/parity/test_updates.py.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import ArgumentError, DTypeError, ParameterError, ShapeError, StateError
from rebind.ops import all_operators
from rebind.ops import update as rules
from rebind.ops.update import lists
from rebind.ops.update.wrappers import select_good, skipping

nd = mx.nd

# By the rule: its states, and settings that use everything.
RULES = {
    "sgd": (0, {}),
    "sgd_momentum": (1, {"momentum": 0.9}),
    "nag": (1, {"momentum": 0.9}),
    "signum": (1, {"momentum": 0.9, "wd_lh": 0.01}),
    "adam": (2, {}),
    "adamw": (2, {"eta": 0.5}),
    "ftml": (3, {"t": 3}),
    "ftrl": (2, {"lamda1": 0.1}),
    "rmsprop": (1, {"clip_weights": 1.5}),
    "rmsprop_centered": (3, {"epsilon": 2.0, "clip_weights": 1.5}),
    "adagrad": (1, {}),
    "lamb": (2, {"t": 3, "lower_bound": 0.5, "upper_bound": 3.0}),
}
GRADIENT = {"rescale_grad": 0.5, "clip_gradient": 0.4}

# By the operator: how many arrays of one shape it takes (the weight first), arrays of other shapes, parameters.
OPERATORS = {
    "sgd_update": (2, (), {"lr": 0.1}),
    "sgd_mom_update": (3, (), {"lr": 0.1, "momentum": 0.9}),
    "nag_mom_update": (3, (), {"lr": 0.1, "momentum": 0.9}),
    "signsgd_update": (2, (), {"lr": 0.1}),
    "signum_update": (3, (), {"lr": 0.1, "momentum": 0.9}),
    "adam_update": (4, (), {"lr": 0.1}),
    "ftml_update": (5, (), {"lr": 0.1, "t": 2}),
    "ftrl_update": (4, (), {"lr": 0.1}),
    "rmsprop_update": (3, (), {"lr": 0.1}),
    "rmspropalex_update": (5, (), {"lr": 0.1, "epsilon": 2.0}),
    "_sparse_adagrad_update": (3, (), {"lr": 0.1}),
    "_adamw_update": (4, (0.5,), {"lr": 0.1, "eta": 0.5}),
    "lamb_update_phase2": (2, (1.5, 0.5), {"lr": 0.1}),
    "multi_sgd_update": (2, (), {"lrs": (0.1,), "wds": (0.1,)}),
    "multi_sgd_mom_update": (3, (), {"lrs": (0.1,), "wds": (0.1,), "momentum": 0.9}),
    "preloaded_multi_sgd_update": (2, (0.1, 0.1), {}),
    "_multi_adamw_update": (4, (0.5,), {"lrs": (0.1,), "wds": (0.1,), "etas": (1.0,)}),
    "_multi_lamb_update": (4, (), {"learning_rates": (0.1,), "wds": (0.1,), "step_count": (2,)}),
}


def operator(name):
    return getattr(nd._internal, name)


def arrays_for(name, shape=(3, 4), dtype="float32", seed=0):
    count, others, parameters = OPERATORS[name]
    random = np.random.default_rng(seed)
    drawn = [nd.array(random.uniform(0.2, 1.0, shape), dtype=dtype) for _ in range(count)]
    kind = dtype if name == "lamb_update_phase2" else "float32"
    return [*drawn, *(nd.array([value], dtype=kind) for value in others)], parameters


def some(count, seed=0, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    shapes = ((3, 4), (5,), ())[:count]
    return [torch.rand(shape, generator=generator, dtype=dtype) + 0.2 for shape in shapes]


def apply(name, *, lr, wd, count=2, dtype=torch.float64, **more):
    """Run a rule twice and return weights and states."""
    states, settings = RULES[name]
    lists = [some(count, seed, dtype) for seed in range(states + 2)]
    decay = {} if name == "group_adagrad" else {"wd": wd}
    for _ in range(2):
        getattr(rules, name)(*lists, lr=lr, **decay, **settings, **GRADIENT, **more)
    return [tensor for k, group in enumerate(lists) if k != 1 for tensor in group]


def assert_same(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, **tolerance)


@pytest.mark.parametrize("name", RULES)
def test_rates_may_be_lists_and_tensors(name):
    expected = apply(name, lr=0.1, wd=0.2)
    assert_same(apply(name, lr=[0.1, 0.1], wd=[0.2, 0.2]), expected)
    tensors = [torch.tensor(0.1, dtype=torch.float64)] * 2, [torch.tensor(0.2, dtype=torch.float64)] * 2
    assert_same(apply(name, lr=tensors[0], wd=tensors[1]), expected)


@pytest.mark.parametrize("name", RULES)
def test_each_weight_has_its_own_rate(name):
    together = apply(name, lr=[0.1, 0.3], wd=[0.2, 0.0])
    first, second = apply(name, lr=0.1, wd=0.2), apply(name, lr=0.3, wd=0.0)
    assert_same(together[::2], first[::2])
    assert_same(together[1::2], second[1::2])


@pytest.mark.parametrize("name", ["sgd_momentum", "adam"])
@pytest.mark.parametrize("wd", [0.0, 0.2])
def test_fused_is_foreach(name, wd, monkeypatch):
    fused = apply(name, lr=0.1, wd=wd, dtype=torch.float32)
    monkeypatch.setattr(lists, "can_fuse", lambda *groups: False)
    assert_same(apply(name, lr=0.1, wd=wd, dtype=torch.float32), fused, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", RULES)
def test_rules_leave_gradients_alone(name):
    states, settings = RULES[name]
    lists = [some(2, seed) for seed in range(states + 2)]
    getattr(rules, name)(*lists, lr=0.1, **settings, **GRADIENT, wd=0.1)
    assert_same(lists[1], some(2, 1), rtol=0, atol=0)


@pytest.mark.parametrize("name", RULES)
def test_rules_on_no_elements_and_without_axes(name):
    states, settings = RULES[name]
    lists = [[torch.ones(0, 3), torch.ones(())] for _ in range(states + 2)]
    getattr(rules, name)(*lists, lr=0.1, **settings)
    assert lists[0][0].shape == (0, 3)
    assert lists[0][1].shape == ()


@pytest.mark.parametrize("limit", [None, -1.0])
def test_nothing_is_cut_without_a_limit(limit):
    weight = [torch.zeros(1)]
    rules.sgd(weight, [torch.full((1,), 1e6)], lr=1.0, clip_gradient=limit)
    assert weight[0].item() == -1e6


def test_group_adagrad_is_adagrad_when_rows_have_one_element():
    lists, same = ([some(2, seed)[:1] for seed in range(3)] for _ in range(2))
    lists = [[group[0][:, :1].clone()] for group in lists]
    same = [[group[0].clone()] for group in lists]
    rules.group_adagrad(*lists, lr=0.1, epsilon=0.01)
    rules.adagrad(*same, lr=0.1, epsilon=0.01)
    assert_same(lists[0], same[0])


def test_lamb_takes_norms_of_half_precision_in_single():
    weights = [torch.full((4,), 300.0, dtype=torch.float16)]
    rest = [[torch.full((4,), 0.5, dtype=torch.float16)] for _ in range(3)]
    rules.lamb(weights, *rest, lr=0.01, t=1)
    torch.testing.assert_close(weights[0], torch.full((4,), 297.0, dtype=torch.float16))


@pytest.mark.parametrize("factor", [0.5, 0.0, float("inf"), float("nan")])
def test_a_factor_on_another_device_selects_what_a_look_at_it_would(factor):
    def run(function):
        lists = [some(2, seed) for seed in range(4)]
        lists[1][0][0, 0] = float("inf") if factor == 0 else 1.0
        function(*lists, lr=0.1, wd=0.1, eta=1.0)
        return [tensor for group in (lists[0], *lists[2:]) for tensor in group]

    array = torch.tensor([factor], dtype=torch.float64)
    looked = run(functools.partial(skipping, rules.adamw, array))
    assert_same(run(functools.partial(select_good, rules.adamw, array[0])), looked)
    if factor != 0.5:
        assert_same(looked, [tensor for seed in (0, 2, 3) for tensor in some(2, seed)], rtol=0, atol=0)


@pytest.mark.parametrize("name", OPERATORS)
def test_out_writes_into_the_memory_of_the_weight(name):
    arrays, parameters = arrays_for(name)
    weight, expected = arrays[0], operator(name)(*[a.copy() for a in arrays], **parameters)
    view, row, handle = weight.reshape((12,)), weight[1], weight.detach()
    pointers = [array.tensor.data_ptr() for array in arrays]
    tensors = [array.tensor for array in arrays]
    result = operator(name)(*arrays, **parameters, out=weight)
    assert result is weight
    assert [array.tensor.data_ptr() for array in arrays] == pointers
    assert [array.tensor for array in arrays] == tensors or all(
        a.tensor is t for a, t in zip(arrays, tensors, strict=True)
    )
    for array, shape in ((weight, (3, 4)), (view, (12,)), (handle, (3, 4))):
        np.testing.assert_array_equal(array.asnumpy(), expected.asnumpy().reshape(shape))
    np.testing.assert_array_equal(row.asnumpy(), expected.asnumpy()[1])


@pytest.mark.parametrize("name", OPERATORS)
def test_without_out_the_weight_stays(name):
    arrays, parameters = arrays_for(name)
    before = arrays[0].asnumpy()
    result = operator(name)(*arrays, **parameters)
    np.testing.assert_array_equal(arrays[0].asnumpy(), before)
    assert not np.array_equal(result.asnumpy(), before)
    assert result.tensor.data_ptr() != arrays[0].tensor.data_ptr()


@pytest.mark.parametrize("name", OPERATORS)
def test_another_out_gets_the_result(name):
    arrays, parameters = arrays_for(name)
    expected = operator(name)(*[a.copy() for a in arrays], **parameters)
    before, out = arrays[0].asnumpy(), nd.zeros((3, 4))
    operator(name)(*arrays, **parameters, out=out)
    np.testing.assert_array_equal(out.asnumpy(), expected.asnumpy())
    np.testing.assert_array_equal(arrays[0].asnumpy(), before)


def test_out_of_several_weights():
    weights, grads = [nd.ones((2,)), nd.ones((3,))], [nd.ones((2,)), nd.ones((3,))]
    given = [weights[0], grads[0], weights[1], grads[1]]
    settings = {"lrs": (0.5, 0.25), "wds": (0, 0), "num_weights": 2}
    pointers = [weight.tensor.data_ptr() for weight in weights]
    nd.multi_sgd_update(*given, **settings, out=weights)
    assert [weight.tensor.data_ptr() for weight in weights] == pointers
    assert [weight[0].asnumpy().tolist() for weight in weights] == [[0.5], [0.75]]
    swapped = [nd.zeros((3,)), nd.zeros((2,))]
    with pytest.raises(ShapeError, match="multi_sgd_update: out must have shape"):
        nd.multi_sgd_update(*given, **settings, out=swapped)


@pytest.mark.parametrize("name", OPERATORS)
def test_a_part_of_an_array_as_the_weight(name):
    (weight, *others), parameters = arrays_for(name)
    expected = operator(name)(weight, *[each.copy() for each in others], **parameters).asnumpy()
    whole = nd.ones((5, 4))
    part = whole[1:4]
    part[:] = weight
    operator(name)(part, *others, **parameters, out=part)
    np.testing.assert_array_equal(whole.asnumpy()[1:4], expected)
    assert whole.asnumpy()[[0, 4]].tolist() == [[1.0] * 4] * 2


def test_a_weight_with_a_gradient():
    weight = nd.ones((2,))
    weight.attach_grad()
    for _ in range(2):
        with mx.autograd.record():
            loss = (weight * weight).sum()
        loss.backward()
        nd.sgd_update(weight, weight.grad, lr=0.25, out=weight)
    assert weight.asnumpy().tolist() == [0.25, 0.25]
    with mx.autograd.record(), pytest.raises(StateError, match="would lose gradients"):
        nd.sgd_update(weight, weight.grad, lr=0.25, out=weight)


@pytest.mark.parametrize("name", OPERATORS)
def test_updates_are_not_recorded(name):
    (weight, *others), parameters = arrays_for(name)
    weight.attach_grad()
    with mx.autograd.record():
        result = operator(name)(weight, *others, **parameters)
    assert not result.tensor.requires_grad


def test_other_operators_with_out_as_input_write_in_place():
    data = nd.array([-1.0, 2.0])
    pointer = data.tensor.data_ptr()
    nd.relu(data, out=data)
    nd.elemwise_add(data, nd.ones((2,)), out=data)
    nd.elemwise_add(nd.ones((2,)), data, out=data)
    assert data.tensor.data_ptr() == pointer
    assert data.asnumpy().tolist() == [2.0, 4.0]
    left = nd.ones((2,))
    left.attach_grad()
    with mx.autograd.record():
        total = nd.zeros((2,))
        nd.elemwise_add(total, left * 3, out=total)
        total.sum().backward()
    assert left.grad.asnumpy().tolist() == [3.0, 3.0]


def test_states_of_a_bound_graph_are_written_in_place():
    symbol = mx.sym.sgd_mom_update(
        mx.sym.var("w"), mx.sym.var("g") * 2, mx.sym.var("m"), lr=0.5, momentum=0.5, name="u"
    )
    assert symbol.list_arguments() == ["w", "g"]
    assert symbol.list_auxiliary_states() == ["m"]
    assert symbol.infer_shape(w=(2, 3)) == ([(2, 3), (2, 3)], [(2, 3)], [(2, 3)])
    arguments, state = {"w": nd.ones((2,)), "g": nd.ones((2,))}, nd.zeros((2,))
    pointer = state.tensor.data_ptr()
    executor = symbol.bind(mx.cpu(), arguments, aux_states={"m": state})
    assert executor.forward()[0].asnumpy().tolist() == [0, 0]
    assert executor.forward(is_train=True)[0].asnumpy().tolist() == [-0.5, -0.5]
    assert state.tensor.data_ptr() == pointer
    assert state.asnumpy().tolist() == [-1.5, -1.5]
    assert arguments["w"].asnumpy().tolist() == [1, 1]


@pytest.mark.parametrize("loaded", [False, True], ids=["built", "loaded"])
def test_states_among_other_inputs(loaded):
    names = ["w0", "g0", "m0", "s0", "w1", "g1", "m1", "s1", "lrs", "wds"]
    symbol = mx.sym.preloaded_multi_mp_sgd_mom_update(*map(mx.sym.var, names), num_weights=2, name="u")
    if loaded:
        symbol = mx.sym.load_json(symbol.tojson())
    assert symbol.list_auxiliary_states() == ["m0", "s0", "m1", "s1"]
    assert symbol.list_arguments() == ["w0", "g0", "w1", "g1", "lrs", "wds"]
    assert symbol.list_outputs() == ["u_output0", "u_output1"]
    arguments, outputs, states = symbol.infer_shape(w0=(2, 3), w1=(4,))
    assert arguments == [(2, 3), (2, 3), (4,), (4,), (2,), (2,)]
    assert outputs == [(2, 3), (4,)]
    assert states == [(2, 3), (2, 3), (4,), (4,)]
    arguments, outputs, states = symbol.infer_type(w0="float16")
    assert [np.dtype(t).name for t in arguments] == ["float16"] * 4 + ["float32"] * 2
    assert {np.dtype(t).name for t in states} == {"float32"}
    assert {np.dtype(t).name for t in outputs} == {"float16"}


@pytest.mark.parametrize("name", OPERATORS)
def test_on_meta(name):
    op = mx.ops.find(name)
    arrays, parameters = arrays_for(name)
    p = op.parse(parameters)
    tensors = [array.tensor.to("meta") for array in arrays]
    assert op(*tensors, **op.signature.keywords(p)).shape == (3, 4)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float16", 1e-2), ("bfloat16", 8e-2)])
def test_types(name, dtype, tolerance):
    arrays, parameters = arrays_for(name)
    expected = operator(name)(*arrays, **parameters).asnumpy()
    arrays, _ = arrays_for(name, dtype=dtype)
    result = operator(name)(*arrays, **parameters)
    assert result.tensor.dtype is getattr(torch, dtype)
    np.testing.assert_allclose(result.astype("float32").asnumpy(), expected, tolerance, tolerance)


@pytest.mark.parametrize("name", OPERATORS)
def test_no_elements(name):
    arrays, parameters = arrays_for(name, shape=(0, 3))
    assert operator(name)(*arrays, **parameters).shape == (0, 3)


ONE, TWO, THREE = nd.ones((1,)), nd.ones((2,)), nd.ones((3,))
ERRORS = [
    (
        "sgd_update",
        (TWO, THREE),
        {"lr": 0.1},
        ShapeError,
        "grad must have the shape of weight, (2,); got (3,)",
    ),
    ("sgd_mom_update", (TWO, TWO, ONE), {"lr": 0.1}, ShapeError, "mom must have the shape of weight"),
    (
        "sgd_update",
        (nd.ones((2,), dtype="int32"),) * 2,
        {"lr": 0.1},
        DTypeError,
        "weight must be of a floating type; got int32",
    ),
    (
        "sgd_update",
        (TWO, TWO.astype("float16")),
        {"lr": 0.1},
        DTypeError,
        "grad must be of the type of weight",
    ),
    (
        "mp_sgd_update",
        (TWO.astype("float16"), TWO.astype("float16"), TWO.astype("float16")),
        {"lr": 0.1},
        DTypeError,
        "weight32 must be of type float32; got float16",
    ),
    ("sgd_update", (TWO, TWO), {}, ParameterError, "needs a value for lr (a float)"),
    ("ftml_update", (TWO,) * 5, {"lr": 0.1, "t": 0}, ParameterError, "t must be an int >= 1; got 0"),
    ("ftrl_update", (TWO,) * 4, {"lr": 0.1, "lamda1": -1}, ParameterError, "lamda1 must be a float >= 0"),
    ("_sparse_adagrad_update", (TWO,) * 3, {"lr": 0.1, "wd": 0.1}, ParameterError, "wd must be 0"),
    (
        "_contrib_group_adagrad_update",
        (TWO, TWO, THREE),
        {"lr": 0.1},
        ShapeError,
        "history must hold one number for each row of weight (2,); got shape (3,)",
    ),
    ("lamb_update_phase2", (TWO,) * 4, {"lr": 0.1}, ShapeError, "r1 must hold one number; got shape (2,)"),
    (
        "multi_sgd_update",
        (TWO, TWO, TWO),
        {"lrs": (0.1,), "wds": (0,)},
        ArgumentError,
        "num_weights=1 needs 2 arrays (weight, grad for each weight); got 3",
    ),
    (
        "multi_sgd_update",
        (TWO, TWO),
        {"lrs": (0.1, 0.2), "wds": (0,)},
        ParameterError,
        "lrs must hold 1 numbers, as num_weights says; got (0.1, 0.2)",
    ),
    (
        "multi_sgd_update",
        (TWO, TWO),
        {"lrs": (), "wds": (), "num_weights": 0},
        ParameterError,
        "num_weights must be an int >= 1; got 0",
    ),
    (
        "multi_sgd_update",
        (TWO, THREE),
        {"lrs": (0.1,), "wds": (0,)},
        ShapeError,
        "grad_0 must have the shape of weight_0, (2,); got (3,)",
    ),
    ("preloaded_multi_sgd_update", (TWO,) * 4, {}, ShapeError, "lrs must have shape (1,); got (2,)"),
    (
        "_adamw_update",
        (TWO, TWO, TWO, TWO, nd.array(np.zeros(0))),
        {"lr": 0.1, "eta": 1},
        ShapeError,
        "rescale_grad must hold a number",
    ),
]


@pytest.mark.parametrize(("name", "arrays", "parameters", "kind", "says"), ERRORS)
def test_errors(name, arrays, parameters, kind, says):
    with pytest.raises(kind) as caught:
        operator(name)(*arrays, **parameters)
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"{name}: ")


UPDATES = [op for op in all_operators() if "_update" in op.name]


def test_updates_are_found():
    assert len(UPDATES) > 30


@pytest.mark.parametrize("op", UPDATES, ids=lambda op: op.name)
def test_every_update_declares_what_it_writes(op):
    assert op.kernels.writes_aux
    assert op.kernels.writes_over != op.name.endswith("phase1")


def four(dtype="float32"):
    return [nd.full((2,), 0.5, dtype=dtype) if k < 2 else nd.full((2,), 0.5) for k in range(4)]


@pytest.mark.parametrize("factor", [0.5, np.float32(0.5), nd.array([0.5])])
def test_adamw_takes_its_factor_as_a_number(factor):
    expected = nd._internal._adamw_update(*four(), nd.array([0.5]), lr=0.1, eta=0.7, wd=0.2)
    found = nd.contrib.adamw_update(*four(), factor, lr=0.1, eta=0.7, wd=0.2)
    np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy())
    single = nd.contrib.multi_adamw_update(*([a] for a in four()), factor, [0.1], [0.2], [0.7])
    np.testing.assert_array_equal(single.asnumpy(), expected.asnumpy())
    halves = four("float16")
    mixed = nd.contrib.mp_adamw_update(*halves, nd.full((2,), 0.5), factor, lr=0.1, eta=0.7, wd=0.2)
    np.testing.assert_array_equal(mixed.asnumpy(), expected.astype("float16").asnumpy())
    lists = ([a] for a in [*four("float16"), nd.full((2,), 0.5)])
    several = nd.contrib.multi_mp_adamw_update(*lists, factor, [0.1], [0.2], [0.7])
    np.testing.assert_array_equal(several.asnumpy(), mixed.asnumpy())


def test_lamb_of_lists():
    expected = nd._internal._multi_lamb_update(*four(), learning_rates=(0.1,), wds=(0.2,), step_count=(2,))
    weights = four()
    found = nd.contrib.multi_lamb_update(*([a] for a in weights), [2], [0.1], [0.2], out=weights[:1])
    assert found[0] is weights[0]
    np.testing.assert_array_equal(weights[0].asnumpy(), expected.asnumpy())
    lists = ([a] for a in [*four("float16"), nd.full((2,), 0.5)])
    half = nd.contrib.multi_mp_lamb_update(*lists, [2], [0.1], [0.2], num_tensors=1)
    np.testing.assert_array_equal(half.asnumpy(), expected.astype("float16").asnumpy())


def test_adamw_symbols():
    inputs = [mx.sym.var(name) for name in ("w", "g", "m", "v")]
    symbol = mx.sym.contrib.adamw_update(*inputs, 0.5, lr=0.1, eta=0.7, wd=0.2, name="u")
    assert symbol.list_auxiliary_states() == ["m", "v"]
    arrays = dict(zip("wgmv", four(), strict=True))
    executor = symbol.bind(mx.cpu(), {k: arrays[k] for k in "wg"}, aux_states={k: arrays[k] for k in "mv"})
    expected = nd.contrib.adamw_update(*four(), 0.5, lr=0.1, eta=0.7, wd=0.2)
    np.testing.assert_array_equal(executor.forward()[0].asnumpy(), expected.asnumpy())
    mixed = mx.sym.contrib.mp_adamw_update(*inputs, mx.sym.var("s"), mx.sym.var("r"), lr=0.1, eta=1)
    assert mixed.list_auxiliary_states() == ["m", "v", "s"]
    assert mixed.list_arguments() == ["w", "g", "r"]


VARIABLES = [mx.sym.var(name) for name in "wgmv"]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: nd.contrib.multi_adamw_update([ONE], [ONE], [ONE], [ONE, ONE], 1.0, [0.1], [0.0], [1.0]),
            "must hold one number of arrays, at least one; got 1, 1, 1, 2",
        ),
        (
            lambda: nd.contrib.multi_lamb_update(*[[ONE]] * 4, [1], [0.1], [0.0], num_tensors=3),
            "must hold 3 arrays, as num_tensors says; got 1, 1, 1, 1",
        ),
        (
            lambda: nd.contrib.adamw_update(ONE, ONE, ONE, ONE, "x", lr=0.1, eta=1),
            "rescale_grad must be an NDArray or a number; got 'x'",
        ),
        (
            lambda: mx.sym.contrib.adamw_update(*VARIABLES, "x", lr=0.1, eta=1),
            "rescale_grad must be a Symbol or a number; got 'x'",
        ),
    ],
)
def test_errors_of_contrib(call, says):
    with pytest.raises(ArgumentError, match=says):
        call()


@pytest.mark.parametrize("space", [nd.contrib, mx.sym.contrib], ids=["nd", "sym"])
def test_missing_arguments_of_contrib(space):
    with pytest.raises(TypeError, match=r"adamw_update\(\) missing a required argument: 'weight'"):
        space.adamw_update()
