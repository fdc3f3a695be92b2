"""The optimizer of a module: made from what `init_optimizer` is given, and its progress as numbers in a file."""

from __future__ import annotations

import contextlib
import copy
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypedDict

import numpy as np

from .. import optimizer as opt
from ..checks import check_instance, warn_user
from ..errors import ArgumentError, shown
from ..optimizer.schedule import RateSchedule
from ..symbol import Symbol
from .settings import OptimizerSettings

__all__ = [
    "Given", "Progress", "given_settings", "ignored_optimizer", "load_progress", "make_optimizer", "progress_of",
    "rescaled",
]  # fmt: skip


class Progress(TypedDict):
    """How far an optimizer has come: attributes that are numbers, or lists and dicts of numbers."""

    numbers: dict[str, object]
    schedule: dict[str, object] | None


def make_optimizer(
    settings: OptimizerSettings, symbol: Symbol, rescale: float, names: Mapping[int, str], *, extend: bool
) -> opt.Optimizer:
    """Return the optimizer that `init_optimizer` asks for.

    Parameters
    ----------
    settings
        A name and its settings, or an optimizer.
    symbol
        The network, whose variables may have multipliers.
    rescale
        What gradients are multiplied by, unless the settings give it.
    names
        The parameter of each index.
    extend
        Whether to add `names` to those that a given optimizer has; otherwise they are used only when it has none.

    Examples
    --------
    >>> import rebind as mx
    >>> settings = OptimizerSettings(optimizer="adam", optimizer_params={"learning_rate": 0.1})
    >>> made = make_optimizer(settings, mx.sym.var("w"), 0.25, {0: "w"}, extend=False)
    >>> type(made).__name__, made.lr, made.rescale_grad
    ('Adam', 0.1, 0.25)
    """
    made = _make_optimizer(settings, symbol, rescale, names, extend=extend)
    _given[made] = _as_given(made)
    return made


class Given(NamedTuple):
    """What an optimizer was given to a module with: its numbers, its schedule, and the schedule's numbers."""

    progress: Progress
    schedule: RateSchedule | None


def given_settings(optimizer: opt.Optimizer) -> Given:
    """Return what an optimizer was given to a module with, before training changed any of it.

    >>> import rebind as mx
    >>> made = make_optimizer(OptimizerSettings(), mx.sym.var("w"), 1.0, {0: "w"}, extend=False)
    >>> made.lr = 0.5
    >>> given_settings(made).progress["numbers"]["lr"]
    0.01
    """
    return _given.get(optimizer) or _as_given(optimizer)


# By optimizer and not by module: a file may replace a module's optimizer, and modules may share one.
_given: weakref.WeakKeyDictionary[opt.Optimizer, Given] = weakref.WeakKeyDictionary()


def _as_given(optimizer: opt.Optimizer) -> Given:
    return Given(copy.deepcopy(progress_of(optimizer)), optimizer.lr_scheduler)


def _make_optimizer(
    settings: OptimizerSettings, symbol: Symbol, rescale: float, names: Mapping[int, str], *, extend: bool
) -> opt.Optimizer:
    given = settings.optimizer
    if isinstance(given, str):
        arguments = {"rescale_grad": rescale, **settings.params}  # the user's own wins
        return opt.create(given, sym=symbol, param_idx2name=dict(names), **arguments)
    if not isinstance(given, opt.Optimizer):
        raise _wrong_optimizer(given)
    if settings.params not in ({}, OptimizerSettings().params):
        warn_user(
            "Module.init_optimizer: optimizer_params are for an optimizer that is given by its name; got "
            f"{shown(settings.params)} beside an instance of {type(given).__name__}. They change nothing."
        )
    if given.rescale_grad != rescale:
        warn_user(
            f"Module.init_optimizer: the optimizer's rescale_grad is {given.rescale_grad}, and 1 / (batch size x "
            f"workers) is {rescale}. It is used unchanged; is that intended?"
        )
    if extend or not given.idx2name:  # a user's own names stay
        given.idx2name = {**given.idx2name, **names}
    return given


def ignored_optimizer(settings: OptimizerSettings, used: Sequence[opt.Optimizer]) -> str | None:
    """Return what a second `fit` is given that the module's optimizer is not, as text; None when nothing is.

    >>> used = [opt.create("sgd", learning_rate=0.5)]
    >>> ignored_optimizer(OptimizerSettings(optimizer="adam"), used)
    "optimizer 'adam'"
    >>> ignored_optimizer(OptimizerSettings(optimizer_params={"learning_rate": 0.1}), used)
    'learning_rate=0.1'
    >>> ignored_optimizer(OptimizerSettings(), used)  # the defaults ask for nothing
    """
    given = settings.optimizer
    if isinstance(given, opt.Optimizer):
        return None if any(each is given for each in used) else f"optimizer {type(given).__name__}"
    # All defaults: nothing was asked for that could be ignored.
    if settings == OptimizerSettings(settings.kvstore) or not used:
        return None
    known = opt.Optimizer.opt_registry
    if given in known and not any(type(each) is known[given] for each in used):
        return f"optimizer {given!r}"
    for name, value in settings.params.items():
        if isinstance(value, (bool, int, float)) and all(_setting(each, name) != value for each in used):
            return f"{name}={value!r}"
    return None


def _setting(optimizer: opt.Optimizer, name: str) -> object:
    return optimizer.lr if name == "learning_rate" else getattr(optimizer, name, None)


def _wrong_optimizer(given: object) -> ArgumentError:
    check_instance(given, "Module.init_optimizer: optimizer")
    return ArgumentError(
        f"Module.init_optimizer: optimizer must be a name or an Optimizer; got {shown(given)}"
    )


@contextlib.contextmanager
def rescaled(optimizers: Iterable[opt.Optimizer], factor: float) -> Iterator[None]:
    """Multiply the `rescale_grad` of optimizers in the ``with`` block; of one that comes twice, once.

    >>> from rebind.optimizer import create
    >>> optimizer = create("sgd", rescale_grad=0.5)
    >>> with rescaled([optimizer, optimizer], 4):
    ...     optimizer.rescale_grad
    2.0
    >>> optimizer.rescale_grad
    0.5
    """
    # By identity: scaling one that serves several modules twice would square the factor.
    usual = {id(optimizer): (optimizer, optimizer.rescale_grad) for optimizer in optimizers}
    try:
        for optimizer, rescale in usual.values():
            optimizer.rescale_grad = rescale * factor
        yield
    finally:
        for optimizer, rescale in usual.values():
            optimizer.rescale_grad = rescale


# A user's own optimizer does not declare what it counts, so all its numbers are saved.


def progress_of(optimizer: opt.Optimizer) -> Progress:
    """Return how far an optimizer has come: its counts and running numbers, and its schedule's.

    >>> from rebind.optimizer import create
    >>> progress_of(create("sgd", learning_rate=0.5))["numbers"]["lr"]
    0.5
    """
    schedule = getattr(optimizer, "lr_scheduler", None)
    return {
        "numbers": _numbers_of(optimizer),
        "schedule": None if schedule is None else _numbers_of(schedule),
    }


def load_progress(optimizer: opt.Optimizer, progress: Progress) -> None:
    """Continue from what `progress_of` returned.

    >>> from rebind.optimizer import create
    >>> optimizer = create("sgd")
    >>> load_progress(optimizer, progress_of(create("sgd", learning_rate=0.5)))
    >>> optimizer.lr
    0.5
    """
    for name, value in progress["numbers"].items():
        old = getattr(optimizer, name, None)
        if isinstance(old, dict) and isinstance(value, dict):  # others may hold the very dict
            old.clear()
            old.update(value)
        else:
            setattr(optimizer, name, value)
    schedule = getattr(optimizer, "lr_scheduler", None)
    if progress["schedule"] is not None and schedule is not None:
        vars(schedule).update(progress["schedule"])


def _numbers_of(owner: object) -> dict[str, object]:
    return {name: value for name, value in vars(owner).items() if _is_numbers(value)}


def _is_numbers(value: object) -> bool:
    """Return whether an attribute holds numbers, or lists and dicts of numbers."""
    if isinstance(value, dict):
        return all(isinstance(key, (str, int)) and _is_numbers(each) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return all(map(_is_numbers, value))
    return isinstance(value, (bool, int, float, type(None), np.generic))
