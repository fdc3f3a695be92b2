"""What learning rate and weight decay each weight has now: settings, schedules, multipliers, counts of updates."""

from __future__ import annotations

import difflib
from collections import UserDict
from collections.abc import Hashable, Mapping, MutableMapping, Sequence
from dataclasses import InitVar, dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

from .. import config, lr_scheduler
from ..checks import NUMBER, PAIRS, check_kind, check_numbers, or_none, warn_user
from ..errors import ArgumentError, ParameterError, StateError, shown
from ..lr_scheduler import LRScheduler

__all__ = ["Names", "Schedule", "Settings", "Variables"]


class Variables(Protocol):
    """A symbol, of which the attributes and names of variables are asked."""

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """Return the attributes of each variable that has some."""

    def list_arguments(self) -> list[str]:
        """Return the names of the variables."""


class RateSchedule(Protocol):
    """A schedule of learning rates; an `LRScheduler`, or a function."""

    def __call__(self, num_update: int) -> float:
        """Return the learning rate after so many updates."""


class Multipliers(Protocol):
    """An object with the multipliers of a parameter's rates, such as a Gluon parameter."""

    lr_mult: float
    wd_mult: float


#: Names of weights by index.
Names: TypeAlias = Mapping[Hashable, str] | None


class NamesByIndex(UserDict[Any, str]):
    """The names of weights by index, where a name is its own: stores hand names to an optimizer (MXNet: a KeyError).

    >>> names = NamesByIndex.over({0: "fc_weight"})
    >>> names[0], names["fc_weight"], list(names)
    ('fc_weight', 'fc_weight', [0])
    """

    @classmethod
    def over(cls, names: dict[Any, str]) -> NamesByIndex:
        """Return a view of a dict, which changes with it."""
        made = cls()
        made.data = names
        return made

    def __missing__(self, name: str) -> str:
        if name in self.data.values():
            return name
        raise KeyError(name)


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """The settings of every optimizer."""

    rescale_grad: float = 1.0
    param_idx2name: InitVar[Names] = None
    wd: float = 0.0
    clip_gradient: float | None = None
    learning_rate: InitVar[float | None] = None
    lr_scheduler: RateSchedule | None = None
    sym: InitVar[Variables | None] = None
    begin_num_update: int = 0
    multi_precision: bool = False
    param_dict: dict[Hashable, Multipliers] | None = None
    clip_global_norm: float | None = None

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None
    ) -> None:
        """Make the rest of `Schedule`; dataclasses call it only where it was there from the start."""
        raise NotImplementedError


#: The annotations of settings that are numbers, as `fields` has them.
_NUMBERS = ("int", "float", "int | None", "float | None")


class Schedule(Settings):
    """Learning rates and weight decays of weights, by index.

    The methods that begin with an underscore are MXNet's: optimizers of a user's own call them.

    Examples
    --------
    >>> from rebind.optimizer import SGD
    >>> made = SGD(learning_rate=0.5, wd=0.1, param_idx2name={0: "a_weight", 1: "a_bias"})
    >>> made.set_lr_mult({"a_bias": 2.0})
    >>> made._get_lrs([0, 1]), made._get_wds([0, 1])
    ([0.5, 1.0], [0.1, 0.0])
    """

    #: How many weights at a time the methods that a subclass overrides get, in tuples; 0: one, without a tuple. Where
    #: nothing is overridden all of one kind go together.
    aggregate_num: ClassVar[int] = 0
    #: What an update asks before it computes, in this order, where a subclass overrides some of it. Forms for several
    #: weights get what `aggregate_num` says, the others one weight after the other.
    asked: ClassVar[tuple[str, ...]] = ("_update_count", "_get_lr", "_get_wd")
    #: The learning rate of who gives none.
    default_learning_rate: ClassVar[float | None] = None
    #: How the names of parameters end that weight decay acts on by default.
    decayed_endings: ClassVar[tuple[str, ...]] = ("_weight", "_gamma")

    def __post_init__(
        self, param_idx2name: Names, learning_rate: float | None, sym: Variables | None
    ) -> None:
        if param_idx2name is not None and not isinstance(param_idx2name, Mapping):
            raise ArgumentError(
                f"{type(self).__name__}: param_idx2name must be a dict from index to name; got {param_idx2name!r}"
            )
        if sym is not None and not hasattr(sym, "attr_dict"):
            raise ArgumentError(f"{type(self).__name__}: sym must be a Symbol; got {shown(sym)}")
        if self.param_dict is not None and not isinstance(self.param_dict, Mapping):
            raise ArgumentError(
                f"{type(self).__name__}: param_dict must be a dict from index to an object with lr_mult and wd_mult; "
                f"got {shown(self.param_dict)}"
            )
        self._check_kinds(learning_rate)
        if self.clip_global_norm is not None and not self.clip_global_norm > 0:
            raise ParameterError(
                f"{type(self).__name__}: clip_global_norm must be > 0, or None, which clips nothing; "
                f"got {self.clip_global_norm!r}"
            )
        size = config.get("MXNET_OPTIMIZER_AGGREGATION_SIZE")
        if self.aggregate_num and size >= 0:
            vars(self)["aggregate_num"] = self._aggregation(size)
        self.param_dict: dict[Hashable, Multipliers] = self.param_dict or {}
        self.lr = self._starting_rate(learning_rate)  # None with a schedule that has a rate of its own
        self.lr_mult: dict[Hashable, float] = {}
        self.wd_mult: dict[Hashable, float] = {}
        self.num_update = self.begin_num_update
        self._index_update_count: dict[Hashable, int] = {}
        # By device, as in MXNet, where each may update its own copy of a weight.
        self._all_index_update_counts = {0: self._index_update_count}
        self.idx2name = param_idx2name or {}
        self.sym_info: tuple = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.set_lr_mult({})
        self.set_wd_mult({})

    @property
    def idx2name(self) -> MutableMapping[Any, str]:
        """The names of weights by index; a name is its own."""
        return NamesByIndex.over(vars(self)["idx2name"])

    @idx2name.setter
    def idx2name(self, names: Mapping[Any, str]) -> None:
        vars(self)["idx2name"] = dict(names)  # a plain one, as files of states hold it

    def _aggregation(self, size: int) -> int:
        """Return `aggregate_num` for a size that the environment gives."""
        return size

    def _check_kinds(self, learning_rate: float | None) -> None:
        """Check that settings that are numbers are not given as text, and that the schedule is one."""
        numbers = {each.name: getattr(self, each.name) for each in fields(self) if each.type in _NUMBERS}
        who = type(self).__name__
        check_numbers(who, learning_rate=learning_rate, **numbers)
        optional = {each.name for each in fields(self) if each.default is None} | {"learning_rate"}
        for name, value in {"learning_rate": learning_rate, **numbers}.items():
            check_kind(who, or_none(NUMBER) if name in optional else NUMBER, **{name: value})
        schedule = self.lr_scheduler
        # A class can be called as well, but is no schedule yet.
        if schedule is None or (callable(schedule) and not isinstance(schedule, type)):
            return
        name = schedule.__name__ if isinstance(schedule, type) else str(schedule)
        known = [each for each in lr_scheduler.__all__ if each != "LRScheduler"]
        short = {each.removesuffix("Scheduler").lower(): each for each in known}
        near = difflib.get_close_matches(name.lower().removesuffix("scheduler"), short, n=1)
        example = short[near[0]] if near else known[0]
        raise ArgumentError(
            f"{type(self).__name__}: lr_scheduler must be a scheduler or a function of the number of updates; got "
            f"{f'the class {name}' if isinstance(schedule, type) else shown(schedule)}. Make one, as "
            f"lr_scheduler.{example}(...)."
        )

    def __repr__(self) -> str:
        names = [each.name for each in fields(self) if each.name != "param_dict" and each.repr]
        settings = {"learning_rate": self.lr, **{name: getattr(self, name) for name in names}}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

    def _starting_rate(self, given: float | None) -> float | None:
        rate = self.default_learning_rate if given is None else given
        schedule = self.lr_scheduler
        if schedule is None:
            return 0.01 if rate is None else rate
        if rate is None:
            return None
        base = getattr(schedule, "base_lr", None)
        if base not in (None, 0.01, rate):  # 0.01 is what a schedule has that was given none
            warn_user(
                f"{type(self).__name__}: learning_rate={rate} replaces base_lr={base} of the lr_scheduler"
            )
        if given is not None and isinstance(schedule, LRScheduler):
            schedule.rebase(rate)
        else:
            schedule.base_lr = rate  # type: ignore[attr-defined]  # any object of a user's own takes it
        return rate

    def _update_count(self, index: Hashable | Sequence[Hashable]) -> None:
        """Count an update of the weight, or of each of them."""
        counts = self._index_update_count
        for i in index if isinstance(index, (list, tuple)) else (index,):
            count = counts.get(i, self.begin_num_update) + 1
            counts[i] = count
            # The furthest of all weights: schedules go by it.
            if count > self.num_update:
                self.num_update = count

    def _set_current_context(self, device_id: int) -> None:
        """Count updates for a device of its own from now on."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    @property
    def learning_rate(self) -> float:
        """The learning rate of the last update, without multipliers.

        >>> from rebind.lr_scheduler import FactorScheduler
        >>> from rebind.optimizer import SGD
        >>> made = SGD(lr_scheduler=FactorScheduler(step=2, factor=0.5, base_lr=1.0))
        >>> [float(made.rates([0]).lr) for _ in range(5)], made.learning_rate
        ([1.0, 1.0, 0.5, 0.5, 0.25], 0.25)
        """
        return self._current_rate()

    def _current_rate(self) -> float:
        # Apart from the property: as in MXNet, updates do not ask one that a subclass overrides.
        if self.lr_scheduler is None:
            return self.lr  # type: ignore[return-value]  # None only with a schedule
        rate = self.lr_scheduler(self.num_update)
        if not NUMBER.allows(rate):
            raise ParameterError(
                f"{type(self).__name__}: lr_scheduler must return a number; got {shown(rate)} for update "
                f"{self.num_update}"
            )
        return rate

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; not with an `lr_scheduler`, which decides it.

        >>> from rebind.optimizer import SGD
        >>> made = SGD(learning_rate=0.5)
        >>> made.set_learning_rate(0.25)
        >>> made.learning_rate
        0.25
        """
        if self.lr_scheduler is not None:
            raise StateError(
                f"{type(self).__name__}.set_learning_rate: there must be no lr_scheduler; it decides the learning "
                "rate. Change its base_lr instead."
            )
        check_numbers(f"{type(self).__name__}.set_learning_rate", lr=lr)
        check_kind(f"{type(self).__name__}.set_learning_rate", NUMBER, lr=lr)
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Mapping[Hashable, float]) -> None:
        """Set multipliers of the learning rate: the old name of `set_lr_mult`, where MXNet 1.9.1 only raises.

        >>> from rebind.optimizer import SGD
        >>> made = SGD(learning_rate=0.5)
        >>> made.set_lr_scale({0: 0.5})
        >>> made.rates([0]).lr
        tensor([0.2500], dtype=torch.float64)
        """
        self.set_lr_mult(args_lrscale)

    def set_lr_mult(self, args_lr_mult: Mapping[Hashable, float]) -> None:
        """Set multipliers of the learning rate, by name or index; others are those of the symbol's variables.

        >>> from rebind.optimizer import SGD
        >>> made = SGD(learning_rate=0.5, param_idx2name={0: "w"})
        >>> made.set_lr_mult({"w": 0.5})
        >>> made.rates([0, 1]).lr
        tensor([0.2500, 0.5000], dtype=torch.float64)
        """
        given = _factors(f"{type(self).__name__}.set_lr_mult", args_lr_mult=args_lr_mult)
        self.lr_mult = self._multipliers_of_symbol("__lr_mult__") | given

    def set_wd_mult(self, args_wd_mult: Mapping[Hashable, float]) -> None:
        """Set multipliers of the weight decay, by name or index.

        Others are those of the symbol's variables, then 0 for names that end in none of `decayed_endings`, then 1.

        >>> from rebind.optimizer import SGD
        >>> made = SGD(wd=0.5, param_idx2name={0: "w_weight", 1: "w_bias"})
        >>> made.set_wd_mult({"w_weight": 0.5})
        >>> made.rates([0, 1]).wd
        tensor([0.2500, 0.0000], dtype=torch.float64)
        """
        given = _factors(f"{type(self).__name__}.set_wd_mult", args_wd_mult=args_wd_mult)
        # MXNet's convention: biases and shifts do not decay, whatever `wd` says.
        undecayed: dict[Hashable, float] = {
            name: 0.0 for name in self.idx2name.values() if not name.endswith(self.decayed_endings)
        }
        # The symbol's attributes go over the convention, the caller's over both.
        self.wd_mult = undecayed | self._multipliers_of_symbol("__wd_mult__") | given

    def _multipliers_of_symbol(self, attribute: str) -> dict[Hashable, float]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {
            name: float(attributes[name][attribute])
            for name in names
            if attribute in attributes.get(name, ())
        }

    def _get_lrs(self, indices: Sequence[Hashable]) -> list[float]:
        """Return the learning rate of each parameter, with its multiplier."""
        lr = self._current_rate()
        # The usual case, and it is asked at every update.
        if not self.lr_mult and not self.param_dict:
            return [lr] * len(indices)
        return [lr * self._multiplier(i, "lr_mult") for i in indices]

    def _get_wds(self, indices: Sequence[Hashable]) -> list[float]:
        """Return the weight decay of each parameter, with its multiplier."""
        if not self.wd:
            return [0.0] * len(indices)
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_lr(self, index: Hashable) -> float:
        """Return the learning rate of a parameter, with its multiplier."""
        return self._get_lrs([index])[0]

    def _get_wd(self, index: Hashable) -> float:
        """Return the weight decay of a parameter, with its multiplier."""
        return self._get_wds([index])[0]

    def _multiplier(self, index: Hashable, which: Literal["lr_mult", "wd_mult"]) -> float:
        # A parameter's own multiplier comes first, then one by index, then one by name.
        if index in self.param_dict:
            return getattr(self.param_dict[index], which)
        by_name = getattr(self, which)
        if index in by_name:
            return by_name[index]
        return by_name.get(self.idx2name.get(index), 1.0)


def _factors(who: str, **given: Mapping[Hashable, float]) -> dict[Hashable, float]:
    """Return the factors of one argument as a dict, each a number."""
    check_kind(who, PAIRS, **given)
    ((name, factors),) = given.items()
    found = dict(factors)
    for key, factor in found.items():
        check_numbers(who, **{f"{name}[{key!r}]": factor})
        check_kind(who, NUMBER, **{f"{name}[{key!r}]": factor})
    return found
