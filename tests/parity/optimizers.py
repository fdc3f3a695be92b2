"""Runs of optimizers for the records of `generate_optimizers.py`: ten steps on four weights."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

STEPS = 10
#: The states are written to a file after this step, and another run goes on from there.
MIDDLE = 5
#: The steps after which the weights are recorded.
RECORDED = (1, MIDDLE, STEPS)
SHAPES: dict[str, tuple[int, ...]] = {
    "fc_weight": (3, 4),
    "fc_bias": (3,),
    "bn_gamma": (4,),
    "out_weight": (2, 3, 2),
}
SETTINGS = {
    "learning_rate": 0.02,
    "wd": 0.05,
    "rescale_grad": 0.5,
    "clip_gradient": 0.6,
    "begin_num_update": 2,
}


@dataclass(frozen=True)
class Run:
    """An optimizer with its settings.

    A `full` run has a schedule, weight decay, rescaled and clipped gradients, multipliers from the symbol and by name,
    and a number of updates done before.
    """

    optimizer: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    full: bool = False
    #: float16 runs have master copies.
    dtype: str = "float32"
    #: Fewer weights, where MXNet takes no others, or does several wrong.
    names: tuple[str, ...] = tuple(SHAPES)
    #: Settings of a full run that are left out.
    without: tuple[str, ...] = ()
    rtol: float = 2e-6

    @property
    def name(self) -> str:
        """The run as text."""
        given = [f"{k}={v}" for k, v in self.settings.items()]
        return ", ".join([self.optimizer, *given, *(["full"] if self.full else []), self.dtype])

    def create(self, library: Any) -> Any:
        """Make the optimizer with MXNet or with rebind."""
        settings: dict[str, Any] = {"param_idx2name": dict(enumerate(self.names)), **self.settings}
        if self.full:
            settings = {**{k: v for k, v in SETTINGS.items() if k not in self.without}, **settings}
            rate = settings["learning_rate"]  # so that those with a rate of their own do not use that
            if "lr_scheduler" not in self.without:
                settings["lr_scheduler"] = library.lr_scheduler.FactorScheduler(4, 0.7, base_lr=rate)
            settings["sym"] = library.sym.Group(
                [
                    library.sym.var("fc_weight", lr_mult=0.5),
                    library.sym.var("out_weight", wd_mult=2.0, lr_mult=3.0),
                ]
            )
        if self.dtype == "float16":
            settings["multi_precision"] = True
        made = library.optimizer.create(self.optimizer, **settings)
        if self.full:
            made.set_lr_mult({"fc_bias": 2.0})
            made.set_wd_mult({"fc_weight": 0.5} if "wd" not in self.without else {})
        return made

    def draw(self) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
        """Draw the weights, and for each step the gradients; always the same."""
        random = np.random.RandomState(zlib.crc32(self.name.encode()))
        shapes = [SHAPES[name] for name in self.names]
        weights = [random.randn(*shape).astype(self.dtype) for shape in shapes]
        grads = [[(2 * random.randn(*shape)).astype(self.dtype) for shape in shapes] for _ in range(STEPS)]
        return weights, grads


def both(
    optimizer: str, half_rtol: float = 2e-6, without: tuple[str, ...] = (), **settings: Any
) -> list[Run]:
    """A full run, in each type."""
    return [
        Run(optimizer, settings, full=True, dtype=dtype, without=without, rtol=rtol)
        for dtype, rtol in (("float32", 2e-6), ("float16", half_rtol))
    ]


def flatten(states: Mapping[Any, Any]) -> dict[str, np.ndarray]:
    """Return the arrays of all states under their places: ``state/0/1`` is the second of the first weight's."""
    found: dict[str, np.ndarray] = {}

    def walk(state: Any, place: str) -> None:
        if isinstance(state, (list, tuple)):
            for k, each in enumerate(state):
                walk(each, f"{place}/{k}")
        elif state is not None:
            found[place] = state.asnumpy()

    for index, state in states.items():
        walk(state, f"state/{index}")
    return found


ONE = ("fc_weight",)
#: MXNet takes the norm of the float16 weight, not of its master copy.
NORM = 2e-4
#: MXNet asks the schedule for the first weight before it has counted the update, and for the others after.
LATE = ("lr_scheduler",)
TWO_AXES = {"names": ONE, "without": ("wd",)}

RUNS = {
    run.name: run
    for run in [
        Run("sgd"),
        *both("sgd"),
        *both("sgd", momentum=0.9),
        Run("sgd", {"momentum": 0.9, "clip_gradient": 0.0}),
        Run("sgd", {"momentum": 0.5, "wd": np.float32(0.1)}),
        *both("ccsgd", momentum=0.5),
        Run("nag"),
        *both("nag"),
        *both("nag", momentum=0.9),
        *both("dcasgd"),
        *both("dcasgd", lamda=2.0),
        Run("adam"),
        *both("adam"),
        *both("adam", beta1=0.5, beta2=0.9, epsilon=1e-3),
        Run("adamax"),
        *both("adamax", beta1=0.8, beta2=0.9),
        # MXNet multiplies its momentum schedule again for each weight, and begins it at 1 whatever the update.
        Run("nadam", names=ONE),
        Run(
            "nadam",
            {"schedule_decay": 0.1, "beta1": 0.8},
            full=True,
            names=ONE,
            without=("begin_num_update",),
        ),
        Run("nadam", {"epsilon": 1e-3}, full=True, dtype="float16", names=ONE, without=("begin_num_update",)),
        Run("adagrad"),
        *both("adagrad", eps=1e-2),
        Run("groupadagrad", names=ONE),
        Run("groupadagrad", {"eps": 1e-2}, full=True, **TWO_AXES),
        Run("groupadagrad", {"eps": 1e-2}, full=True, dtype="float16", **TWO_AXES),
        Run("adadelta"),
        *both("adadelta", rho=0.5, epsilon=1e-3),
        Run("rmsprop"),
        *both("rmsprop", gamma1=0.8),
        *both("rmsprop", centered=True, gamma2=0.5, epsilon=1e-4),
        *both("rmsprop", clip_weights=0.5),
        Run("rmsprop", {"clip_weights": 0.0}),
        Run("ftrl"),
        *both("ftrl", lamda1=0.1, beta=0.5),
        Run("ftml"),
        *both("ftml", beta1=0.5, beta2=0.9, epsilon=1e-3),
        Run("signum"),
        *both("signum"),
        *both("signum", momentum=0.5, wd_lh=0.3),
        *both("signum", momentum=0.0),
        Run("lars"),
        *both("lars", NORM, eta=0.1, eps=0.01),
        *both("lars", NORM, eta=0.1, momentum=0.9),
        *both("lars", NORM, eta=0.1, momentum=0.9, momentum_correction=False),
        Run("lamb"),
        Run("lamb", full=True),
        Run("lamb", {"lower_bound": 1.0, "upper_bound": 1.5, "epsilon": 1e-3}, full=True),
        Run("lamb", {"bias_correction": False, "beta1": 0.5, "beta2": 0.9}, full=True),
        Run("lbsgd"),
        *both("lbsgd", without=LATE, momentum=0.9),
        *both("lbsgd", without=LATE, batch_scale=3, updates_per_epoch=2, warmup_epochs=4, momentum=0.5),
        Run(
            "lbsgd", {"batch_scale": 2, "updates_per_epoch": 3, "begin_epoch": 1, "warmup_strategy": "power2"}
        ),
        Run("lbsgd", {"batch_scale": 2, "updates_per_epoch": 3, "warmup_strategy": "sqrt"}),
        *both("lbsgd", without=LATE, batch_scale=2, warmup_strategy="lars", momentum=0.5),
        Run("test"),
        *both("test"),
    ]
}
