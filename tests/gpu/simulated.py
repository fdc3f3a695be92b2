"""GPUs that are simulated on the CPU, so that what rebind does on GPUs can be tried where there is none.

Each tensor is noted to be somewhere, says so (`device`, `is_cuda`), and PyTorch's own rules for devices are applied to
each call of an operator, also of autograd's: arrays of two devices do not meet, operators without code for CUDA are
refused, and so are products of whole numbers. The numbers are computed by the CPU's code. What is copied between
devices, and what waits for a GPU, is counted. A CUDA graph runs again what was captured, when nothing waited.

What this cannot show: CUDA's own numbers and faults, streams, and compiled code.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any
from unittest import mock

import torch
import torchgen
from torch import Tensor
from torch._ops import OpOverload
from torch.multiprocessing.reductions import StorageWeakRef
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from rebind import generators
from rebind._torch.tensors import make_wrapper
from rebind.device import Device
from rebind.executor import cuda_graphs
from rebind.ndarray.storage_tensor import StorageTensor

__all__ = ["Traffic", "simulated_gpus"]

CPU = torch.device("cpu")
#: Of what a composite operator made for itself, in C++: it asked for the device of its inputs, which was not seen.
ANYWHERE = torch.device("lazy")

#: What is counted: copies "to a GPU", "from a GPU" and "between GPUs", and "waits" for what GPUs compute: for a value,
#: and for all that came before a copy, unless it is from pinned memory and need not block.
Traffic = Counter[str]

# PyTorch hands on `__get__` of its attributes as the function that is called; its stubs declare plain types there.
_GETTERS = {
    Tensor.device.__get__: lambda device: device,  # type: ignore[attr-defined]
    Tensor.is_cuda.__get__: lambda device: device.type == "cuda",  # type: ignore[attr-defined]
    Tensor.is_cpu.__get__: lambda device: device.type == "cpu",  # type: ignore[attr-defined]
    Tensor.get_device: lambda device: device.index if device.type == "cuda" else -1,
}
#: Calls that bring a tensor to the device that they name, or leave it where it is.
_MOVES = {Tensor.to, Tensor.cpu, Tensor.cuda, torch.as_tensor, torch.asarray}
#: Calls whose results are on the CPU, unless they name a device.
_FACTORIES = {
    torch.arange, torch.empty, torch.empty_strided, torch.eye, torch.full, torch.linspace, torch.logspace, torch.normal,
    torch.ones, torch.rand, torch.randint, torch.randn, torch.randperm, torch.tensor, torch.tril_indices,
    torch.triu_indices, torch.zeros,
}  # fmt: skip
#: Operators that take tensors of several devices.
_CROSSING = {"copy_", "_to_copy", "_foreach_copy_"}
#: Operators whose second argument is a list of indices, which may be on the CPU.
_INDEXED = {"index", "_unsafe_index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index_put"}
#: Operators whose result's shape, or the result itself, Python has to know.
_WAITING = {
    "_local_scalar_dense", "_unique2", "equal", "is_nonzero", "masked_select", "nonzero", "unique_consecutive",
    "unique_dim",
}  # fmt: skip
#: Operators that take a number of the CPU without axes, beside those that compute element by element.
_WITH_NUMBERS = {"fill", "fill_", "index_put", "index_put_", "masked_fill", "masked_fill_"}
_PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot", "vdot", "convolution"}


class Placement:
    """Where each tensor is: what is not noted is on the CPU."""

    def __init__(self) -> None:
        # A weak reference keeps the address of a storage from being given to another one.
        self._noted: dict[int, tuple[StorageWeakRef, torch.device]] = {}
        self._limit = 1000
        self._pinned: dict[int, StorageWeakRef] = {}
        self.latest = CPU  # where an operator last computed
        # PyTorch makes a generator for a GPU only where there is one.
        self.generators: set[int] = set()

    def pin(self, tensor: Tensor) -> None:
        with torch._C.DisableTorchFunction():
            storage = tensor.untyped_storage()
            self._pinned[storage._cdata] = StorageWeakRef(storage)

    def is_pinned(self, tensor: Tensor) -> bool:
        with torch._C.DisableTorchFunction():
            return tensor.untyped_storage()._cdata in self._pinned

    def of(self, tensor: Tensor) -> torch.device:
        if isinstance(tensor, StorageTensor):  # it has no memory: where its parts are
            return self.of(next(iter(tensor.stored.tensors.values())))
        with torch._C.DisableTorchFunction():
            if tensor.device.type != "cpu":
                return tensor.device
            if tensor.layout is not torch.strided:
                return CPU
            found = self._noted.get(tensor.untyped_storage()._cdata)
        return CPU if found is None else found[1]

    def put(self, tensor: Tensor, device: torch.device) -> None:
        with torch._C.DisableTorchFunction():
            if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
                return
            storage = tensor.untyped_storage()
            self._noted[storage._cdata] = (StorageWeakRef(storage), device)
        if len(self._noted) > self._limit:
            self._noted = {key: pair for key, pair in self._noted.items() if not pair[0].expired()}
            self._pinned = {key: each for key, each in self._pinned.items() if not each.expired()}
            self._limit = 2 * len(self._noted) + 1000

    def move(self, tensor: Tensor, device: torch.device) -> Tensor:
        """Return the tensor on `device`, itself or a copy, of which autograd brings the gradient back."""
        return tensor if self.of(tensor) == device else _Moved.apply(tensor, self, device)

    def check_generator(self, kwargs: Mapping[str, Any], device: torch.device) -> None:
        """Raise PyTorch's error for the generator of another kind of device, where a call is given one."""
        generator = kwargs.get("generator")
        # Operators are given one as another object of Python's.
        if generator is not None and (device.type == "cuda") != (generator._cdata in self.generators):
            raise RuntimeError(f"Expected a '{device.type}' device type for generator")


class _Moved(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, tensor: Tensor, placement: Placement, device: torch.device) -> Tensor:
        ctx.back = functools.partial(placement.move, device=placement.of(tensor))
        copied = torch.empty_like(tensor).copy_(tensor)
        placement.put(copied, device)
        return copied

    # The stub of the base has any number of gradients; this has one.
    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        return ctx.back(grad), None, None


class _Calls(TorchFunctionMode):
    """What Python calls: attributes of tensors, and calls that name a device."""

    def __init__(self, placement: Placement, traffic: Traffic) -> None:
        super().__init__()
        self._placement = placement
        self._traffic = traffic

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in _GETTERS:
            device = self._placement.of(args[0])
            return _GETTERS[func](self._placement.latest if device == ANYWHERE else device)
        if func is torch.device:
            return func(*args, **kwargs)
        if kwargs.pop("pin_memory", False) or func is Tensor.pin_memory:
            made = args[0].clone() if func is Tensor.pin_memory else func(*args, **kwargs)
            self._placement.put(made, CPU)
            self._placement.pin(made)
            return made
        if func in (Tensor.numpy, Tensor.__array__) and self._placement.of(args[0]).type == "cuda":
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() first.")
        if func is Tensor.tolist and self._placement.of(args[0]).type == "cuda":
            self._traffic["waits"] += 1
        named = self._named_device(func, args, kwargs)
        if func is Tensor.new_tensor:
            named = named or self._placement.of(args[0])
        if named is None:
            made = func(*args, **kwargs)
            if func in _FACTORIES and isinstance(made, Tensor):
                self._placement.check_generator(kwargs, CPU)
                self._placement.put(made, CPU)
            return made
        if named.type == "meta":
            return func(*args, **kwargs)
        made = func(*map(_to_cpu, args), **{key: _to_cpu(value) for key, value in kwargs.items()})
        self._placement.check_generator(kwargs, named)
        if not isinstance(made, Tensor):
            return made
        if func in _MOVES:
            blocks = not (kwargs.get("non_blocking") and self._placement.is_pinned(made))
            count_copy(self._traffic, self._placement.of(made), named, blocks)
            return self._placement.move(made, named)
        self._placement.put(made, named)
        return made

    def _named_device(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> torch.device | None:
        if func is Tensor.cpu:
            return CPU
        if func is Tensor.to and isinstance(args[1] if len(args) > 1 else None, Tensor):
            return self._placement.of(args[1])
        for value in (*args, *kwargs.values()):
            if isinstance(value, torch.device) or (
                isinstance(value, str) and re.fullmatch(r"cpu|cuda(:\d+)?", value)
            ):
                device = torch.device(value)
                return torch.device("cuda", device.index or 0) if device.type == "cuda" else device
        return None


def count_copy(traffic: Traffic, source: torch.device, target: torch.device, blocks: bool) -> None:
    if source == target or ANYWHERE in (source, target):
        return
    kinds = source.type == "cuda", target.type == "cuda"
    traffic[{(False, True): "to a GPU", (True, False): "from a GPU"}.get(kinds, "between GPUs")] += 1
    if blocks and not all(kinds):
        traffic["waits"] += 1


def _to_cpu(value: Any) -> Any:
    if isinstance(value, torch.device) and value.type == "cuda":
        return CPU
    return "cpu" if isinstance(value, str) and re.fullmatch(r"cuda(:\d+)?", value) else value


class _Operators(TorchDispatchMode):
    """What PyTorch computes, autograd's operators too: each keeps to the rules for devices."""

    def __init__(self, placement: Placement, traffic: Traffic) -> None:
        super().__init__()
        self._placement = placement
        self._traffic = traffic

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [each for each in tree_leaves((args, kwargs)) if isinstance(each, Tensor)]
        device = self._device(func, args, tensors)
        if device != ANYWHERE:
            self._placement.check_generator(kwargs, device)
        made = func(*args, **kwargs)
        if func.overloadpacket.__name__.startswith("_foreach_") and not made:
            # Under a mode PyTorch leaves out to count what these have written.
            torch.autograd.graph.increment_version(args[0])
        with torch._C.DisableTorchFunction():
            given = {each.untyped_storage()._cdata for each in tensors if each.layout is torch.strided}
            for each in tree_leaves(made):
                if (
                    isinstance(each, Tensor)
                    and each.layout is torch.strided
                    and each.untyped_storage()._cdata not in given
                ):
                    self._placement.put(each, device)
        return made

    def _device(self, func: OpOverload, args: Any, tensors: Sequence[Tensor]) -> torch.device:
        """Return where the results are, having seen that the operator is possible there."""
        name = func.overloadpacket.__name__
        places = [(self._placement.of(each), each) for each in tensors]
        if name in _CROSSING:
            may_wait = name != "copy_" or not (args[2:] and args[2])
            for (target, _), (source, given) in zip(places, places[len(places) // 2 :], strict=False):
                count_copy(self._traffic, source, target, may_wait or not self._placement.is_pinned(given))
            return places[0][0]
        takes_numbers = (
            torch.Tag.pointwise in func.tags or name in _WITH_NUMBERS or name.startswith("_foreach_")
        )
        found = {
            place
            for place, each in places
            if place != ANYWHERE and not (takes_numbers and place == CPU and not each.dim())
        }
        if name in _INDEXED:
            found -= {place for place, each in places if place == CPU and _is_in(each, args[1])}
            found |= {self._placement.of(args[0])} - {ANYWHERE}
        if len(found) > 1:
            shown = ", ".join(f"{place} {tuple(each.shape)}" for place, each in places)
            raise RuntimeError(f"{name}: Expected all tensors to be on the same device; found {shown}")
        if not found:
            return CPU if places and all(place == CPU for place, _ in places) else ANYWHERE
        (device,) = found
        self._placement.latest = device
        if device.type == "cuda":
            self._check(func, name, tensors)
            masks = name in _INDEXED and any(
                each is not None and each.dtype in (torch.bool, torch.uint8) for each in args[1]
            )
            if name in _WAITING or masks:
                self._traffic["waits"] += 1
        return device

    def _check(self, func: OpOverload, name: str, tensors: Sequence[Tensor]) -> None:
        if func.namespace.startswith("mkldnn") or "mkldnn" in name or _schema_name(func) in only_on_cpus():
            # The class that PyTorch raises where an operator has no kernel for a device.
            raise NotImplementedError(f"{func}: has no code for CUDA")
        if name in _PRODUCTS and not (tensors[0].is_floating_point() or tensors[0].is_complex()):
            raise RuntimeError(f"\"{name}_cuda\" not implemented for '{tensors[0].dtype}'")


def _is_in(tensor: Tensor, indices: Sequence[Tensor | None]) -> bool:
    return any(each is tensor for each in indices)


def _schema_name(func: OpOverload) -> str:
    return func._schema.name.split("::")[1] + (
        f".{func._overloadname}" if func._overloadname != "default" else ""
    )


@functools.cache
def only_on_cpus() -> frozenset[str]:
    """Return the operators with code for CPUs and none for CUDA, by what PyTorch's own table declares."""
    text = (Path(torchgen.__file__).parent / "packaged/ATen/native/native_functions.yaml").read_text()
    keys: dict[str, set[str]] = {}
    delegates: dict[str, str] = {}
    for entry in re.split(r"^- func: ", text, flags=re.MULTILINE)[1:]:
        name = entry[: entry.index("(")]
        if match := re.search(r"^  structured_delegate: (\S+)", entry, re.MULTILINE):
            delegates[name] = match[1]
        found = re.findall(r"^    ((?:\w+)(?:, \w+)*): \w", entry, re.MULTILINE)
        keys[name] = {key for line in found for key in line.split(", ")}
    return frozenset(
        name
        for name in keys
        if "CPU" in (declared := keys[delegates.get(name, name)] | keys[name])
        and not any("Composite" in key for key in declared)
        and "CUDA" not in declared
    )


def capture(
    traffic: Traffic, run: Callable[..., Sequence[Tensor]], inputs: Sequence[Tensor]
) -> cuda_graphs.Capture:
    """Do what `capture_on_gpu` does: a replay runs the function again, and writes its results over the last ones.

    Nothing may be waited for, or copied from or to the CPU, while a GPU's launches are captured.
    """
    before, values = traffic.copy(), [each.clone() for each in inputs]
    results = run(*inputs)
    for each, value in zip(inputs, values, strict=True):
        each.copy_(value)  # a capture computes nothing
    if traffic != before:
        raise RuntimeError(f"operation not permitted when stream is capturing: {traffic - before}")

    def replay() -> None:
        traffic["replays"] += 1
        for old, new in zip(results, run(*inputs), strict=True):
            old.copy_(new)

    return cuda_graphs.Capture(results, replay)


def wrapper_on_the_cpu(cls: type[Tensor], size: Any, *, dtype: torch.dtype, device: torch.device) -> Any:
    """As `make_wrapper`; to PyTorch, which would wait for a GPU in backward, it is on the CPU."""
    return make_wrapper(cls, size, dtype=dtype, device=CPU)


@contextmanager
def simulated_gpus(number: int = 2) -> Iterator[Traffic]:
    """Let this thread have GPUs, for the block: ``gpu(0)`` and so on.

    >>> import rebind as mx
    >>> with simulated_gpus() as traffic:
    ...     x = mx.nd.ones((2, 3), mx.gpu(0))
    ...     print(x.context, x.tensor.device, (x + x).asnumpy().sum(), traffic["from a GPU"])
    gpu(0) cuda:0 12.0 1
    """
    placement, traffic = Placement(), Traffic()

    def waits(*_: Any) -> None:
        traffic["waits"] += 1

    unusable: Callable[[int], str] = lambda index: "" if index < number else f"this machine has {number}"  # noqa: E731
    device_of: Callable[[Tensor], AbstractContextManager[None]] = lambda tensor: nullcontext()  # noqa: E731
    with ExitStack() as stack:
        for target, value in {
            "rebind.device._why_unusable": unusable,
            "rebind.ndarray.storage_tensor.make_wrapper": wrapper_on_the_cpu,
            "torch.cuda.device_count": lambda: number,
            "torch.cuda.synchronize": waits,
            "torch.cuda.device_of": device_of,
            "rebind.graph.passes.channels_last.rounds_to_tf32": lambda device: device.type == "cuda",
            "rebind.executor.cuda_graphs.capture_on_gpu": functools.partial(capture, traffic),
        }.items():
            stack.enter_context(mock.patch(target, value))
        made = {Device("gpu", i): torch.Generator() for i in range(number)}
        for device, generator in made.items():
            generator.manual_seed(generators._seed_for(device))
        placement.generators |= {generator._cdata for generator in made.values()}
        stack.enter_context(mock.patch.dict(generators._generators, made))
        # PyTorch's own code asks for oneDNN where it finds, behind what is noted here, a tensor of the CPU.
        stack.callback(torch._C._set_mkldnn_enabled, torch._C._get_mkldnn_enabled())
        torch._C._set_mkldnn_enabled(False)
        stack.callback(torch._C._set_cudnn_enabled, torch._C._get_cudnn_enabled())
        torch._C._set_cudnn_enabled(False)
        stack.enter_context(_Operators(placement, traffic))
        calls = stack.enter_context(_Calls(placement, traffic))
        run_engine = torch.autograd._engine_run_backward

        def run_with_calls(*args: Any, **kwargs: Any) -> Any:
            with calls:  # left where PyTorch's `backward` begins, and hooks in Python may follow
                return run_engine(*args, **kwargs)

        stack.enter_context(mock.patch("torch.autograd._engine_run_backward", run_with_calls))
        yield traffic
