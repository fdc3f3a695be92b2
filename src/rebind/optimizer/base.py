"""What all optimizers have in common: multipliers, counts, rescaling, clipping, master copies."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import InitVar, dataclass, fields
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import Tensor

from ..errors import ArgumentError, ParameterError, ShapeError, StateError, near_names
from ..lr_scheduler import LRScheduler
from ..ndarray import NDArray
from ..ndarray.base import as_dense
from ..ops.update import rules
from ..registry import Registry

__all__ = ["Group", "Optimizer", "create", "optimizers", "register"]

LOW_PRECISION = (torch.float16, torch.bfloat16)

State = TypeVar("State", bound=tuple)


@dataclass(kw_only=True, eq=False, repr=False)
class Settings:
    """The settings of every optimizer."""

    rescale_grad: float = 1.0
    param_idx2name: InitVar[Mapping[Any, str] | None] = None
    wd: float = 0.0
    clip_gradient: float | None = None
    learning_rate: InitVar[float | None] = None
    lr_scheduler: Any = None
    sym: InitVar[Any] = None
    begin_num_update: int = 0
    multi_precision: bool = False
    param_dict: dict[Any, Any] | None = None
    clip_global_norm: float | None = None

    def __post_init__(
        self, param_idx2name: Mapping[Any, str] | None, learning_rate: float | None, sym: Any
    ) -> None:
        """Make the rest of `Optimizer`; dataclasses call it only where it was there from the start."""
        raise NotImplementedError


@dataclass
class Group:
    """Weights that are updated together: they have one type, device, learning rate, decay and count.

    Parameters
    ----------
    index
        Their indices.
    weights, grads
        The tensors; gradients as they come.
    states
        For each weight None, or the tensors of its state; a member may be None.
    lr, wd
        Learning rate and weight decay, multipliers included.
    t
        The number of this update, from 1.
    """

    index: Sequence[Any]
    weights: list[Tensor]
    grads: list[Tensor]
    states: list[tuple[Any, ...] | None]
    lr: float
    wd: float
    t: int

    @property
    def arrays(self) -> list[list[Any]]:
        """What the rules take: weights, gradients, and a list for each part of the state."""
        states = [state for state in self.states if state is not None]
        return [self.weights, self.grads, *map(list, zip(*states, strict=True))]

    def part(self, members: Sequence[int]) -> Group:
        """Return some of the weights."""
        if len(members) == len(self.weights):
            return self
        columns: Any = (self.index, self.weights, self.grads, self.states)
        index, weights, grads, states = ([column[k] for k in members] for column in columns)
        return Group(index, weights, grads, states, self.lr, self.wd, self.t)


class Optimizer(Settings, Generic[State]):
    """Base of optimizers.

    A subclass declares its settings as dataclass fields, its state as a NamedTuple of tensors (`state_type`), and
    the algorithm either as a pure `step`::

        class Momentum(NamedTuple):
            buffer: Tensor


        @optimizers.register("sgd")
        @dataclass(kw_only=True, eq=False, repr=False)
        class SGD(Optimizer[Momentum]):
            momentum: float = 0.0
            state_type = Momentum

            def step(self, weight, grad, state, *, lr, wd, t):
                move = self.momentum * state.buffer - lr * (grad + wd * weight)
                return weight + move, Momentum(move)

    or as `update_group`, which writes many weights at once in place. All of rebind's own are of this kind: a few
    lines over the rules of `rebind.ops.update.rules`, which the update operators share.

    Subclasses written for MXNet work too: they override ``create_state(index, weight)`` and
    ``update(index, weight, grad, state)`` on NDArrays, and use `_update_count`, `_get_lr` and `_get_wd`.

    Parameters
    ----------
    rescale_grad
        Gradients are multiplied by it; `Module` gives 1 / batch size.
    param_idx2name
        Names of the parameters by index, for multipliers that go by name.
    wd
        Weight decay. It does not act on parameters whose names end otherwise than in ``_weight`` or ``_gamma``,
        unless `set_wd_mult` or the variable's ``wd_mult`` says so.
    clip_gradient
        Each element of a rescaled gradient is cut to this size; None, or what is not positive, cuts nothing.
    learning_rate
        Default 0.01 where a subclass says nothing else. With `lr_scheduler` it is what the schedule starts from.
    lr_scheduler
        Called with the number of updates, returns the learning rate.
    sym
        The symbol whose variables' attributes ``__lr_mult__`` and ``__wd_mult__`` count.
    begin_num_update
        The number of updates that were done before.
    multi_precision
        Whether weights of float16 and bfloat16 have a copy in float32 that the updates go to.
    param_dict
        By index, objects with `lr_mult` and `wd_mult`.
    clip_global_norm
        The gradients of all weights that are updated in one call are scaled down together where the norm over all
        of them, rescaled, is larger. It comes before `clip_gradient`. The gradients' own arrays stay as they are.
        MXNet has none.

    Examples
    --------
    >>> import torch
    >>> from rebind.ndarray import NDArray
    >>> optimizer = create("sgd", learning_rate=0.1, param_idx2name={0: "fc_weight"})
    >>> weight, grad = NDArray(torch.ones(2)), NDArray(torch.ones(2))
    >>> optimizer.update(0, weight, grad, optimizer.create_state(0, weight))
    >>> weight.asnumpy().tolist()
    [0.8999999761581421, 0.8999999761581421]
    """

    opt_registry: ClassVar[Registry[type[Optimizer]]]

    #: The learning rate of who gives none.
    default_learning_rate: ClassVar[float | None] = None
    #: The NamedTuple of the state's tensors.
    state_type: ClassVar[type[tuple] | None] = None
    #: How the names of parameters end that weight decay acts on when nothing else is said.
    decayed_endings: ClassVar[tuple[str, ...]] = ("_weight", "_gamma")
    #: How many weights at a time MXNet updates; here all that are alike go together. An old subclass that sets it
    #: on itself to more than 1 says that its `update` takes lists.
    aggregate_num: ClassVar[int] = 0
    #: Whether a mixed-precision state is ``(master, state)``; otherwise ``(state, master)``.
    master_first: ClassVar[bool] = True

    def __post_init__(
        self, param_idx2name: Mapping[Any, str] | None, learning_rate: float | None, sym: Any
    ) -> None:
        if param_idx2name is not None and not isinstance(param_idx2name, Mapping):
            raise ArgumentError(
                f"{type(self).__name__}: param_idx2name must be a dict from index to name; got {param_idx2name!r}"
            )
        if self.clip_global_norm is not None and not self.clip_global_norm > 0:
            raise ParameterError(
                f"{type(self).__name__}: clip_global_norm must be > 0, or None, which clips nothing; "
                f"got {self.clip_global_norm!r}"
            )
        self.param_dict: dict[Any, Any] = self.param_dict or {}
        self.lr: Any = self._starting_rate(learning_rate)
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        self.num_update = self.begin_num_update
        self._index_update_count: dict[Any, int] = {}
        self._all_index_update_counts = {0: self._index_update_count}
        self.idx2name: dict[Any, str] = dict(param_idx2name or {})
        self.sym_info: tuple = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.set_lr_mult({})
        self.set_wd_mult({})

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
            warnings.warn(
                f"{type(self).__name__}: learning_rate={rate} takes the place of base_lr={base} of the lr_scheduler",
                stacklevel=5,
            )
        if given is not None and isinstance(schedule, LRScheduler):
            schedule.rebase(rate)
        else:
            schedule.base_lr = rate
        return rate

    # ---- the algorithm -----------------------------------------------------------------------------------

    def init_state(self, weight: Tensor) -> State | None:
        """Return the state of a weight that was not updated yet; zeros for each field of `state_type`."""
        if self.state_type is None:
            return None
        return self.state_type(*(torch.zeros_like(weight) for _ in self.state_type._fields))  # type: ignore

    def step(
        self, weight: Tensor, grad: Tensor, state: State | None, *, lr: float, wd: float, t: int
    ) -> tuple[Tensor, State | None]:
        """Return the weight and the state after an update; a pure function.

        Parameters
        ----------
        weight, grad
            The weight, and its gradient, rescaled and clipped.
        state
            What `init_state` or the last `step` returned.
        lr, wd
            Learning rate and weight decay, multipliers included.
        t
            The number of this update of the weight, from 1.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define step() or update_group(), or create_state() and update()"
        )

    def update_group(self, group: Group) -> None:
        """Update weights and states in place; here with `step` on each of them."""
        ready, _ = rules.prepare(group.grads, **self.scaling)
        for weight, grad, old in zip(group.weights, ready, group.states, strict=True):
            state: Any = None if old is None else self.state_type(*old)  # type: ignore[misc]
            new_weight, new_state = self.step(weight, grad, state, lr=group.lr, wd=group.wd, t=group.t)
            weight.copy_(new_weight)
            for target, value in zip(old or (), new_state or (), strict=True):
                target.copy_(value)

    @property
    def clip_limit(self) -> float | None:
        """`clip_gradient` if it cuts, else None."""
        return self.clip_gradient if self.clip_gradient is not None and self.clip_gradient > 0 else None

    @property
    def scaling(self) -> dict[str, Any]:
        """What the rules do with gradients first."""
        return {"rescale_grad": self.rescale_grad, "clip_gradient": self.clip_limit}

    def clip_together(self, grads: list[Tensor]) -> list[Tensor]:
        """Return gradients scaled down so that their norm over all, rescaled, is `clip_global_norm` at most.

        The norm is taken in float32 at least, and stays on the device: nothing waits for it.
        """
        limit = self.clip_global_norm
        if limit is None or not grads:
            return grads
        places: dict[tuple[torch.device, torch.dtype], list[int]] = {}
        for k, grad in enumerate(grads):
            places.setdefault((grad.device, grad.dtype), []).append(k)
        norms: list[Tensor] = []
        for (_, dtype), members in places.items():
            wide = torch.float32 if dtype in LOW_PRECISION else None
            norms += torch._foreach_norm([grads[k] for k in members], 2, wide)
        wide_type = torch.float64 if any(norm.dtype is torch.float64 for norm in norms) else torch.float32
        joint = torch.stack([norm.to(norms[0].device, wide_type) for norm in norms])
        total = torch.linalg.vector_norm(joint) * abs(self.rescale_grad)
        share = limit / total.clamp(min=limit)
        scaled: list[Any] = list(grads)
        for (device, dtype), members in places.items():
            factor = share.to(device) if dtype in LOW_PRECISION else share.to(device, dtype)
            # Tensors of half precision are multiplied by a number of float32 as by one of their own type.
            for k, value in zip(
                members, torch._foreach_mul([grads[k] for k in members], factor), strict=True
            ):
                scaled[k] = value
        return scaled

    # ---- on arrays ---------------------------------------------------------------------------------------

    def create_state(self, index: Any, weight: NDArray) -> Any:
        """Return the state of a weight as arrays: None, one, or a tuple of several."""
        state = self.init_state(weight.tensor)
        if state is None:
            return None
        arrays = tuple(None if each is None else NDArray(each, weight.context) for each in state)
        return arrays[0] if len(arrays) == 1 else arrays

    def create_state_multi_precision(self, index: Any, weight: NDArray) -> Any:
        """Return the state of a weight, with its master copy where it has one."""
        if not self._has_master(weight):
            if weight.tensor.dtype in LOW_PRECISION:
                warnings.warn(
                    f"{type(self).__name__}: weights of {weight.tensor.dtype} accumulate poorly; "
                    "set multi_precision=True",
                    stacklevel=3,
                )
            return self.create_state(index, weight)
        master = NDArray(weight.tensor.float(), weight.context)
        state = self.create_state(index, master)
        return (master, state) if self.master_first else (state, master)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight and its state in place; or several, given as lists."""
        if not isinstance(index, (list, tuple)):
            index, weight, grad, state = [index], [weight], [grad], [state]
        with as_dense(weight) as weights:
            self._update_dense(index, weights, [each.tensor for each in grad], state)

    def _update_dense(
        self, index: Sequence[Any], weights: list[Tensor], grads: list[Tensor], state: Sequence[Any]
    ) -> None:
        for i, one_weight, one_grad in zip(index, weights, grads, strict=True):
            if one_weight.shape != one_grad.shape:
                raise ShapeError(
                    f"{type(self).__name__}: the gradient of weight {self.idx2name.get(i, i)!r} must have its shape, "
                    f"{tuple(one_weight.shape)}; got {tuple(one_grad.shape)}"
                )
        self._update_count(index)
        with torch.no_grad():
            self._apply(index, weights, self.clip_together(grads), list(map(_tensors, state)))

    def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update weights, those of low precision through their master copies."""
        weights = weight if isinstance(weight, (list, tuple)) else [weight]
        if not (self.multi_precision and any(map(self._has_master, weights))):
            self.update(index, weight, grad, state)
        elif isinstance(index, (list, tuple)):
            with_master = [k for k, each in enumerate(weight) if self._has_master(each)]
            others = [k for k in range(len(index)) if k not in set(with_master)]
            if others:
                grad = self.clip_arrays_together(grad)
            self._update_masters(*([part[k] for k in with_master] for part in (index, weight, grad, state)))
            if others:
                self.update(*([part[k] for k in others] for part in (index, weight, grad, state)))
        else:
            self._update_masters([index], [weight], [grad], [state])

    def _update_masters(self, index: list, weight: list, grad: list, state: list) -> None:
        pairs = [each if self.master_first else each[::-1] for each in state]
        masters = [master for master, _ in pairs]
        full = [NDArray(each.tensor.float(), each.context) for each in grad]
        states = [each for _, each in pairs]
        if self.takes_lists:
            self.update(index, masters, full, states)
        else:
            for each in zip(index, masters, full, states, strict=True):
                self.update(*each)
        with torch.no_grad(), as_dense(weight) as weights:
            torch._foreach_copy_(weights, [each.tensor for each in masters])

    def clip_arrays_together(self, grads: Sequence[NDArray]) -> Sequence[NDArray]:
        """`clip_together` of arrays, before they go different ways."""
        if self.clip_global_norm is None:
            return grads
        with torch.no_grad():
            clipped = self.clip_together([each.tensor for each in grads])
        return [NDArray(value, each.context) for value, each in zip(clipped, grads, strict=True)]

    def _has_master(self, weight: NDArray) -> bool:
        return self.multi_precision and weight.tensor.dtype in LOW_PRECISION

    @property
    def takes_lists(self) -> bool:
        """Whether updates take lists; those of an old subclass need not."""
        kind = type(self)
        ours = (
            kind.update is Optimizer.update
            and kind.update_multi_precision is Optimizer.update_multi_precision
        )
        return ours or vars(self).get("aggregate_num", 0) > 1

    def _apply(
        self,
        index: Sequence[Any],
        weights: list[Tensor],
        grads: list[Tensor],
        states: list[tuple[Tensor, ...] | None],
    ) -> None:
        """Put together what has one rate, decay, count, type and device, and update each group."""
        groups: dict[tuple, list[int]] = {}
        counts = self._index_update_count
        for k, (i, lr, wd, weight) in enumerate(
            zip(index, self._get_lrs(index), self._get_wds(index), weights, strict=True)
        ):
            groups.setdefault((lr, wd, counts[i], weight.dtype, weight.device), []).append(k)
        for (lr, wd, t, _, _), members in groups.items():
            self.update_group(Group(index, weights, grads, states, lr, wd, t).part(members))

    # ---- counts ------------------------------------------------------------------------------------------

    def _update_count(self, index: Any) -> None:
        """Count an update of the weight, or of each of them."""
        counts = self._index_update_count
        for i in index if isinstance(index, (list, tuple)) else (index,):
            count = counts.get(i, self.begin_num_update) + 1
            counts[i] = count
            if count > self.num_update:
                self.num_update = count

    def _set_current_context(self, device_id: int) -> None:
        """Keep counts apart by the number of a device."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    # ---- learning rate and multipliers -------------------------------------------------------------------

    @property
    def learning_rate(self) -> float:
        """The learning rate of the last update, without multipliers."""
        return self.lr if self.lr_scheduler is None else self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate; not with an `lr_scheduler`, which decides it."""
        if self.lr_scheduler is not None:
            raise StateError(
                f"{type(self).__name__}.set_learning_rate: there must be no lr_scheduler; it decides the learning "
                "rate. Change its base_lr instead."
            )
        self.lr = lr

    def set_lr_scale(self, args_lrscale: Mapping[Any, float]) -> None:
        """Set multipliers of the learning rate: the old name of `set_lr_mult`, where MXNet 1.9.1 only raises."""
        self.set_lr_mult(args_lrscale)

    def set_lr_mult(self, args_lr_mult: Mapping[Any, float]) -> None:
        """Set multipliers of the learning rate, by name or index; others are those of the symbol's variables."""
        self.lr_mult = {**self._multipliers_of_symbol("__lr_mult__"), **args_lr_mult}

    def set_wd_mult(self, args_wd_mult: Mapping[Any, float]) -> None:
        """Set multipliers of the weight decay, by name or index.

        Others are those of the symbol's variables, then 0 for names that end in none of `decayed_endings`, then 1.
        """
        undecayed = {name: 0.0 for name in self.idx2name.values() if not name.endswith(self.decayed_endings)}
        self.wd_mult = {**undecayed, **self._multipliers_of_symbol("__wd_mult__"), **args_wd_mult}

    def _multipliers_of_symbol(self, attribute: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {
            name: float(attributes[name][attribute])
            for name in names
            if attribute in attributes.get(name, ())
        }

    def _get_lrs(self, indices: Sequence[Any]) -> list[float]:
        """Return the learning rate of each parameter, with its multiplier."""
        lr = self.learning_rate
        if not self.lr_mult and not self.param_dict:
            return [lr] * len(indices)
        return [lr * self._multiplier(i, "lr_mult") for i in indices]

    def _get_wds(self, indices: Sequence[Any]) -> list[float]:
        """Return the weight decay of each parameter, with its multiplier."""
        if not self.wd:
            return [0.0] * len(indices)
        return [self.wd * self._multiplier(i, "wd_mult") for i in indices]

    def _get_lr(self, index: Any) -> float:
        """Return the learning rate of a parameter, with its multiplier."""
        return self._get_lrs([index])[0]

    def _get_wd(self, index: Any) -> float:
        """Return the weight decay of a parameter, with its multiplier."""
        return self._get_wds([index])[0]

    def _multiplier(self, index: Any, which: str) -> float:
        if index in self.param_dict:
            return getattr(self.param_dict[index], which)
        by_name = getattr(self, which)
        if index in by_name:
            return by_name[index]
        return by_name.get(self.idx2name.get(index), 1.0)

    # ---- the registry ------------------------------------------------------------------------------------

    @staticmethod
    def register(klass: type[Optimizer]) -> type[Optimizer]:
        """Register an optimizer under the name of its class; a decorator."""
        return optimizers.register(klass)

    @staticmethod
    def create_optimizer(name: Any, **kwargs: Any) -> Any:
        """Return the optimizer called `name`, with settings."""
        if isinstance(name, str) and name in optimizers:
            _check_settings(optimizers[name], name, kwargs)
        return optimizers.create(name, **kwargs)


optimizers: Registry[type[Optimizer]] = Registry("optimizer", Optimizer)
Optimizer.opt_registry = optimizers

register = Optimizer.register


def create(name: Any, **kwargs: Any) -> Any:
    """Return the optimizer called `name`, in any case, with settings; an optimizer is returned as it is.

    Parameters
    ----------
    name
        ``'sgd'``, ``'adam'`` or a name that was registered; or an `Optimizer`.
    **kwargs
        Settings, as of its class.

    Examples
    --------
    >>> create("SGD", momentum=0.9).momentum
    0.9
    """
    return Optimizer.create_optimizer(name, **kwargs)


def _tensors(state: Any) -> tuple[Any, ...] | None:
    if state is None:
        return None
    if isinstance(state, NDArray):
        return (state.tensor,)
    return tuple(None if each is None else each.tensor for each in state)


def _check_settings(optimizer: type[Optimizer], name: str, given: Iterable[str]) -> None:
    """Check the names of settings where all are declared as fields; an old class takes what its `__init__` takes."""
    if "__dataclass_fields__" not in vars(optimizer):
        return
    known = list(vars(optimizer)["__dataclass_fields__"])
    for setting in given:
        if setting not in known:
            raise ArgumentError(
                f"optimizer {name!r}: no setting {setting!r}{near_names(setting, known)} Settings: {', '.join(known)}."
            )
