"""The pure form of each optimizer: it is the update in place, and a compiler takes it whole, once for all rates."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from rebind import random
from rebind.draws import derive
from rebind.errors import ParameterError, StateError
from rebind.generators import step_seed
from rebind.lr_scheduler import FactorScheduler
from rebind.ndarray import NDArray
from rebind.optimizer import SGD, SGLD, Optimizer, Updater, create

from .samples import FORMS, make, some_tensors, wrap

STEPS = 5
INDEX = [0, 1, 2, 3]
NAMES = {0: "a_weight", 1: "a_bias", 2: "b_weight", 3: "b_gamma"}
SCALINGS = {
    "plain": {},
    "all": {"rescale_grad": 0.5, "clip_gradient": 0.4, "clip_global_norm": 1.0, "begin_num_update": 3},
}


@pytest.fixture(autouse=True)
def draws_from_seeds(monkeypatch):
    """An update in place draws from a generator, the pure form from a seed; here both from a seed."""

    def sources(self, weights):
        seed = step_seed()
        return [derive(seed, k) for k in range(len(weights))]

    monkeypatch.setattr(SGLD, "sources", sources)


def configured(name, **settings):
    """Make an optimizer with a schedule and multipliers, so that each step and each weight has its own rate."""
    made = make(name, param_idx2name=NAMES, lr_scheduler=FactorScheduler(2, 0.5, base_lr=0.1), **settings)
    made.set_lr_mult({"b_weight": 0.5})
    return made


def grads_of(step, dtype=torch.float32):
    return [torch.cos(each * (step + 1)).to(dtype) for each in some_tensors()]


def in_place(made, dtype, steps=STEPS):
    """Return weights and states after some updates in place."""
    random.seed(3)
    updater, weights = Updater(made), wrap(some_tensors(dtype))
    for step in range(steps):
        updater(INDEX, wrap(grads_of(step, dtype)), weights)
    return [each.tensor for each in weights], updater.states, updater


def purely(made, dtype, compiled=None, steps=STEPS):
    """Return the same by the pure function: weights, and states written back into arrays."""
    random.seed(3)
    updater, arrays = Updater(made), wrap(some_tensors(dtype))
    states = updater.states_of(INDEX, arrays)
    part = made.update_part(INDEX)
    run = part if compiled is None else compiled(part)
    for step in range(steps):
        weights = [each.tensor for each in arrays]
        trees = [made.step_state(i, w, s) for i, w, s in zip(INDEX, arrays, states, strict=True)]
        new_weights, new_states = run(weights, grads_of(step, dtype), trees, made.rates(INDEX))
        for i, array, weight, state, new in zip(INDEX, arrays, new_weights, states, new_states, strict=True):
            array.tensor.copy_(weight)
            made.write_step_state(i, state, new)
    return [each.tensor for each in arrays], updater.states, updater


def leaves(state):
    if isinstance(state, (list, tuple)):
        return [leaf for each in state for leaf in leaves(each)]
    return [state.tensor] if isinstance(state, NDArray) else []


def assert_same(found, expected, dtype=torch.float32, rtol=2e-6):
    """Compare weights and states; a weight of low precision is a rounded master, at the border of two numbers."""
    low = dtype in (torch.float16, torch.bfloat16)
    torch.testing.assert_close(found[0], expected[0], rtol=1e-2 if low else rtol, atol=1e-3 if low else 1e-6)
    for i in INDEX:
        for one, other in zip(leaves(found[1][i]), leaves(expected[1][i]), strict=True):
            assert one.dtype is other.dtype
            torch.testing.assert_close(one, other, rtol=max(rtol, 1e-5) if low else rtol, atol=1e-6)
    assert found[2].optimizer._index_update_count == expected[2].optimizer._index_update_count


@pytest.mark.parametrize(("name", "settings"), FORMS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("scaling", SCALINGS)
def test_pure_is_in_place(name, settings, dtype, scaling):
    settings = {**settings, **SCALINGS[scaling], "multi_precision": True}
    expected = in_place(configured(name, **settings), dtype)
    assert_same(purely(configured(name, **settings), dtype), expected, dtype)


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_after_the_pure_form_updates_in_place_continue(name, settings):
    """Counts, sums and states are then where an update in place has them."""
    expected = in_place(configured(name, **settings), torch.float32, steps=3)
    weights, _, updater = purely(configured(name, **settings), torch.float32, steps=2)
    arrays = wrap(weights)
    updater(INDEX, wrap(grads_of(2)), arrays)
    assert_same(([each.tensor for each in arrays], updater.states, updater), expected)


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_nothing_given_is_written(name, settings):
    made = configured(name, clip_gradient=0.1, clip_global_norm=0.1, **settings)
    arrays = wrap(some_tensors())
    states = Updater(made).states_of(INDEX, arrays)
    trees = [made.step_state(i, w, s) for i, w, s in zip(INDEX, arrays, states, strict=True)]
    grads = grads_of(0)
    before = [tensor.clone() for tensor in (*grads, *leaves(states))]
    for _ in range(2):
        made.update_part(INDEX)([each.tensor for each in arrays], grads, trees, made.rates(INDEX))
    for found, expected in zip([*grads, *leaves(states)], before, strict=True):
        assert torch.equal(found, expected)
    for found, expected in zip(arrays, some_tensors(), strict=True):
        assert torch.equal(found.tensor, expected)


@pytest.mark.parametrize(("name", "settings"), FORMS)
def test_ten_rates_and_counts_are_compiled_once(name, settings):
    """`fullgraph`: a value that is read into Python would be an error."""
    torch._dynamo.reset()
    settings = {**settings, **SCALINGS["all"], "multi_precision": True}
    counter = CompileCounter()

    def compiled(part):
        return torch.compile(part, fullgraph=True, backend=counter, dynamic=False)

    found = purely(configured(name, **settings), torch.float32, compiled, steps=10)
    assert counter.frame_count == 1
    assert_same(found, in_place(configured(name, **settings), torch.float32, steps=10), rtol=1e-5)


def test_settings_that_change_between_steps_are_rates():
    torch._dynamo.reset()
    made, counter = SGD(learning_rate=0.1, wd=0.1), CompileCounter()
    run = torch.compile(made.update_part([0]), fullgraph=True, backend=counter, dynamic=False)
    for lr, wd, rescale in [(0.1, 0.1, 1.0), (0.2, 0.3, 0.5), (0.0, 0.0, 0.0)]:
        made.lr, made.wd, made.rescale_grad = lr, wd, rescale
        ((weight,), _) = run([torch.ones(2)], [torch.ones(2)], [None], made.rates([0]))
        torch.testing.assert_close(weight, torch.full((2,), 1 - lr * wd - lr * rescale))
    assert counter.frame_count == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:`torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize(("name", "settings"), [("sgd", {"momentum": 0.9}), ("adam", {})])
def test_inductor(name, settings):
    torch._dynamo.reset()
    settings = {**settings, **SCALINGS["all"], "multi_precision": True}

    def compiled(part):
        return torch.compile(part, fullgraph=True, dynamic=False)

    for dtype in (torch.float32, torch.bfloat16):
        expected = in_place(configured(name, **settings), dtype)
        assert_same(purely(configured(name, **settings), dtype, compiled), expected, dtype, rtol=1e-5)


class Old(Optimizer):
    def update(self, index, weight, grad, state):
        weight[:] = 0


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (
            lambda: Old().update_part([0]),
            StateError,
            "Old.update_part: .* no method that an update calls; got update. Define step",
        ),
        (lambda: create("groupadagrad", wd=0.1).rates([0]), ParameterError, "GroupAdaGrad: wd must be 0"),
    ],
)
def test_errors(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize(("seed", "same"), [(1, True), (2, False)])
def test_draws_follow_the_seed(seed, same):
    found = []
    for each in (1, seed):
        random.seed(each)
        made = create("sgld")
        new, _ = made.update_part([0, 1])(
            [torch.ones(2)] * 2, [torch.ones(2)] * 2, [None] * 2, made.rates([0, 1])
        )
        found.append([weight.tolist() for weight in new])
    assert (found[0] == found[1]) is same
    assert found[0][0] != found[0][1]
