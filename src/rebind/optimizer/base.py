"""What all optimizers have in common: states, master copies, groups of weights; and the registry."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast

import torch
from torch import Tensor

from .._torch import foreach
from ..checks import an, check_kind, warn_user
from ..errors import ArgumentError, ShapeError, StateError, near_names, shown
from ..generators import step_seed
from ..grad_mode import grad_mode
from ..ndarray import NDArray
from ..ndarray.base import wrap
from ..ndarray.storage import DenseStorage
from ..observing import observing
from ..overriding import declares_steps, overrides
from ..registry import Registry
from .algorithm import Algorithm, State
from .arrays import (
    ArrayTree,
    StoredState,
    are_channels_last,
    in_lists,
    inner_tensors,
    is_channels_last,
    tensors_of,
)
from .group import LOW_PRECISION, Group, InnerState, clip_together
from .rows import like_weight, round_weight, update_rows, values_of
from .step import Rates, StateTree, UpdatePart, make_rates, state_tensors, write_state

__all__ = ["Group", "ImplOf", "Optimizer", "create", "optimizers", "register"]

_shape_of = operator.attrgetter("shape")
#: The methods of MXNet's that an update calls: where one is overridden, all are called as MXNet calls them.
_HOOKS = (
    "update", "update_multi_precision", "_update_impl", "_set_current_context", "_update_count", "_get_lr", "_get_lrs",
    "_get_wd", "_get_wds",
)  # fmt: skip
#: What programs replace in an object, besides; a subclass defines them.
_REPLACED = ("update_group", "step")

#: The method that in MXNet leads to `_update_impl`; "" for optimizers without one.
ImplOf: TypeAlias = Literal["", "update", "update_multi_precision"]
Indices: TypeAlias = Hashable | Sequence[Hashable]
# Any: a list where several are updated; `update` in a program's own optimizer has one, and its state.
Arrays: TypeAlias = "NDArray | Any"
States: TypeAlias = Any
Class = TypeVar("Class", bound="type[Optimizer]")


@declares_steps(*_HOOKS)
class Optimizer(Algorithm[State]):
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
    lines over the rules of `rebind.ops.update`, which the update operators share.

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

    #: Whether a mixed-precision state is ``(master, state)``; otherwise ``(state, master)``.
    master_first: ClassVar[bool] = True
    #: Whether a weight is computed from the state alone, so that one which is set meanwhile is forgotten.
    weights_follow_states: ClassVar[bool] = False
    #: Which method calls `_update_impl`.
    impl_of: ClassVar[ImplOf] = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Check settings by name before `__init__`, whose own errors suggest nothing."""
        _check_settings(cls, args, kwargs)
        return super().__new__(cls)

    def create_state(self, index: Hashable, weight: NDArray) -> StoredState:
        """Return the state of a weight as arrays: None, one, or a tuple of several.

        >>> weight = NDArray(torch.ones(2))
        >>> create("sgd", momentum=0.9).create_state(0, weight).shape, create("sgd").create_state(0, weight)
        ((2,), None)
        """
        check_kind(f"{type(self).__name__}.create_state", an(NDArray), weight=weight)
        state = self.init_state(values_of(weight))
        if state is None:
            return None
        arrays = tuple(None if each is None else like_weight(each, weight) for each in state)
        # One array alone is not in a tuple, in MXNet's files as well.
        return arrays[0] if len(arrays) == 1 else arrays

    def create_state_multi_precision(self, index: Hashable, weight: NDArray) -> StoredState:
        """Return the state of a weight, with its master copy where it has one.

        >>> weight = NDArray(torch.ones(2, dtype=torch.float16))
        >>> state, master = create("sgd", multi_precision=True).create_state_multi_precision(0, weight)
        >>> state, master.tensor.dtype
        (None, torch.float32)
        """
        if not self._has_master(weight):
            if weight.storage.dtype in LOW_PRECISION:
                warn_user(
                    f"{type(self).__name__}: updates of {weight.storage.dtype} weights lose precision; "
                    "set multi_precision=True"
                )
            return self.create_state(index, weight)
        master: NDArray = wrap(weight.storage.to(dtype=torch.float32), weight.context)
        # Of the master, so that the state is float32 as well.
        state = self.create_state(index, master)
        return (master, state) if self.master_first else (state, master)

    def master_of(self, weight: NDArray, state: StoredState) -> NDArray | None:
        """Return the master copy of a weight, which is in its state; None for a weight without one.

        >>> optimizer, weight = (
        ...     create("sgd", multi_precision=True),
        ...     NDArray(torch.ones(2, dtype=torch.float16)),
        ... )
        >>> state = optimizer.create_state_multi_precision(0, weight)
        >>> optimizer.master_of(weight, state).tensor
        tensor([1., 1.])
        """
        if not isinstance(state, (tuple, list)) or not self._has_master(weight):
            return None
        return cast(NDArray, state[0 if self.master_first else 1])

    def update(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Update a weight and its state in place; or several, given as lists.

        >>> optimizer, weight = create("sgd", learning_rate=0.5), NDArray(torch.ones(2))
        >>> optimizer.update("w", weight, NDArray(torch.ones(2)), None)
        >>> weight.tensor
        tensor([0.5000, 0.5000])
        """
        if self.impl_of == "update":
            self._update_impl(index, weight, grad, state)
        elif self.impl_of:
            self._update_impl(index, weight, grad, state, multi_precision=False)
        else:
            self._update_arrays(index, weight, grad, state)

    def _update_impl(
        self, index: Indices, weight: Arrays, grad: Arrays, state: States, multi_precision: bool = False
    ) -> None:
        """Update weights, as MXNet's optimizers do it in a method of this name; see `impl_of`."""
        if multi_precision:
            self._update_masters(self._update_arrays, index, weight, grad, state)
        else:
            self._update_arrays(index, weight, grad, state)

    def _update_arrays(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        indices, arrays, grads, states = in_lists(index, weight, grad, state)
        first: object = arrays[0]  # one will do: this is called for every update
        if not isinstance(first, NDArray):
            check_kind(f"{type(self).__name__}.update", an(NDArray), weight=arrays[0], grad=grads[0])
        last: set[int] = set()
        # As declared by the class itself: a subclass may have another rule. What is drawn would go to other elements.
        by_element = vars(type(self)).get("update_scope") == "element" and not self.draws
        if not all([isinstance(each.storage, DenseStorage) for each in (*arrays, *grads)]):
            update_rows(self.update_tensors, indices, arrays, grads, states, self.is_lazy)
            return
        if by_element and any([is_channels_last(array) for array in arrays]):
            last = {
                k
                for k, each in enumerate(zip(arrays, grads, states, strict=True))
                if are_channels_last(*each)
            }
        inner = [inner_tensors(each, k in last) for k, each in enumerate(states)]
        self.update_tensors(indices, tensors_of(arrays, last), tensors_of(grads, last), inner)

    def update_tensors(
        self,
        index: Sequence[Hashable],
        weights: list[Tensor],
        grads: list[Tensor],
        states: Sequence[InnerState | None],
    ) -> None:
        """Update dense tensors in place, and count it: what `update` does with those of its arrays.

        Raises
        ------
        ShapeError
            For a gradient of another shape than its weight. Nothing was updated then.

        Examples
        --------
        >>> optimizer, weight = create("sgd", learning_rate=0.5), torch.ones(2)
        >>> optimizer.update_tensors([0], [weight], [torch.ones(2)], [None])
        >>> weight, optimizer.num_update
        (tensor([0.5000, 0.5000]), 1)
        """
        # torch would broadcast some of these gradients, and its errors for the others name no weight. All shapes before
        # the first update: an error leaves every weight as it was.
        if [*map(_shape_of, weights)] != [*map(_shape_of, grads)]:
            self._check_shapes(index, weights, grads)
        lrs, wds = self.next_rates(index)
        with grad_mode(False):
            clipped = clip_together(grads, self.clip_global_norm, self.rescale_grad)
            apply = self._apply if observing.updates is None else observing.updates(self, self._apply)
            apply(index, weights, clipped, states, lrs, wds)

    def next_rates(self, index: Sequence[Hashable]) -> tuple[list[float], list[float]]:
        """Count an update of weights; return the learning rate and the decay of each, multipliers included.

        >>> create("sgd", learning_rate=0.5).next_rates(["a", "b"])
        ([0.5, 0.5], [0.0, 0.0])
        """
        if self.is_ours or "_get_lrs" in self.asked:
            self._update_count(index)
            return self._get_lrs(index), self._get_wds(index)
        answers = [{hook: getattr(self, hook)(i) for hook in self.asked} for i in index]
        # What is not asked for counts for nothing.
        lrs, wds = ([each.get(hook, 0.0) for each in answers] for hook in ("_get_lr", "_get_wd"))
        return lrs, wds

    def _check_shapes(self, index: Sequence[Hashable], weights: list[Tensor], grads: list[Tensor]) -> None:
        for i, weight, grad in zip(index, weights, grads, strict=True):
            if weight.shape != grad.shape:
                raise ShapeError(
                    f"{type(self).__name__}: the gradient of weight {self.idx2name.get(i, i)!r} must have its shape, "
                    f"{tuple(weight.shape)}; got {tuple(grad.shape)}"
                )

    def update_multi_precision(self, index: Indices, weight: Arrays, grad: Arrays, state: States) -> None:
        """Update weights, those of low precision through their master copies.

        >>> optimizer = create("sgd", learning_rate=0.5, multi_precision=True)
        >>> weight = NDArray(torch.ones(2, dtype=torch.float16))
        >>> state = optimizer.create_state_multi_precision(0, weight)
        >>> optimizer.update_multi_precision(0, weight, weight.copy(), state)
        >>> weight.tensor, state[1].tensor
        (tensor([0.5000, 0.5000], dtype=torch.float16), tensor([0.5000, 0.5000]))
        """
        low = self.multi_precision and any(map(self._has_master, in_lists(index, weight, grad, state)[1]))
        if self.impl_of == "update_multi_precision" and not self._has_own_update:
            self._update_impl(index, weight, grad, state, multi_precision=low)
        elif low:
            self._update_masters(self.update, index, weight, grad, state)
        else:
            self.update(index, weight, grad, state)

    def _update_masters(
        self, update: Callable[..., None], index: Indices, weight: Arrays, grad: Arrays, state: States
    ) -> None:
        """Call `update` with the master copies of weights of low precision in their positions, and round them."""
        indices, weights, grads, states = in_lists(index, weight, grad, state)
        low = [k for k, each in enumerate(weights) if self._has_master(each)]
        rounded = [weights[k] for k in low]
        weights, grads, states = list(weights), list(grads), list(states)  # the caller's stay as they are
        for k in low:
            pair = cast("tuple[StoredState, StoredState]", states[k])
            master, states[k] = pair if self.master_first else pair[::-1]
            weights[k] = cast(NDArray, master)
            grads[k] = wrap(grads[k].storage.to(dtype=torch.float32), grads[k].context)
        if isinstance(index, (list, tuple)) and self.takes_lists:
            update(index, weights, grads, states)
        else:
            for each in zip(indices, weights, grads, states, strict=True):
                update(*each)
        # Rounded from the masters, so that small steps add up there and are not lost.
        with torch.no_grad():
            if all([isinstance(each.storage, DenseStorage) for each in (*rounded, *[grads[k] for k in low])]):
                foreach.copy_([each.tensor for each in rounded], [weights[k].tensor for k in low])
                return
            for k, target in zip(low, rounded, strict=True):
                round_weight(target, weights[k], grads[k], self.is_lazy)

    def clip_arrays_together(self, grads: Sequence[NDArray]) -> Sequence[NDArray]:
        """Return gradients as `clip_global_norm` says, for who updates them one by one.

        >>> grads = [NDArray(torch.tensor([3.0])), NDArray(torch.tensor([4.0]))]
        >>> [each.tensor.item() for each in create("sgd", clip_global_norm=2.5).clip_arrays_together(grads)]
        [1.5, 2.0]
        """
        if self.clip_global_norm is None:
            return grads
        with torch.no_grad():
            clipped = clip_together([*map(values_of, grads)], self.clip_global_norm, self.rescale_grad)
        return [like_weight(value, grad) for value, grad in zip(clipped, grads, strict=True)]

    @property
    def is_lazy(self) -> bool:
        """Whether rows that a gradient lacks stay as they are.

        >>> from rebind.optimizer import SGD, RMSProp
        >>> SGD().is_lazy, SGD(lazy_update=False).is_lazy, RMSProp().is_lazy
        (True, False, False)
        """
        return getattr(self, "lazy_update", False)

    def _has_master(self, weight: NDArray) -> bool:
        return self.multi_precision and weight.storage.dtype in LOW_PRECISION

    @property
    def is_ours(self) -> bool:
        """Whether a program overrides nothing that an update calls, so that weights may be updated together.

        Otherwise each of MXNet's methods is called as there: with as many weights, in the same order.

        >>> class Old(Optimizer):
        ...     def update(self, index, weight, grad, state): ...
        >>> create("sgd").is_ours, Old().is_ours
        (True, False)
        """
        return not overrides(self, *_HOOKS, of=Optimizer) and vars(self).keys().isdisjoint(_REPLACED)

    @property
    def _overridden(self) -> list[str]:
        """The methods of `_HOOKS` that are a program's."""
        return [hook for hook in _HOOKS if overrides(self, hook, of=Optimizer)]

    @property
    def _has_own_update(self) -> bool:
        """Whether a program overrides `update` alone; it is called also where MXNet calls `_update_impl`."""
        found = self._overridden
        return "update" in found and not {"update_multi_precision", "_update_impl"} & set(found)

    @property
    def takes_all(self) -> bool:
        """Whether one call takes all weights that are updated, in lists."""
        return self.is_ours

    @property
    def takes_lists(self) -> bool:
        """Whether updates take lists; those of an old subclass need not."""
        if self.takes_all:
            return True
        # An `update` that MXNet never calls expects no lists.
        return self.aggregate_num > 0 and not (
            self.impl_of == "update_multi_precision" and self._has_own_update
        )

    def update_part(self, index: Sequence[Hashable]) -> UpdatePart:
        """Return the update of some weights as a pure function that a compiler can take; see `UpdatePart`.

        Raises
        ------
        StateError
            For an optimizer that overrides `update` or the like: what that does with arrays is not known.

        Examples
        --------
        >>> optimizer = create("sgd", learning_rate=0.5)
        >>> part = optimizer.update_part([0])
        >>> part([torch.ones(1)], [torch.ones(1)], [None], optimizer.rates([0]))
        ([tensor([0.5000])], [None])
        """
        if not self.is_ours:
            raise StateError(
                f"{type(self).__name__}.update_part: it must override no method that an update calls; got "
                f"{', '.join(self._overridden)}. Define step() instead."
            )
        return UpdatePart(self, tuple(index))

    def rates(
        self, index: Sequence[Hashable], device: torch.device | str = "cpu", last: Rates | None = None
    ) -> Rates:
        """Count an update of the weights, and return what an `UpdatePart` takes for it, on a device.

        `last` is what it has returned for the same weights and device, if nobody reads that any more: it may be written
        over.

        >>> rates = create("sgd", learning_rate=0.5).rates(["a", "b"])
        >>> rates.lr, rates.t
        (tensor([0.5000, 0.5000], dtype=torch.float64), tensor([1., 1.], dtype=torch.float64))
        """
        lrs, wds = self.next_rates(index)
        counts = [*map(self._index_update_count.__getitem__, index)]
        has_more = type(self).more_rates is not Algorithm.more_rates
        more = [self.more_rates(i, t) for i, t in zip(index, counts, strict=True)] if has_more else []
        # One seed for the step, from which `UpdatePart` derives one for each weight.
        seed = step_seed() if self.draws else None
        return make_rates(lrs, wds, counts, self.rescale_grad, more, seed, device, last)

    def step_state(self, index: Hashable, weight: NDArray, state: ArrayTree) -> StateTree:
        """Return the state of a weight, as the `Updater` has it, for an `UpdatePart`.

        >>> optimizer, weight = create("sgd", momentum=0.9), NDArray(torch.ones(2))
        >>> optimizer.step_state(0, weight, optimizer.create_state(0, weight))
        tensor([0., 0.])
        """
        return state_tensors(state)

    def write_step_state(self, index: Hashable, state: ArrayTree, new: StateTree) -> None:
        """Write what an `UpdatePart` returned into the state of a weight.

        >>> state = NDArray(torch.zeros(2))
        >>> create("sgd", momentum=0.9).write_step_state(0, state, torch.ones(2))
        >>> state.tensor
        tensor([1., 1.])
        """
        write_state(state, new)

    @staticmethod
    def register(klass: Class) -> Class:
        """Register an optimizer under the name of its class; a decorator."""
        if not isinstance(klass, type):
            raise ArgumentError(f"Optimizer.register: must be a class; got {shown(klass)}")
        registered: Class = optimizers.register(klass)
        return registered

    @staticmethod
    def create_optimizer(name: str | Optimizer, **kwargs: Any) -> Any:
        """Return the optimizer called `name`, with settings.

        >>> Optimizer.create_optimizer("SGD", learning_rate=0.5).learning_rate
        0.5
        """
        if isinstance(name, str) and name in optimizers:
            _check_settings(optimizers[name], (), kwargs, name)
        return optimizers.create(name, **kwargs)


optimizers: Registry[type[Optimizer]] = Registry("optimizer", Optimizer)
Optimizer.opt_registry = optimizers

register = Optimizer.register


def create(name: str | Optimizer, **kwargs: Any) -> Any:
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


#: What `Module` gives an optimizer; not for users, and so not in messages.
_NOT_SHOWN = ("self", "param_idx2name", "sym", "param_dict")
#: The names that settings have in other libraries.
_OTHER_NAMES = {
    "lr": "learning_rate", "weight_decay": "wd", "decay": "wd", "eps": "epsilon", "scheduler": "lr_scheduler",
    "betas": "beta1", "alpha": "gamma1", "clip": "clip_gradient", "clip_norm": "clip_global_norm",
}  # fmt: skip


def _check_settings(
    optimizer: type[Optimizer], positional: Sequence[object], given: Iterable[str], name: str | None = None
) -> None:
    """Check the names of settings where all are declared as fields; an old class takes what its `__init__` takes."""
    if "__dataclass_fields__" not in vars(optimizer):
        return
    who = f"optimizer {name!r}" if name else optimizer.__name__
    known = [name for name in inspect.signature(optimizer.__init__).parameters if name not in _NOT_SHOWN]
    if positional:
        raise ArgumentError(
            f"{who}: settings must be given by name; got {', '.join(map(shown, positional))}. Write "
            f"{optimizer.__name__}(learning_rate=...). Settings: {', '.join(sorted(known))}."
        )
    for setting in given:
        if setting not in known and setting not in _NOT_SHOWN:
            usual = _OTHER_NAMES.get(setting)
            near = f"; did you mean {usual!r}?" if usual in known else near_names(setting, known)
            raise ArgumentError(f"{who}: no setting {setting!r}{near} Settings: {', '.join(sorted(known))}.")
