"""Passes of a group on one device, for batches like the last one."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ..cache import RunCache
from ..cached_pass import BatchInputs, CachedPass
from ..executor import Executor
from .routing import Inputs

__all__ = ["PassCache", "inputs_of_one_device"]


def inputs_of_one_device(data: Inputs, labels: Inputs, execs: Sequence[Executor]) -> BatchInputs | None:
    """Return the inputs of a group's one executor; None for several devices, or where a batch has more than it.

    >>> import rebind as mx
    >>> from rebind.executor.group.split import Split
    >>> exe = (mx.sym.var("x") * 2).simple_bind(mx.cpu(), x=(3,))
    >>> split, arrays = Split((slice(0, 3),)), [exe.arg_dict]
    >>> data, more = (Inputs.of("data", [mx.io.DataDesc(n, (3,))], split, arrays) for n in ("x", "y"))
    >>> [inputs_of_one_device(data, labels, [exe]) is None for labels in (data, more)]
    [False, True]
    """
    kinds = (data, labels)
    if len(execs) > 1 or any([*each.targets] != [*range(len(each.names))] for each in kinds):
        return None
    return BatchInputs(*([target.arrays[0] for target in each.targets.values()] for each in kinds))


class PassCache:
    """The cached passes of a group's executors, as long as these are the group's; none on several devices.

    Parameters
    ----------
    execs, inputs
        The executors, and the inputs of the only one; None for several devices.

    Attributes
    ----------
    training, inference
        Forward and backward, and forward alone.
    steps
        Either with an update, which a module caches here.

    Examples
    --------
    >>> import rebind as mx
    >>> exe = mx.sym.square(mx.sym.var("x")).simple_bind(mx.cpu(), grad_req="null", x=(1,))
    >>> passes = PassCache([exe], BatchInputs([exe.arg_dict["x"]], []))
    >>> batch = mx.io.DataBatch([mx.nd.array([3])])
    >>> passes.run(batch, is_train=False), exe.forward(), passes.run(batch, is_train=False)
    (False, [...], True)
    >>> exe.outputs[0].item()
    9.0
    """

    def __init__(self, execs: Sequence[Executor], inputs: BatchInputs | None) -> None:
        self.runner, self.inputs = execs[0].runner, inputs
        self.training: RunCache[CachedPass] = RunCache()
        self.inference: RunCache[CachedPass] = RunCache()
        self.steps: RunCache[Any] = RunCache()

    def run(self, batch: object, is_train: bool) -> bool:
        """Run a pass for a batch like the last one; return whether that was done. If not, nothing has changed.

        In training it is forward and backward.
        """
        cache = self.training if is_train else self.inference
        if self.inputs is None or not self.runner.has_run or not (cache.may_make or cache.run is not None):
            return False
        arrays = self.inputs.read(batch)
        if arrays is None or (is_train and len(arrays) < len(self.inputs.arrays)):
            return False
        cached = cache.find(functools.partial(CachedPass.of, self.runner, self.inputs, is_train))
        return cached is not None and cache.note(cached.run(arrays))

    def describe(self) -> str:
        """Return a line that says which passes are cached, as of now.

        >>> import rebind as mx
        >>> exe = mx.sym.var("x").simple_bind(mx.cpu(), x=(1,))
        >>> PassCache([exe], BatchInputs([exe.arg_dict["x"]], [])).describe()
        'cached: nothing'
        """
        caches = {"forward with backward": self.training, "inference": self.inference, "the step": self.steps}
        names = [name for name, cache in caches.items() if cache.run is not None]
        return f"cached: {', '.join(names) or 'nothing'}"
