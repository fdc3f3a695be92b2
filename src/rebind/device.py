"""Devices. `Context` (1.x) and `Device` (2.0) name one class."""

from __future__ import annotations

import contextvars
import functools
from collections.abc import Mapping
from typing import ClassVar

import torch

from .checks import WHOLE, check_kind
from .errors import ArgumentError, DeviceError, MXNetError, NameLookupError, ParameterError, near_names
from .gpu_settings import apply_gpu_settings

__all__ = [
    "Context", "Device", "cpu", "cpu_pinned", "current_context", "current_device", "device_of", "gpu",
    "gpu_memory_info", "num_gpus",
]  # fmt: skip

_set_up_gpus = functools.cache(apply_gpu_settings)  # once: what a program sets later stands
_current: contextvars.ContextVar[Device] = contextvars.ContextVar("rebind_device")
#: The defaults before each ``with device:`` that is open.
_entered: contextvars.ContextVar[tuple[Device, ...]] = contextvars.ContextVar("rebind_devices", default=())


class _HasDefault(type):
    """The class of `Device`, with MXNet's old way to the default device: an attribute of the class."""

    @property
    def default_ctx(cls) -> Device:
        """The default device of this thread, as `current_device`; assigning sets it."""
        return current_device()

    @default_ctx.setter
    def default_ctx(cls, device: Device) -> None:
        _current.set(as_device(device, "Context.default_ctx"))


class _Default:
    """The default device as MXNet's own code has it, ``Context._default_ctx.value``: programs assign a new one."""

    @property
    def value(self) -> Device:
        return current_device()

    @value.setter
    def value(self, device: Device) -> None:
        Device.default_ctx = device


class Device(metaclass=_HasDefault):
    """Where an array is: a kind and a number, such as ``cpu(0)`` or ``gpu(1)``.

    Several CPU devices are the same memory and processor and differ in their number only: a data-parallel program
    runs, and is tested, on ``[cpu(0), cpu(1)]`` as on two GPUs. ``with device:`` makes it the default.

    Examples
    --------
    >>> Device("cpu", 1)
    cpu(1)
    >>> with Device("cpu", 2):
    ...     current_device()
    cpu(2)
    """

    __slots__ = ("_torch", "device_id", "device_type")
    _default_ctx: ClassVar[_Default] = _Default()
    device_type: str
    device_id: int

    devtype2str: ClassVar[dict[int, str]] = {1: "cpu", 2: "gpu", 3: "cpu_pinned", 5: "cpu_shared"}
    devstr2type: ClassVar[dict[str, int]] = {kind: number for number, kind in devtype2str.items()}

    def __init__(self, device_type: str | Device, device_id: int = 0) -> None:
        if isinstance(device_type, Device):
            device_id = device_type.device_id
            device_type = device_type.device_type
        if not isinstance(device_type, str) or device_type not in self.devstr2type:
            raise NameLookupError(
                f"Device: device_type must be one of {', '.join(self.devstr2type)}; "
                f"got {device_type!r}{near_names(str(device_type), self.devstr2type)}"
            )
        check_kind("Device", WHOLE, device_id=device_id)
        self.device_type = device_type
        self.device_id = int(device_id)  # a NumPy integer too
        # That of a GPU is found at the first use: a device may be named, and written into a file, where it is not.
        self._torch = None if device_type == "gpu" else torch.device("cpu")

    @property
    def torch(self) -> torch.device:
        """The device as torch has it.

        Raises
        ------
        DeviceError
            For a GPU that cannot be used; it says why.

        Examples
        --------
        >>> Device("cpu", 1).torch
        device(type='cpu')
        """
        if self._torch is None:
            reason = _why_unusable(self.device_id)
            if reason:
                raise DeviceError(
                    f"{self}: must be an available GPU; {reason}. Use mx.cpu(), or another GPU."
                )
            _set_up_gpus()
            self._torch = torch.device("cuda", self.device_id)
        return self._torch

    @property
    def device_typeid(self) -> int:
        """MXNet's number for the kind, as in its files.

        >>> Device("gpu", 3).device_typeid
        2
        """
        return self.devstr2type[self.device_type]

    def __hash__(self) -> int:
        return hash((self.device_type, self.device_id))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Device)
            and self.device_type == other.device_type
            and self.device_id == other.device_id
        )

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __reduce__(self) -> tuple[type[Device], tuple[str, int]]:
        return Device, (self.device_type, self.device_id)

    def __setstate__(self, state: Mapping[str, int]) -> None:
        """Take the device from a pickle of MXNet's, which has the number of its kind."""
        Device.__init__(self, self.devtype2str[state["device_typeid"]], state["device_id"])

    def __enter__(self) -> Device:
        # What was entered is held here, for each thread, and not by the device: one object may serve several threads.
        _entered.set((*_entered.get(), _current.get(_cpu0)))
        _current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        # What was the default when the block began, whatever was set inside.
        *others, before = _entered.get()
        _entered.set(tuple(others))
        _current.set(before)

    def empty_cache(self) -> None:
        """Return memory that torch has cached on a GPU to the system."""
        if self.torch.type == "cuda":
            torch.cuda.empty_cache()


def _why_unusable(device_id: int) -> str:
    """Return why GPU number `device_id` cannot be used, or an empty text."""
    if torch.version.cuda is None and torch.version.hip is None:
        return f"this PyTorch ({torch.__version__}) is built without CUDA"
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:  # no driver, one that is too old, or no device
        return f"CUDA does not start: {str(error).strip().splitlines()[0]}"
    count = torch.cuda.device_count()
    return "" if device_id < count else f"this machine has {count}, numbered from 0"


Context = Device  # MXNet 1.x's name
_cpu0 = Device("cpu", 0)


def device_of(device: torch.device) -> Device:
    """Return where tensors on a device of torch's are; of those on the CPU nothing says which number.

    >>> device_of(torch.device("cuda", 1)), device_of(torch.device("cpu"))
    (gpu(1), cpu(0))
    """
    return Device("gpu", device.index or 0) if device.type == "cuda" else _cpu0


def cpu(device_id: int = 0) -> Device:
    """Return the CPU device number `device_id`.

    >>> cpu(1)
    cpu(1)
    """
    return Device("cpu", device_id)


def cpu_pinned(device_id: int = 0) -> Device:
    """Return the device for arrays in page-locked memory, from which copies to a GPU are fast.

    >>> cpu_pinned()
    cpu_pinned(0)
    """
    return Device("cpu_pinned", device_id)


def gpu(device_id: int = 0) -> Device:
    """Return the GPU number `device_id`; it is checked when it is first used.

    >>> gpu(1)
    gpu(1)
    """
    return Device("gpu", device_id)


def num_gpus() -> int:
    """Return the number of GPUs.

    >>> ctx = [gpu(i) for i in range(num_gpus())] or [cpu()]  # all GPUs, or else the CPU
    """
    return torch.cuda.device_count()


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Return the free and the total bytes of a GPU's memory."""
    count = num_gpus()
    if not 0 <= device_id < count:
        raise ParameterError(
            f"gpu_memory_info: device_id must be below {count}, the GPUs here; got {device_id}"
        )
    return torch.cuda.mem_get_info(device_id)


def current_device() -> Device:
    """Return the default device: that of the innermost ``with device:``, else ``cpu(0)``.

    >>> with cpu(2):
    ...     current_device()
    cpu(2)
    """
    return _current.get(_cpu0)


current_context = current_device


def as_device(value: object, who: str) -> Device:
    """Return `value` if it is a device, the default if it is None; otherwise an error that names `who`.

    >>> as_device(None, "bind: ctx"), as_device(gpu(1), "bind: ctx")
    (cpu(0), gpu(1))
    """
    if value is None:
        return current_device()
    if isinstance(value, Device):
        return value
    if isinstance(value, str):  # as it is in symbols
        try:
            return parse_device(value)
        except MXNetError as error:
            raise type(error)(f"{who}: {error}") from None
    raise ArgumentError(f"{who} must be a Device such as mx.cpu() or mx.gpu(0); got {value!r}")


def as_devices(value: object, who: str) -> list[Device]:
    """Return the devices of an argument that is one or a list of them; the default if it is None.

    >>> as_devices(gpu(1), "bind: ctx"), as_devices(["cpu", cpu(1)], "bind: ctx")
    ([gpu(1)], [cpu(0), cpu(1)])
    """
    if value is None or isinstance(value, (Device, str)):
        return [as_device(value, who)]
    if not isinstance(value, (list, tuple)) or not value or None in value:
        raise ArgumentError(f"{who} must be a Device or a list of them; got {value!r}")
    return [as_device(each, who) for each in value]


def parse_device(text: str) -> Device:
    """Return the device of a string such as ``cpu(0)`` or ``gpu(1)``, as in symbols.

    >>> parse_device("gpu(1)"), parse_device("cpu")
    (gpu(1), cpu(0))
    """
    kind, _, number = text.rstrip(")").partition("(")
    if number and not number.isdecimal():
        raise ParameterError(f"Device: must be a kind and a number, such as 'gpu(0)'; got {text!r}")
    return Device(kind, int(number or 0))
