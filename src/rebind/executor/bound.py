"""The arrays that a graph is bound to: arguments with their gradients, and auxiliary states.

Here arrays become the tensors that a plan runs on, and gradients that backward computes go into arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.hooks import RemovableHandle

from ..device import Device
from ..errors import (
    ArgumentError,
    DeviceError,
    NameLookupError,
    ShapeError,
    StateError,
    UnknownArgumentError,
    near_names,
)
from ..graph import Facts, Graph, infer_shapes, infer_storage, infer_types
from ..graph.control_flow import counted_constants
from ..ndarray import NDArray, array
from ..ndarray.base import wrap
from ..ndarray.storage import DenseStorage, Storage
from ..ops.storage_types import DENSE
from ..shapes import Shape
from .arguments import GradReq
from .backward import dealiased
from .gradient_flow import operators_of_backward, states_of_backward
from .gradient_reuse import are_large, reused_gradients
from .slot import Slot

__all__ = ["BoundArrays"]


class BoundArrays:
    """The arrays of one executor, by name.

    Parameters
    ----------
    graph
        What is run.
    device
        Where arrays that are given later go.
    args, grads, aux
        The arrays that are there already; a gradient may be None.
    requests
        The request for the gradient of each argument.

    Attributes
    ----------
    slots
        The arguments by name. Two variables may share a name, and then share the slot.
    order
        The slots in the order of ``list_arguments()``.
    wanted
        The slots of arguments that get gradients.
    wanted_positions
        Their positions in `order`; None where a slot is there twice.
    staying
        Those of them whose gradients stay in their memory.
    has_large_gradients
        Whether the gradients take much memory together.
    aux
        The auxiliary states by name.
    updated_states
        Those of them that a training step updates, in the same order; None for the others.
    """

    def __init__(
        self,
        graph: Graph,
        device: Device,
        args: Mapping[str, NDArray],
        grads: Mapping[str, NDArray | None],
        requests: Mapping[str, GradReq],
        aux: Mapping[str, NDArray],
    ) -> None:
        self.graph, self.device, self.requests = graph, device, dict(requests)
        # Two variables of one name are one argument, and so one slot.
        self.slots = {
            node.name: _slot(node.name, args.get(node.name), grads.get(node.name), requests[node.name])
            for node in graph.arguments
        }
        self.order = [self.slots[node.name] for node in graph.arguments]
        self.aux: dict[str, NDArray | None] = {node.name: aux.get(node.name) for node in graph.auxiliary}
        self._find_wanted()

    # Arrays that are there, and what follows from them.

    @property
    def missing(self) -> str:
        """The names of arrays that are not there yet, as text.

        >>> import rebind as mx
        >>> BoundArrays(mx.sym.var("x").graph, mx.cpu(), {}, {}, {"x": "null"}, {}).missing
        "'x'"
        """
        names = [name for name, slot in self.slots.items() if slot.array is None]
        names += [name for name, state in self.aux.items() if state is None]
        return ", ".join(map(repr, names))

    @property
    def present(self) -> dict[str, NDArray]:
        """All arrays that are there: arguments and auxiliary states."""
        args = {name: slot.array for name, slot in self.slots.items()}
        return {name: value for name, value in {**args, **self.aux}.items() if value is not None}

    def check_devices(self) -> None:
        """Raise a DeviceError for an array, or a gradient, that is elsewhere; all devices of the CPU are one place.

        >>> import rebind as mx
        >>> x = mx.nd.ones((2,), mx.cpu(1))
        >>> BoundArrays(mx.sym.var("x").graph, mx.cpu(), {"x": x}, {}, {"x": "null"}, {}).check_devices()
        """
        place = self.device.torch
        grads = {f"the gradient of {name}": slot.grad for name, slot in self.slots.items()}
        for name, found in {**self.present, **grads}.items():
            if found is not None and found.storage.device != place:
                raise DeviceError(
                    f"bind: {name} must be on {self.device}, where the executor is; got {found.device}. Copy it "
                    "with as_in_context(), or name the devices of a network that is on several with group2ctx."
                )

    def infer(self) -> Facts:
        """Return all shapes, types and storage types that follow; a contradiction is an error that names the node.

        >>> import rebind as mx
        >>> graph, args = mx.sym.exp(mx.sym.var("x"), name="e").graph, {"x": mx.nd.ones((2, 3))}
        >>> BoundArrays(graph, mx.cpu(), args, {}, {"x": "null"}, {}).infer()[graph.outputs[0]].shape
        (2, 3)
        """
        types = infer_types(self.graph, self.types())
        shapes = {name: value.shape for name, value in self.present.items()}
        stypes = {name: value.stype for name, value in self.present.items() if value.stype != DENSE}
        storage = infer_storage(self.graph, stypes) if stypes else None
        return Facts.of(infer_shapes(self.graph, shapes, types), types, storage)

    def types(self) -> dict[str, torch.dtype]:
        """Return the types of the arrays that are there.

        >>> import rebind as mx
        >>> args = {"x": mx.nd.zeros((2,), dtype="float16")}
        >>> BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, {}, {"x": "null"}, {}).types()
        {'x': torch.float16}
        """
        return {name: value.storage.dtype for name, value in self.present.items()}

    def tensors(self, channels_last: Collection[int] = ()) -> list[Tensor]:
        """Return what a plan runs on: arguments, then auxiliary states.

        The arguments at the positions `channels_last` may have their channels last in memory.

        >>> import rebind as mx
        >>> args = {"x": mx.nd.ones((2,))}
        >>> BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, {}, {"x": "null"}, {}).tensors()
        [tensor([1., 1.])]
        """
        # By variable, not by name: two of one name come twice.
        tensors = [slot.tensor(i in channels_last) for i, slot in enumerate(self.order)]
        return tensors + [state.tensor for state in self.aux.values() if state is not None]

    def memory(self) -> list[Tensor]:
        """Return what `tensors` does, with the arrays' own memory for all of them.

        >>> import rebind as mx
        >>> args, grads = {"x": mx.nd.ones((2,))}, {"x": mx.nd.ones((2,))}
        >>> arrays = BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, grads, {"x": "write"}, {})
        >>> arrays.memory()[0] is args["x"].tensor, arrays.tensors()[0] is args["x"].tensor
        (True, False)
        """
        found = [*(slot.array for slot in self.order), *self.aux.values()]
        return [array.tensor for array in found if array is not None]

    def storages(self, positions: Sequence[int]) -> list[Storage]:
        """Return what holds the values of some of `tensors`, by position.

        >>> import rebind as mx
        >>> args = {"x": mx.nd.ones((2,))}
        >>> arrays = BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, {}, {"x": "null"}, {})
        >>> arrays.storages([0]) == [args["x"].storage]
        True
        """
        arrays = [*(slot.array for slot in self.order), *self.aux.values()]
        return [arrays[i].storage for i in positions]  # type: ignore[union-attr]  # all are there in a run

    def fill(self, constants: Mapping[int, float]) -> None:
        """Fill the arguments at positions with numbers, as MXNet does where backward reaches the operator of them.

        >>> import rebind as mx
        >>> args = {"x": mx.nd.zeros((2,))}
        >>> BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, {}, {"x": "null"}, {}).fill({0: 1.0})
        >>> args["x"].asnumpy().tolist()
        [1.0, 1.0]
        """
        for position, number in constants.items():
            if position in self._frozen_constants:
                continue
            array = self.order[position].array
            assert array is not None
            if isinstance(array.storage, DenseStorage):
                # In place: the leaf that autograd knows is on this memory.
                array.tensor.detach().fill_(number)
            else:
                array.write_unrecorded(torch.full_like(array.tensor, number))

    # Taking in arrays and values.

    def make_gradients(self) -> None:
        """Make the gradients of arguments that came without one."""
        for slot in self.slots.values():
            assert slot.array is not None
            if slot.request != "null" and slot.bound_grad is None:
                slot.bound_grad = wrap(slot.array.storage.zeros_like(), slot.array.device)
            floating = slot.array.storage.dtype.is_floating_point
            slot.grad = slot.bound_grad if slot.request != "null" and floating else None
        self._find_wanted()

    def _find_wanted(self) -> None:
        # Asked for in every step, and changed by `make_gradients` only.
        self.wanted = [slot for slot in self.slots.values() if slot.grad is not None]
        positions = tuple(i for i, slot in enumerate(self.order) if slot.grad is not None)
        self.wanted_positions = positions if len(positions) == len(self.wanted) else None
        self._whole = [
            slot.bound_grad
            for slot in self.slots.values()
            if slot.grad is None and slot.bound_grad is not None and slot.request == "write"
        ]
        wanted = {name for name, slot in self.slots.items() if slot.grad is not None}
        reached = states_of_backward(self.graph, wanted) if self.aux else ()
        self._frozen_constants = self._find_frozen_constants(wanted)
        self.updated_states = [state if name in reached else None for name, state in self.aux.items()]
        self.has_large_gradients = are_large(self.wanted)
        self.decide_reuse(results=0)

    def _find_frozen_constants(self, wanted: Collection[str]) -> frozenset[int]:
        """Return the positions of the constants, such as a gamma, of operators that backward does not reach."""
        constants = counted_constants(self.graph)
        if not constants:
            return frozenset()
        trained = operators_of_backward(self.graph, wanted)
        filled = {entry.node for node in trained for entry in node.inputs}
        return frozenset(
            i for i, node in enumerate(self.graph.arguments) if node in constants and node not in filled
        )

    def decide_reuse(self, results: float) -> None:
        """Decide which gradients stay where they are, in a network whose results take so many bytes together."""
        stay = reused_gradients(self.wanted, self.present.values(), results)
        for slot in self.wanted:
            slot.decide(reuses=id(slot) in stay)
        self.reused = [slot for slot in self.wanted if slot.reuses]

    def release_gradients(self) -> None:
        """Free the memory of gradients that are to be replaced; until then they are zeros.

        >>> import rebind as mx
        >>> x, grad = mx.nd.ones((2,)), mx.nd.ones((2,))
        >>> arrays = BoundArrays(mx.sym.var("x").graph, mx.cpu(), {"x": x}, {"x": grad}, {"x": "write"}, {})
        >>> arrays.release_gradients()
        >>> grad.asnumpy().tolist()
        [0.0, 0.0]
        """
        for slot in self.wanted:
            if slot.request == "write":
                slot.prepare_gradient(may_reuse=False)

    def take_gradients(
        self,
        backward: Callable[..., Sequence[Tensor | None]],
        on_gradient: Callable[[str], None] | None = None,
        head_grads: Sequence[Tensor | None] = (),
    ) -> None:
        """Put the gradients that ``backward(leaves, added_to=...)`` computes into their arrays.

        With `on_gradient`, those that replace older ones are put there as soon as they are computed, and it is called
        with the name of each. None of these is in the memory of the `head_grads`.
        """
        wanted = self.wanted
        gradients: Sequence[Tensor | None] = [None] * len(wanted)
        added_to = [slot.prepare_gradient() for slot in wanted]
        leaves = [slot.leaf for slot in wanted]
        taken: set[int] = set()
        hooks = [] if on_gradient is None else self._watch_gradients(on_gradient, taken, head_grads)
        try:
            gradients = backward(leaves, added_to=added_to)
        finally:
            for hook in hooks:
                hook.remove()
            # After an error too: the old gradients were freed above.
            for slot, gradient in zip(wanted, gradients, strict=True):
                if id(slot) not in taken:
                    slot.take_gradient(gradient)

    def _watch_gradients(
        self, on_gradient: Callable[[str], None], taken: set[int], head_grads: Sequence[Tensor | None]
    ) -> list[RemovableHandle]:
        """Let the next backward put gradients into their arrays one by one; `taken` gets the `id` of each slot."""
        others = list(head_grads)

        def take(name: str, slot: Slot, leaf: Tensor) -> None:
            assert leaf.grad is not None
            (gradient,) = dealiased([leaf.grad], others)
            slot.take_gradient(gradient)
            taken.add(id(slot))
            others.append(gradient)
            on_gradient(name)

        return [
            slot.leaf.register_post_accumulate_grad_hook(functools.partial(take, name, slot))
            for name, slot in self.slots.items()
            if slot.grad is not None and slot.request == "write" and slot.leaf is not None
        ]

    def receive_gradients(
        self, computed: Sequence[Tensor | None], on_gradient: Callable[[str], None] | None = None
    ) -> None:
        """Put gradients that were computed together into their arrays; then call `on_gradient`, as `take_gradients`.

        >>> import rebind as mx
        >>> x, grad = mx.nd.ones((2,)), mx.nd.zeros((2,))
        >>> arrays = BoundArrays(mx.sym.var("x").graph, mx.cpu(), {"x": x}, {"x": grad}, {"x": "write"}, {})
        >>> arrays.receive_gradients([torch.ones(2)])
        >>> grad.asnumpy().tolist()
        [1.0, 1.0]
        """
        for slot, gradient in zip(self.wanted, computed, strict=True):
            if slot.request != "add":
                slot.take_gradient(gradient)
            elif gradient is not None and slot.grad is not None:
                slot.grad.accumulate(gradient)
        if on_gradient is not None:
            for name, slot in self.slots.items():
                if slot.grad is not None and slot.request == "write":
                    on_gradient(name)

    def zero_integer_gradients(self) -> None:
        """Write zeros into the gradients of arguments of whole numbers.

        >>> import rebind as mx
        >>> x, grad = mx.nd.ones((2,), dtype="int32"), mx.nd.ones((2,), dtype="int32")
        >>> arrays = BoundArrays(mx.sym.var("x").graph, mx.cpu(), {"x": x}, {"x": grad}, {"x": "write"}, {})
        >>> arrays.zero_integer_gradients()
        >>> grad.asnumpy()
        array([0, 0], dtype=int32)
        """
        for grad in self._whole:
            grad.write_unrecorded(grad.storage.zeros_like())

    def take_inputs(self, inputs: Mapping[str, NDArray | np.ndarray | Tensor]) -> None:
        """Copy arguments in, in the types that were bound; all are checked before the first is copied.

        Raises
        ------
        UnknownArgumentError
            For a name that is no argument.
        ShapeError
            When an array's shape is not the one that was bound.

        Examples
        --------
        >>> import rebind as mx
        >>> args = {"x": mx.nd.zeros((2,))}
        >>> BoundArrays(mx.sym.var("x").graph, mx.cpu(), args, {}, {"x": "null"}, {}).take_inputs(
        ...     {"x": np.ones(2)}
        ... )
        >>> args["x"].asnumpy().tolist()
        [1.0, 1.0]
        """
        # A list first: when one does not fit, nothing has been copied.
        for slot, value in [(self._slot(name), self._read(name, inputs[name])) for name in inputs]:
            if slot.array is None:
                slot.array = value.copyto(self.device)
            elif value is not slot.array:  # the bound array itself may be passed, and needs no copy
                slot.array.write(value)

    def _slot(self, name: str) -> Slot:
        slot = self.slots.get(name)
        if slot is None:
            raise UnknownArgumentError(
                f"Executor.forward: no argument {name!r}{near_names(name, self.slots)} "
                f"Arguments: {', '.join(self.slots)}."
            )
        return slot

    def _read(self, name: str, value: NDArray | np.ndarray | Tensor) -> NDArray:
        bound = self.slots[name].array
        if isinstance(value, np.ndarray) and torch.jit.is_tracing():
            raise StateError(
                f"Executor.forward: {name} must be a tensor, or an NDArray of one, while torch.jit.trace records; got "
                "a NumPy array, which the trace would hold as a constant. Give the traced tensor itself."
            )
        if not isinstance(value, NDArray):
            if not isinstance(value, (np.ndarray, Tensor)):
                raise ArgumentError(
                    f"Executor.forward: {name} must be an NDArray or a NumPy array; got {value!r}"
                )
            value = array(value, self.device, self._type_of(name) if bound is None else value.dtype)
        if bound is not None and value.shape != bound.shape:
            raise ShapeError(f"Executor.forward: {name} must have shape {bound.shape}; got {value.shape}")
        return value

    def _type_of(self, name: str) -> torch.dtype:
        """Return the type that an argument must have to go with those that are there."""
        # Its type follows from those that are bound, such as a float16 weight; else it is float32.
        found = infer_types(self.graph, self.types()).arguments
        types = dict(zip(self.graph.arguments, found, strict=True))
        return next((t for node, t in types.items() if node.name == name and t is not None), torch.float32)

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None,
        allow_extra_params: bool,
    ) -> None:
        """As `Executor.copy_params_from`.

        >>> import rebind as mx
        >>> args = {"w": mx.nd.zeros((2,))}
        >>> arrays = BoundArrays(mx.sym.var("w").graph, mx.cpu(), args, {}, {"w": "null"}, {})
        >>> arrays.copy_params_from({"w": mx.nd.ones((2,))}, None, allow_extra_params=False)
        >>> args["w"].asnumpy().tolist()
        [1.0, 1.0]
        """
        args = {name: slot.array for name, slot in self.slots.items() if slot.array is not None}
        aux = {name: state for name, state in self.aux.items() if state is not None}
        # Collected and checked before the first is copied.
        pairs: list[tuple[NDArray, NDArray]] = []
        for kind, given, have in (
            ("argument", arg_params, args),
            ("auxiliary state", aux_params or {}, aux),
        ):
            for name, value in given.items():
                target = have.get(name)
                if target is not None:
                    pairs.append((target, _checked_parameter(name, value, target.shape)))
                elif not allow_extra_params:
                    raise NameLookupError(
                        f"Executor.copy_params_from: no {kind} {name!r}{near_names(name, have)} "
                        "Set allow_extra_params=True to leave such names out."
                    )
        for target, value in pairs:
            target[:] = value


def _slot(name: str, value: NDArray | None, grad: NDArray | None, request: GradReq) -> Slot:
    # One that is not asked for is never written.
    if request != "null" and value is not None and grad is not None and grad.shape != value.shape:
        raise ShapeError(f"bind: args_grad of {name!r} must have shape {value.shape}; got {grad.shape}")
    # Integer arguments have no gradient, whatever was requested.
    wanted = request != "null" and (value is None or value.storage.dtype.is_floating_point)
    return Slot(value, request, grad if wanted else None, grad)


def _checked_parameter(name: str, value: NDArray, shape: Shape) -> NDArray:
    if not isinstance(value, (NDArray, np.ndarray)):
        raise ArgumentError(f"Executor.copy_params_from: {name} must be an NDArray; got {value!r}")
    if tuple(value.shape) != shape:
        raise ShapeError(
            f"Executor.copy_params_from: {name} must have shape {shape}; got {tuple(value.shape)}"
        )
    return value
