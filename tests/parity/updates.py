"""Calls of update operators for the records of `generate_updates.py`: three steps each, every parameter varied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS = 3
SHAPES = ((3, 4), (5,))


@dataclass(frozen=True)
class Update:
    """An operator, the arrays that it takes for each weight and after the last, and its parameters."""

    operator: str
    arrays: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    #: Arrays behind those of the last weight, with their values.
    closes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    #: How many weights.
    count: int = 1
    #: The type of weights and gradients; with master copies the other arrays are of float32.
    dtype: str = "float32"
    #: Whether the result goes over the weight.
    over: bool = True
    #: MXNet takes sparse gradients only.
    sparse: bool = False
    #: The parameter that holds the number of the step.
    counter: str = ""
    #: Arrays that MXNet fails to write.
    unwritten: tuple[str, ...] = ()
    rtol: float = 1e-6

    @property
    def name(self) -> str:
        """The call as text."""
        given = {
            **self.parameters,
            **({"dtype": self.dtype} if self.dtype != "float32" else {}),
            **self.closes,
        }
        return f"{self.operator}({', '.join(f'{k}={v}' for k, v in given.items())})"

    @property
    def masters(self) -> bool:
        """Whether there are master copies."""
        return "mp_" in self.operator

    def draw(self, random: np.random.RandomState) -> dict[str, np.ndarray]:
        """Draw all arrays but the gradients, in their order."""
        found: dict[str, np.ndarray] = {}
        for i in range(self.count):
            shape = SHAPES[i]
            for array in self.arrays:
                name = f"{array}_{i}"
                if array == "weight":
                    value = random.standard_normal(shape).astype(self.dtype)
                elif array == "weight32":
                    value = found[f"weight_{i}"]
                elif array == "grad":
                    value = np.zeros(shape, self.dtype)
                elif array == "history" and self.operator.startswith("contrib"):
                    value = random.uniform(0.5, 1.5, (shape[0], 1))
                elif array == "g" and "lamb" not in self.operator:  # its square must not exceed n
                    value = random.uniform(0.0, 0.5, shape)
                elif array in ("r1", "r2"):
                    value = random.uniform(0.5, 1.5, (1,))
                else:
                    value = random.uniform(0.5, 1.5, shape)
                is_half = array in ("weight", "grad") or not self.masters
                found[name] = value.astype(self.dtype if is_half else "float32")
        found |= {name: np.array(value, "float32") for name, value in self.closes.items()}
        return found

    def gradients(self, random: np.random.RandomState) -> list[np.ndarray]:
        """Draw the gradients of a step."""
        if "grad" not in self.arrays:
            return []
        return [random.standard_normal(SHAPES[i]).astype(self.dtype) for i in range(self.count)]

    def settings(self, step: int) -> dict[str, Any]:
        """Return the parameters of step 0, 1, ..."""
        if not self.counter:
            return dict(self.parameters)
        number = step + 1 if self.count == 1 else tuple(step + 1 + i for i in range(self.count))
        return {**self.parameters, self.counter: number}

    def function(self, mx: Any) -> Any:
        """Look the operator up."""
        place = mx.nd._internal if self.operator.startswith("_") else mx.nd
        for part in self.operator.split("."):
            place = getattr(place, part)
        return place


def vary(
    operator: str, arrays: Sequence[str], base: Mapping[str, Any], *changes: Mapping[str, Any], **more: Any
) -> Iterator[Update]:
    """Yield a call with the parameters `base`, and one for each change of them."""
    for change in ({}, *changes):
        yield Update(operator, tuple(arrays), {**base, **change}, **more)


GRADIENT = (
    {"rescale_grad": 0.5},
    {"clip_gradient": 0.3},
    {"clip_gradient": 0.0},
    {"wd": 0.1},
    {"wd": 0.1, "rescale_grad": 0.5, "clip_gradient": 0.2},
)
BETAS = {"beta1": 0.5, "beta2": 0.6, "epsilon": 0.1}
HALF = {"dtype": "float16"}


def _single() -> Iterator[Update]:
    lr, momentum = {"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}
    lazy = {"lazy_update": False}
    wg = ("weight", "grad")
    for name in ("sgd_update", "sparse.sgd_update"):
        yield from vary(name, wg, lr, *GRADIENT, lazy)
    for name in ("sgd_mom_update", "sparse.sgd_mom_update"):
        yield from vary(name, (*wg, "mom"), momentum, *GRADIENT, {"momentum": 0.0}, lazy)
    yield from vary("nag_mom_update", (*wg, "mom"), momentum, *GRADIENT, {"momentum": 0.0})
    yield from vary("mp_sgd_update", (*wg, "weight32"), lr, *GRADIENT, **HALF)
    yield from vary("mp_sgd_mom_update", (*wg, "mom", "weight32"), momentum, *GRADIENT, **HALF)
    yield from vary("mp_nag_mom_update", (*wg, "mom", "weight32"), momentum, *GRADIENT, **HALF)
    yield from vary("signsgd_update", wg, lr, *GRADIENT)
    yield from vary("signum_update", (*wg, "mom"), momentum, *GRADIENT, {"wd_lh": 0.2}, {"momentum": 0.0})
    for name in ("adam_update", "sparse.adam_update"):
        yield from vary(name, (*wg, "mean", "var"), lr, *GRADIENT, BETAS, lazy)
    clip_grad = [{k.replace("clip_gradient", "clip_grad"): v for k, v in each.items()} for each in GRADIENT]
    yield from vary("ftml_update", (*wg, "d", "v", "z"), lr, *clip_grad, BETAS, counter="t")
    for name in ("ftrl_update", "sparse.ftrl_update"):
        yield from vary(name, (*wg, "z", "n"), lr, *GRADIENT, {"lamda1": 0.5, "beta": 0.3}, {"lamda1": 0.0})
    clip = {"clip_weights": 0.3}, {"clip_weights": 0.0}
    yield from vary("rmsprop_update", (*wg, "n"), lr, *GRADIENT, {"gamma1": 0.5, "epsilon": 0.1}, *clip)
    alex = {"gamma1": 0.5, "gamma2": 0.3, "epsilon": 0.5}
    yield from vary("rmspropalex_update", (*wg, "n", "g", "delta"), lr, *GRADIENT, alex, *clip)
    decay = [change for change in GRADIENT if "wd" not in change]
    epsilon = {"epsilon": 0.1}
    yield from vary("sparse.adagrad_update", (*wg, "history"), lr, *decay, epsilon, sparse=True)
    yield from vary("contrib.group_adagrad_update", (*wg, "history"), lr, *decay, epsilon, sparse=True)
    more = {**HALF, "rtol": 4e-3}
    yield from vary("sgd_mom_update", (*wg, "mom"), momentum, GRADIENT[-1], **more)
    yield from vary("adam_update", (*wg, "mean", "var"), {**lr, **BETAS}, GRADIENT[-1], **more)


def _decoupled() -> Iterator[Update]:
    changes = ({"wd": 0.1}, {"clip_gradient": 0.3}, {"clip_gradient": 0.0, "wd": 0.1}, BETAS)
    base = {"lr": 0.1, "eta": 0.7}
    arrays = ("weight", "grad", "mean", "var")
    for factor in (0.5, 0.0, float("nan"), float("inf"), -float("inf")):
        chosen = changes if factor == 0.5 else changes[:1]
        closes = {"closes": {"rescale_grad": (factor,)}}
        yield from vary("_adamw_update", arrays, base, *chosen, **closes)
        yield from vary("_mp_adamw_update", (*arrays, "weight32"), base, *chosen, **closes, **HALF)
        several = {"lrs": (0.1, 0.2), "wds": (0.0, 0.3), "etas": (0.9, 0.5), "num_weights": 2}
        chosen = [change for change in chosen if "wd" not in change]
        yield from vary("_multi_adamw_update", arrays, several, *chosen, **closes, count=2)
        name, more = "_multi_mp_adamw_update", (*arrays, "weight32")
        yield from vary(name, more, several, *chosen, **closes, count=2, **HALF)


def _several() -> Iterator[Update]:
    changes = [change for change in GRADIENT if "wd" not in change]
    rates = {"lrs": (0.1, 0.2), "wds": (0.0, 0.3)}
    for masters in ("", "mp_"):
        more: dict[str, Any] = {"count": 2, **(HALF if masters else {})}
        end = ("weight32",) if masters else ()
        plain, with_momentum = ("weight", "grad", *end), ("weight", "grad", "mom", *end)
        for given, start, closes in ((rates, "", {}), ({}, "preloaded_", rates)):
            number = {**given, "num_weights": 2}
            name = f"{start}multi_{masters}sgd"
            yield from vary(f"{name}_update", plain, number, *changes, closes=closes, **more)
            yield from vary(
                f"{name}_mom_update",
                with_momentum,
                {**number, "momentum": 0.9},
                *changes,
                closes=closes,
                **more,
            )
    one = {"lrs": (0.1,), "wds": (0.3,), "num_weights": 1}
    yield from vary("multi_sgd_update", ("weight", "grad"), one)
    yield from vary("multi_sgd_mom_update", ("weight", "grad", "mom"), {**one, "momentum": 0.5})


def _lamb() -> Iterator[Update]:
    first = ("weight", "grad", "mean", "var")
    changes = (
        {"wd": 0.3},
        {"rescale_grad": 0.5},
        {"clip_gradient": 0.3},
        {"clip_gradient": 0.0},
        {"bias_correction": False},
        BETAS,
    )
    step = {"counter": "t", "over": False}
    yield from vary("lamb_update_phase1", first, {"wd": 0.05}, *changes, **step)
    yield from vary("mp_lamb_update_phase1", (*first, "weight32"), {"wd": 0.05}, *changes, **step, **HALF)
    second = ("weight", "g", "r1", "r2")
    bounds = ({"lower_bound": 2.0}, {"upper_bound": 0.3}, {"upper_bound": 0.0}, {"lower_bound": 0.0})
    yield from vary("lamb_update_phase2", second, {"lr": 0.1}, *bounds)
    yield from vary(
        "mp_lamb_update_phase2", (*second, "weight32"), {"lr": 0.1}, *bounds, unwritten=("weight32",), **HALF
    )
    several = {"learning_rates": (0.1, 0.2), "wds": (0.0, 0.3), "num_tensors": 2}
    changes = (*changes[1:], {"lower_bound": 5.0}, {"upper_bound": 0.5}, {"upper_bound": 0.0})
    step = {"counter": "step_count", "count": 2}
    yield from vary("_multi_lamb_update", first, several, *changes, **step)
    # MXNet squares the weights in float16 for their norm.
    yield from vary(
        "_multi_mp_lamb_update", (*first, "weight32"), several, *changes, **step, **HALF, rtol=5e-4
    )


def _rates() -> Iterator[Update]:
    closes = {
        "lrs": (0.1, 0.2, 0.3, 0.4),
        "weights_sum_sq": (4.0, 0.0, 9.0, 0.25),
        "grads_sum_sq": (1.0, 4.0, 0.0, 2.25),
        "wds": (0.0, 0.1, 0.2, 0.3),
    }
    base = {"eta": 0.3, "eps": 0.01}
    yield from vary("multi_lars", (), base, {"rescale_grad": 0.5}, closes=closes, count=0, over=False)


CASES: dict[str, Update] = {
    case.name: case for rows in (_single, _decoupled, _several, _lamb, _rates) for case in rows()
}
