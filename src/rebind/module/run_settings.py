"""The settings of a training run: what `fit` was called with, compared with the run that it resumes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple, TypeAlias, cast

import torch

from ..errors import StateError
from ..lr_scheduler import LRScheduler
from ..metric import EvalMetric
from ..metric.base import members_of
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..protocols import DataSource
from .descs import read_descs
from .optimizer_setup import Given, Progress, given_settings
from .steps import Steps

__all__ = [
    "BATCH", "DATA", "RUN", "Change", "Settings", "changes", "optimizers_of", "restore_given", "settings_of",
    "state_form", "table",
]  # fmt: skip

#: By name, as a table shows them.
Settings: TypeAlias = dict[str, "str | int | float | bool | None"]

#: The settings that describe the training data; what is given counts always, there being no other data.
DATA = ("train_data", "samples", "content", "workers")
#: Those of the run besides the optimizer; what is given counts always.
RUN = (*DATA, "eval_metric", "accumulate", "update_every", "num_epoch")
#: Those from which the scale of the gradients follows.
BATCH = ("train_data", "accumulate", "update_every", "workers")
#: Numbers of an optimizer that are progress, or follow from the batch size.
_NO_SETTINGS = frozenset(("num_update", "begin_num_update"))


class Change(NamedTuple):
    """A setting that differs from the saved run; `used` is which of both values counts.

    >>> Change("wd", saved=0.0, given=0.1, used="saved").value
    0.0
    """

    name: str
    saved: str | int | float | bool | None
    given: str | int | float | bool | None
    used: Literal["saved", "given"]

    @property
    def value(self) -> str | int | float | bool | None:
        """The value that counts."""
        return self.saved if self.used == "saved" else self.given


def optimizers_of(module: Steps) -> list[Optimizer]:
    """Return a module's optimizers, each once; none of a user's own that does not define `optimizers`."""
    try:
        return list({id(optimizer): optimizer for optimizer in module.optimizers()}.values())
    except StateError:
        return []


def settings_of(
    module: Steps,
    data: DataSource,
    metric: EvalMetric,
    *,
    num_epoch: int,
    accumulate: int = 1,
    workers: int = 1,
    update_every: int = 1,
) -> Settings:
    """Return the settings of a call of `fit`, before training changes any of them."""
    found = _optimizer_settings(module) | _data_settings(data)
    found["eval_metric"] = ", ".join(str(each.name) for each in members_of(metric))
    found["accumulate"] = accumulate
    found["workers"] = workers
    found["update_every"] = update_every
    found["num_epoch"] = num_epoch
    return found


def _optimizer_settings(module: Steps) -> Settings:
    found: Settings = {}
    optimizers = optimizers_of(module)
    for i, optimizer in enumerate(optimizers):
        mark = _mark(i, optimizers)
        given = given_settings(optimizer)
        numbers = _numbers(given.progress)
        found[f"{mark}optimizer"] = type(optimizer).__name__
        found[f"{mark}learning_rate"] = _plain(numbers.pop("learning_rate", None))
        found[f"{mark}lr_scheduler"] = _schedule_text(given)
        found |= {f"{mark}{name}": _plain(value) for name, value in numbers.items()}
    return found


def _data_settings(data: DataSource) -> Settings:
    descs = (
        [*(data.provide_data or ()), *(getattr(data, "provide_label", None) or ())]
        if hasattr(data, "provide_data")
        else []
    )
    shapes = ", ".join(
        f"{desc.name} {tuple(desc.shape)} {getattr(desc.dtype, '__name__', desc.dtype)}"
        for desc in read_descs(descs, "train_data")
    )
    samples = getattr(data, "num_data", None)
    fingerprint = getattr(data, "fingerprint", None)  # a user's own source need not have it
    return {
        "train_data": shapes,
        "samples": samples if isinstance(samples, int) else None,
        "content": fingerprint() if callable(fingerprint) else None,
    }


def changes(saved: Settings, given: Settings, *, use_new: bool) -> list[Change]:
    """Return the settings that differ, with the value of each that counts."""
    differing = [name for name in given if name in saved and saved[name] != given[name]]
    found = []
    for name in differing:
        mark, colon, plain = name.rpartition(": ")
        schedule = f"{mark}{colon}lr_scheduler"
        # Another kind of schedule has no use for the numbers of the saved one, nor for its learning rate.
        replaced = plain in ("learning_rate", "lr_scheduler") and _kind(saved.get(schedule)) != _kind(
            given.get(schedule)
        )
        if plain == "rescale_grad" and set(BATCH) & set(differing):
            continue  # it follows from the size of the batches
        new = use_new or name in RUN or replaced
        found.append(Change(name, saved[name], given[name], "given" if new else "saved"))
    return found


def table(found: Sequence[Change]) -> str:
    """Return changes as a table of setting, saved, given and used."""
    rows = [("setting", "saved", "given", "used"), *(tuple(map(str, change)) for change in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def restore_given(module: Steps, names: Collection[str]) -> None:
    """Set the optimizers' settings of these names to those that they were made with, after a run was loaded.

    A schedule starts over with its own numbers; asked for the number of updates that are done, it gives the learning
    rate that it would have given from the start.
    """
    optimizers = optimizers_of(module)
    for i, optimizer in enumerate(optimizers):
        mark = _mark(i, optimizers)
        given = given_settings(optimizer)
        numbers = given.progress["numbers"]
        for name, value in numbers.items():
            if f"{mark}{_shown_name(name)}" in names:
                setattr(optimizer, name, value)
        if f"{mark}lr_scheduler" in names:
            optimizer.lr = cast("float | None", numbers.get("lr", optimizer.lr))
            optimizer.lr_scheduler = given.schedule
            if given.schedule is not None:
                vars(given.schedule).update(given.progress["schedule"] or {})


def state_form(module: Steps) -> list[str]:
    """Return what each optimizer remembers of a weight, as text: a setting such as `momentum` may change it."""
    # Of any weight: what is remembered does not depend on its size.
    weight = NDArray(torch.zeros(1))
    return [_form(optimizer.create_state(0, weight)) for optimizer in optimizers_of(module)]


def _form(state: object) -> str:
    if isinstance(state, (list, tuple)):
        return f"({', '.join(map(_form, state))})"
    return "none" if state is None else "array"


def _mark(i: int, optimizers: Sequence[Optimizer]) -> str:
    return "" if len(optimizers) == 1 else f"optimizer {i}: "


def _shown_name(attribute: str) -> str:
    return "learning_rate" if attribute == "lr" else attribute


def _numbers(given: Progress) -> dict[str, object]:
    """Return the settings among an optimizer's numbers, under the names that users give them."""
    return {
        _shown_name(name): value
        for name, value in given["numbers"].items()
        if not name.startswith("_") and name not in _NO_SETTINGS
    }


def _plain(value: object) -> str | int | float | bool | None:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return json.dumps(value, default=str, sort_keys=True)


def _schedule_text(given: Given) -> str | None:
    """Return a schedule as ``FactorScheduler(base_lr=0.1, ...)``, without defaults; a function by its name."""
    schedule, numbers = given.schedule, given.progress["schedule"] or {}
    if schedule is None:
        return None
    if not isinstance(schedule, LRScheduler):
        return str(
            getattr(
                schedule, "__qualname__", f"{type(schedule).__name__}({json.dumps(numbers, default=str)})"
            )
        )
    settings = {
        name: numbers[name]
        for name, parameter in inspect.signature(type(schedule)).parameters.items()
        if name in numbers and numbers[name] != parameter.default
    }
    return f"{type(schedule).__name__}({', '.join(f'{name}={value}' for name, value in settings.items())})"


def _kind(schedule: object) -> str:
    return str(schedule).partition("(")[0]
