"""An executor's runs of forward and backward as one call, and, compiled, of the update with them."""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..grad_mode import grad_mode
from ..ndarray import NDArray
from ..ndarray.same_memory import are_dense
from ..ndarray.storage import Storage
from .backward import Pass
from .bound import BoundArrays
from .compiling import reason_of
from .explicit import Halves
from .inspection import Inspection
from .kept import Kept
from .lower import Plan
from .prepared import Preparation
from .updating import NotCompiledError, Update, UpdatingStep, updating_step
from .whole import WholeStep, two_halves, whole_step

__all__ = ["WholeRuns"]


class WholeRuns(Inspection):
    """An executor as far as it runs forward and backward together; `Executor` adds the runs of each by itself."""

    _kept: Kept
    _last: Pass | None
    has_run: bool

    @abstractmethod
    def _forward_alone(self, is_train: bool) -> list[NDArray]:
        """Run forward without what follows it, and return the outputs."""

    @abstractmethod
    def backward(self) -> None:
        """Compute the gradients of the last `forward`."""

    def _kept_values(self, preparation: Preparation, storages: Sequence[Storage]) -> Sequence[Any] | None:
        """Return what is kept of the parameters; None if it cannot be."""
        return self._kept.values(preparation, storages, not self._arrays.wanted)

    def _move_statistics(self, last: Pass) -> None:
        """Write the auxiliary states that a pass has computed, of operators whose backward runs."""
        moved = zip(self._arrays.updated_states, last.new_aux, strict=True)
        pairs = [(state, value) for state, value in moved if value is not None and state is not None]
        if not pairs:
            return
        if are_dense([state for state, _ in pairs]):  # in one call: a network may have a hundred
            with grad_mode(False):
                torch._foreach_copy_(
                    [state.writable_tensor() for state, _ in pairs], [value for _, value in pairs]
                )
            return
        for state, value in pairs:
            state.write(value)

    def forward_before_backward(self) -> list[NDArray]:
        """Run forward in training mode, where `backward` is the next call and nothing is written in between.

        Outputs and gradients are then computed together, in compiled code or, where all operators declare their
        derivatives, in code without autograd, unless an output needs a head gradient; `backward` puts them into their
        arrays.

        >>> import rebind as mx
        >>> exe = mx.sym.MakeLoss(mx.sym.var("x") ** 2).simple_bind(mx.cpu(), x=(1,))
        >>> exe.arg_dict["x"][:] = 3
        >>> exe.forward_before_backward()[0].item()
        9.0
        >>> exe.backward()
        >>> exe.grad_dict["x"].item()
        6.0
        """
        return self._forward_with_gradients(backward_follows=True)

    def _forward_with_gradients(self, backward_follows: bool) -> list[NDArray]:
        """Run forward, and compute gradients with it where that goes; say whether `backward` is the next call."""
        wanted, plan = self._arrays.wanted_positions, self._plan_of_whole_steps()
        if plan is None or wanted is None:
            return self._forward_alone(is_train=True)
        step = plan.steps[wanted] if wanted in plan.steps else whole_step(plan, wanted)
        if step is None:
            return self._forward_alone(is_train=True)
        if backward_follows:  # else they may be asked for
            self._release_gradients()
        try:
            return self._run_whole(plan, step, self._arrays.tensors)
        except Exception as error:
            reason = reason_of(error)  # not the error, which holds this run's arrays
        # The user's mistake, if it is one, is an error here too, or of backward. Otherwise it is the compiler's, and
        # goes in two calls from now on.
        outputs = self._forward_alone(is_train=True)
        if plan.compiled is not None:
            plan.steps[wanted] = None
            self._plans.say_not_joined("forward and backward", plan, reason)
        return outputs

    def updating(self, update: Update) -> Callable[[], None] | None:
        """Return forward, backward and `update` as one call of compiled code; None where that does not go.

        The network must be compiled, nobody may watch, and the update must be of all arguments that get gradients.
        """
        wanted, plan = self._arrays.wanted_positions, self._plan_of_whole_steps()
        if plan is None or plan.compiled is None or wanted is None:
            return None
        if not _are_updated(self._arrays, update.names):
            return None
        step = updating_step(plan, wanted, update)
        return None if step is None else functools.partial(self._run_updating, plan, step, update)

    def _run_updating(self, plan: Plan, step: UpdatingStep, update: Update) -> None:
        assert plan.compiled is not None
        states, rates = update.begin()
        self._release_gradients()
        try:
            tensors_of = functools.partial(_memory, self._arrays)
            self._run_whole(plan, functools.partial(step, states, rates), tensors_of)
            self.backward()
            return
        except NotCompiledError as error:
            reason = str(error)
        # The user's mistake, if it is one, is an error here too.
        self.forward_before_backward()
        self.backward()
        update.finish(states, rates)
        update.steps[plan.compiled] = None
        self._plans.say_not_joined("forward, backward and update", plan, reason)

    def _plan_of_whole_steps(self) -> Plan | None:
        """Return the plan for training if it is compiled, or may go without autograd, and nobody watches."""
        if self._handles is None or self._monitor is not None:
            return None
        compiles = self._plans.compiles and not self._plans.freezing
        return self._plans.get(is_train=True) if compiles or self._may_be_explicit() else None

    def _may_be_explicit(self) -> bool:
        """Whether memory allows for code without autograd.

        It computes new gradients beside the old ones, and keeps all that declared derivatives are given, of which some
        read little. Of networks for which that is much, autograd's own time does not count.
        """
        return self._plans.has_small_results and not self._arrays.has_large_gradients

    def _halves(self, plan: Plan) -> Halves | None:
        """Return a plan's forward and backward without autograd, where that goes."""
        wanted = self._arrays.wanted_positions
        if wanted is None or not self._may_be_explicit():
            return None
        return plan.halves[wanted] if wanted in plan.halves else two_halves(plan, wanted)

    def _release_gradients(self) -> None:
        """Free the gradients of the last run, where their memory counts, before they are computed anew."""
        if self._arrays.has_large_gradients:
            self._arrays.release_gradients()

    def _run_whole(
        self, plan: Plan, step: WholeStep, tensors_of: Callable[[], list[Tensor]]
    ) -> list[NDArray]:
        """Run forward and backward together."""
        self._last = None
        self._kept.clear()
        assert self._handles is not None
        self._handles.release_large()
        source, random_state = plan.random_source(self._device)
        self._arrays.fill(plan.constants)
        tensors = tensors_of()
        with grad_mode(False), self._plans.threads():
            found = step(tensors, source)
        self._last = Pass(plan, None, found.new_aux, random_state, found.gradients)
        self.has_run = True
        return self._handles.show(found.outputs)


def _memory(arrays: BoundArrays) -> list[Tensor]:
    """Return what `BoundArrays.tensors` does, with the arrays' own memory for arguments that are to be written.

    >>> import rebind as mx
    >>> exe = mx.sym.var("x").simple_bind(mx.cpu(), x=(2,))
    >>> _memory(exe._arrays)[0] is exe.arg_dict["x"].tensor
    True
    """
    tensors = [
        slot.tensor() if slot.grad is None or slot.array is None else slot.array.writable_tensor()
        for slot in arrays.order
    ]
    return tensors + [state.tensor for state in arrays.aux.values() if state is not None]


def _are_updated(arrays: BoundArrays, names: Sequence[str]) -> bool:
    """Return whether the arguments that get gradients are these, each with memory of its own, to be written over.

    >>> import rebind as mx
    >>> exe = mx.sym.var("x").simple_bind(mx.cpu(), x=(2,))
    >>> _are_updated(exe._arrays, ["x"]), _are_updated(exe._arrays, [])
    (True, False)
    """
    found = [name for name, slot in arrays.slots.items() if slot.grad is not None]
    memory = [slot.array.storage.tensor for slot in arrays.wanted if slot.array is not None]
    return (
        found == list(names)
        and all(slot.request == "write" for slot in arrays.wanted)
        and all(tensor is not None for tensor in memory)
        and len(set(map(id, memory))) == len(found)
    )
