"""When in a step of one worker each layer is computed and each gradient becomes ready: measured in plain PyTorch."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from .networks import Row
from .peers_torch import TorchDriver, parameter_groups

__all__ = ["Group", "Parameter", "Profile", "measure_profile"]


@dataclass(frozen=True)
class Parameter:
    """A parameter: its bytes, and after how many seconds of a step its gradient is there."""

    name: str
    bytes: int
    ready: float


@dataclass(frozen=True)
class Group:
    """Layers whose parameters FSDP2 gathers together: their bytes, and the seconds of forward and backward."""

    bytes: int
    forward: float
    backward: float


@dataclass(frozen=True)
class Profile:
    """A step of one worker.

    Attributes
    ----------
    parameters, groups
        In the order of forward.
    backward_end
        After how many seconds backward is done.
    update
        The seconds that the update of all weights takes then.
    """

    parameters: Sequence[Parameter]
    groups: Sequence[Group]
    backward_end: float
    update: float

    @property
    def bytes(self) -> int:
        """The bytes of all gradients.

        >>> Profile([Parameter("w", 8, 0.1), Parameter("b", 4, 0.2)], [], 0.2, 0.1).bytes
        12
        """
        return sum(each.bytes for each in self.parameters)

    @property
    def step(self) -> float:
        """The seconds of the step.

        >>> Profile([], [], backward_end=0.5, update=0.25).step
        0.75
        """
        return self.backward_end + self.update

    def faster(self, times: float) -> Profile:
        """Return the step of a worker that computes so many times as fast.

        >>> Profile([Parameter("w", 8, 0.5)], [], 0.5, 0.25).faster(2).parameters
        [Parameter(name='w', bytes=8, ready=0.25)]
        """
        return Profile(
            [Parameter(each.name, each.bytes, each.ready / times) for each in self.parameters],
            [Group(each.bytes, each.forward / times, each.backward / times) for each in self.groups],
            self.backward_end / times,
            self.update / times,
        )

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Profile:
        """Return what `dataclasses.asdict` made a mapping of.

        >>> from dataclasses import asdict
        >>> made = Profile([Parameter("w", 8, 0.5)], [Group(8, 0.1, 0.4)], 0.5, 0.25)
        >>> Profile.read(asdict(made)) == made
        True
        """
        return cls(
            [Parameter(**each) for each in content["parameters"]],
            [Group(**each) for each in content["groups"]],
            content["backward_end"],
            content["update"],
        )


def measure_profile(row: Row, steps: int = 7) -> Profile:
    """Return the medians of some steps, in seconds of the processor in one thread."""
    torch.set_num_threads(1)
    recorder = _Recorder(TorchDriver(row))
    recorder.step()  # the first allocates
    marks = [recorder.step() for _ in range(steps)]
    median = {name: statistics.median(each[name] for each in marks) for name in marks[0]}
    model = recorder.driver.model
    parameters = [
        Parameter(name, parameter.nbytes, median[f"ready {name}"])
        for name, parameter in model.named_parameters()
    ]
    return Profile(
        parameters, _groups(model, median), median["backward end"], median["end"] - median["backward end"]
    )


class _Recorder:
    """Notes when in a step modules begin and end, and gradients become ready."""

    def __init__(self, driver: TorchDriver) -> None:
        self.driver = driver
        self._marks: dict[str, float] = {}
        for name, module in parameter_groups(driver.model).items():
            module.register_forward_pre_hook(self._mark(f"begin {name}"))
            module.register_forward_hook(self._mark(f"end {name}"))
        for name, parameter in driver.model.named_parameters():
            parameter.register_post_accumulate_grad_hook(self._mark(f"ready {name}"))
        driver.model.register_forward_hook(self._mark("backward begin"))
        driver.optimizer.register_step_pre_hook(self._mark("backward end"))

    def _mark(self, name: str) -> Any:
        def note(*_: object) -> None:
            self._marks[name] = time.process_time() - self._start

        return note

    def step(self) -> dict[str, float]:
        """Run a step; return the seconds from its begin to each mark."""
        self._marks, self._start = {}, time.process_time()
        self.driver.run(1)
        self._marks["end"] = time.process_time() - self._start
        return self._marks


def _groups(model: nn.Module, marks: Mapping[str, float]) -> list[Group]:
    """Return the groups in the order of forward; what belongs to none is the first, as FSDP2's root module."""
    modules = parameter_groups(model)
    of_groups = {id(parameter) for module in modules.values() for parameter in module.parameters()}
    rest = [name for name, parameter in model.named_parameters() if id(parameter) not in of_groups]
    members = {
        name: [f"{name}.{each}" for each, _ in module.named_parameters()] for name, module in modules.items()
    }
    forward = {name: marks[f"end {name}"] - marks[f"begin {name}"] for name in modules}
    if rest:
        members = {"": rest, **members}
        forward[""] = max(min(marks[f"begin {name}"] for name in modules), 0.0)
    sizes = {name: parameter.nbytes for name, parameter in model.named_parameters()}
    last = {name: max(marks[f"ready {each}"] for each in own) for name, own in members.items()}
    begun = marks["backward begin"]
    backward = {}
    for name in sorted(last, key=last.__getitem__):
        backward[name], begun = last[name] - begun, last[name]
    return [
        Group(sum(map(sizes.__getitem__, own)), forward[name], backward[name])
        for name, own in members.items()
    ]
