"""Copies of a module, by `pickle` and `copy.deepcopy`."""

from __future__ import annotations

from typing import TypeAlias, cast

from ..optimizer import Optimizer
from ..protocols import StateTree
from .bound_module import BoundModule
from .settings import Binding

__all__ = ["Copies"]

#: What makes executors and updaters of a copy: how to bind it; kind of store, optimizer and state of the run.
Copied: TypeAlias = "tuple[Binding | None, tuple[str | None, Optimizer, StateTree] | None]"


class Copies(BoundModule):
    """A module whose copies are bound as it is, with its parameters, optimizer and states; `Module` adds the steps.

    >>> import copy, rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
    >>> module.bind([("data", (1,))])
    >>> module.set_params({"w": mx.nd.array([5])}, {})
    >>> copy.deepcopy(module).get_params()[0]["w"].item()
    5.0
    """

    def __getstate__(self) -> dict[str, object]:
        # Executors and updaters are made again: what is copied is how to make them, and the values.
        policy = self.policy
        kind = None if policy is None or policy.store is None else policy.store.type
        optimizer = None if policy is None else policy.optimizer_in_use
        training = (kind, optimizer, self.run_state()) if policy is not None else None
        rest = {**super().__getstate__(), "_group": None, "_policy": None, "_joined": None}
        return {**rest, "_copied": (self.binding if self.binded else None, training)}

    def __setstate__(self, state: dict[str, object]) -> None:
        binding, training = cast(Copied, state.pop("_copied"))
        super().__setstate__(state)
        if binding is not None:
            self.bind(
                binding.data,
                binding.labels,
                binding.for_training,
                binding.inputs_need_grad,
                grad_req=binding.grad_req,
            )
        if training is not None:
            kvstore, optimizer, run = training
            self.init_optimizer(kvstore, optimizer)
            # Last: binding and a new optimizer start from nothing.
            self.load_run_state(run)
