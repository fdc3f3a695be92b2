"""`Executor`: a graph with arrays, which it runs forward and backward."""

from __future__ import annotations

import copy
import dataclasses
import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import generators
from ..device import Device, as_device
from ..errors import (
    ArgumentError,
    NameLookupError,
    ParameterError,
    ShapeError,
    StateError,
    UnknownArgumentError,
    UserCodeError,
    near_names,
)
from ..grad_mode import grad_mode
from ..graph import Entry, Graph, infer_shapes, infer_types
from ..graph.control_flow import is_stateful, needs_randomness
from ..ndarray import NDArray, array
from ..shapes import Shape, size
from .arguments import Arrays, Slot, arrays_by_name, in_shape, read_grad_req
from .lower import Kernels, Plan, entry_needs_head_gradient, lower, open_sizes
from .watch import Watch

__all__ = ["Executor"]


@dataclass
class _Pass:
    """What one `forward` leaves for `backward`."""

    plan: Plan
    roots: tuple[Tensor, ...]  # the outputs, with the record of how they were computed
    # What outputs that are losses are computed from.
    loss_inputs: tuple[tuple[Tensor, ...] | None, ...]
    new_aux: tuple[Tensor | None, ...]
    random_state: Tensor | None  # the generator's, before the pass; None when nothing is random
    spent: bool = False  # whether there is no record: an inference pass keeps none, and backward frees it

    def spend(self) -> None:
        """Free the record, and what else only `backward` needs."""
        self.spent, self.roots, self.loss_inputs = True, (), ()


class Executor:
    """A symbol bound to a device and arrays.

    This is the construction of MXNet 2.0: arguments and auxiliary states are copied, and an argument may be missing
    and come first as a keyword of `forward`. ``symbol.bind`` and ``symbol.simple_bind`` (1.x) work on the caller's own
    arrays.

    Parameters
    ----------
    sym
        The symbol.
    device
        Where it runs.
    args
        The arguments: a list in the order of ``sym.list_arguments()``, or a dict.
    args_grad
        Arrays that gradients are written to: a list with None in it, a dict with some of the names, or None.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
    aux_states
        The auxiliary states, a list or a dict.
    static_alloc
        Accepted; memory is torch's to plan.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> exe = mx.executor.Executor(
    ...     x * x, mx.cpu(), {"x": mx.nd.array([3.0])}, {"x": mx.nd.zeros((1,))}, "write"
    ... )
    >>> exe.forward(is_train=True)[0].item()
    9.0
    >>> exe.backward([mx.nd.ones((1,))])
    >>> exe.grad_dict["x"].item()
    6.0
    """

    def __init__(
        self,
        sym: Any,
        device: Device,
        args: Arrays = None,
        args_grad: Arrays = None,
        grad_req: Any = "write",
        aux_states: Arrays = None,
        static_alloc: bool = False,
    ) -> None:
        graph: Graph = sym._graph
        names = [node.name for node in graph.arguments]
        aux_names = [node.name for node in graph.auxiliary]
        place = as_device(device, "Executor: device")
        own_args = {name: array(value, place) for name, value in arrays_by_name("args", args, names).items()}
        own_aux = {
            name: array(value, place)
            for name, value in arrays_by_name("aux_states", aux_states, aux_names).items()
        }
        grads = arrays_by_name("args_grad", args_grad, names)
        requests = read_grad_req(grad_req, names)
        self._setup(sym, place, own_args, grads, requests, own_aux, None)

    @classmethod
    def bound(
        cls,
        sym: Any,
        device: Device,
        args: Mapping[str, NDArray],
        grads: Mapping[str, NDArray],
        requests: Mapping[str, str],
        aux: Mapping[str, NDArray],
        groups: Mapping[str, Device] | None = None,
    ) -> Executor:
        """Return an executor that works on the given arrays themselves; all must be there and fit."""
        self = cls.__new__(cls)
        self._setup(sym, device, args, grads, requests, aux, groups)
        missing = [name for name, slot in self._slots.items() if slot.array is None]
        missing += [name for name, state in self._aux.items() if state is None]
        if missing:
            raise ParameterError(f"bind: arrays are missing for {', '.join(map(repr, missing))}")
        self._check_shapes()
        self._make_outputs()
        return self

    def _setup(
        self,
        sym: Any,
        device: Device,
        args: Mapping[str, NDArray],
        grads: Mapping[str, NDArray | None],
        requests: Mapping[str, str],
        aux: Mapping[str, NDArray],
        groups: Mapping[str, Device] | None,
    ) -> None:
        self._symbol = sym
        self._graph: Graph = sym._graph
        self._device = device
        self._groups = dict(groups or {})
        self._requests = dict(requests)
        self._slots = {node.name: Slot(args.get(node.name)) for node in self._graph.arguments}
        # Two variables may share a name: each then is the same slot.
        self._order = [self._slots[node.name] for node in self._graph.arguments]
        self._aux = {node.name: aux.get(node.name) for node in self._graph.auxiliary}
        for name, slot in self._slots.items():
            slot.request = requests[name]
            grad = grads.get(name)
            if slot.array is not None and grad is not None and grad.shape != slot.array.shape:
                raise ShapeError(
                    f"bind: args_grad of {name!r} must have shape {slot.array.shape}; got {grad.shape}"
                )
            slot.bound_grad = grad
            if slot.request != "null" and (slot.array is None or slot.array._tensor.is_floating_point()):
                slot.grad = grad
        self._outputs: list[NDArray] | None = None
        self._left: tuple[weakref.ref[NDArray], ...] = ()  # the outputs, after release()
        self._plans: dict[tuple[bool, bool], Plan] = {}
        self._last: _Pass | None = None
        self._head_ones: dict[Any, Tensor] = {}
        self._monitor: Watch | None = None
        self._tapped: Graph | None = None
        self._is_random = needs_randomness(self._graph)
        # Operators that keep something from one run to the next do so for each executor by itself.
        self._kernels: Kernels | None = {} if is_stateful(self._graph) else None

    # ---- what it holds -----------------------------------------------------------------------------------

    @property
    def arg_arrays(self) -> list[NDArray | None]:
        """The arguments, in the order of ``list_arguments()``."""
        return [slot.array for slot in self._order]

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """The arrays for gradients; None where none is bound."""
        return [slot.bound_grad for slot in self._order]

    @property
    def aux_arrays(self) -> list[NDArray | None]:
        """The auxiliary states, in the order of ``list_auxiliary_states()``."""
        return list(self._aux.values())

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return {name: slot.array for name, slot in self._slots.items() if slot.array is not None}

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """The arrays for gradients by name; None where none is bound."""
        return {name: slot.bound_grad for name, slot in self._slots.items()}

    @property
    def aux_dict(self) -> dict[str, NDArray | None]:
        """The auxiliary states by name."""
        return dict(self._aux)

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs. They are handles that stay: one taken once shows the newest values after each `forward`."""
        if self._outputs is None:
            raise StateError(f"Executor: outputs are there after forward(); it needs {self._missing()}")
        if self._left:
            held = [handle() for handle in self._left]
            self._outputs = [
                self._make_output(i) if handle is None else handle for i, handle in enumerate(held)
            ]
            self._left = ()
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(self._graph.output_names, self.outputs, strict=True))

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{name} {'?' if slot.array is None else slot.array.shape}" for name, slot in self._slots.items()
        )
        return f"<Executor of {', '.join(self._graph.output_names)} on {self._device}: {shapes}>"

    # ---- running -----------------------------------------------------------------------------------------

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Run forward and return the outputs.

        Parameters
        ----------
        is_train
            The mode of operators such as `Dropout`. `backward` works after either.
        **kwargs
            Arguments (NDArray or NumPy) to copy in first, in the type that was bound.

        Raises
        ------
        UnknownArgumentError
            For a keyword that is no argument.
        ShapeError
            When an array's shape is not the one that was bound.
        """
        if kwargs:  # all are looked at before the first is copied
            for slot, value in [
                (self._slot_for(name), self._read_input(name, kwargs[name])) for name in kwargs
            ]:
                self._put(slot, value)
        if self._outputs is None:
            self._complete()
        if self._monitor is not None and self._monitor.is_active():
            return self._forward_monitored(self._monitor, is_train)
        outputs, record = self._run(self._plan(self._graph, is_train), is_train and self._wants_gradients)
        return self._keep(outputs, record)

    @property
    def _wants_gradients(self) -> bool:
        return any(slot.grad is not None for slot in self._order)

    def _plan(self, graph: Graph, is_train: bool) -> Plan:
        key = (graph is self._graph, bool(is_train))
        plan = self._plans.get(key)
        if plan is None:
            plan = lower(graph, bool(is_train), self._device, self._groups, self._sizes, self._kernels)
            self._plans[key] = plan
        return plan

    def _keep(self, values: Sequence[Tensor], record: _Pass) -> list[NDArray]:
        """Show new values through the outputs, and remember the pass."""
        self._last = record
        outputs = self.outputs
        for handle, value in zip(outputs, values, strict=True):
            handle._exchange(value)
        return outputs

    def _run(self, plan: Plan, record: bool) -> tuple[list[Tensor], _Pass]:
        """Run a plan and, with `record`, keep what `backward` needs."""
        self._last = None  # frees what the pass before kept, before this one takes memory
        generator = generators.generator(self._device)
        state = generator.get_state() if self._is_random else None
        tensors = [slot.tensor() for slot in self._order]
        tensors += [state_array._tensor for state_array in self._aux.values()]  # type: ignore[union-attr]
        try:
            with grad_mode(record):
                roots, new_aux, loss_inputs = plan.run(generator, *tensors)
        except UserCodeError:
            raise  # with the user's own error as its cause
        except Exception as error:
            raise plan.blame(error, generator, tensors) from None
        inputs = {id(tensor) for tensor in tensors}
        passed = _Pass(plan, roots, loss_inputs, new_aux, state)
        if not record:
            passed.spend()
        return [_detached(root, inputs) for root in roots], passed

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Compute the gradients of the last `forward` and write them (or add them) to the bound arrays.

        Parameters
        ----------
        out_grads
            The gradients of the outputs: one array, a list, or a dict from output name to array. None for outputs
            that are losses.
        is_train
            Accepted; the mode is that of `forward`.

        Raises
        ------
        StateError
            When an output that is no loss is given no gradient.
        """
        if self._last is None:
            if self._outputs is None and self._missing():
                raise StateError(f"Executor.backward: needs forward() first, with {self._missing()}")
            self.forward(is_train=False)
        record = self._last
        assert record is not None
        heads = self._read_heads(out_grads)
        wanted = [slot for slot in self._slots.values() if slot.grad is not None]
        if not wanted:
            return
        if record.spent:
            record = self._replay(record)
        roots, gradients = self._starts(record, heads)
        for slot in wanted:
            slot.prepare_gradient()
        try:
            if roots:
                torch.autograd.backward(roots, gradients)
        finally:
            record.spend()
            for slot in wanted:
                slot.take_gradient()
        # Moving averages move when backward runs, as in MXNet; a second call moves them again.
        if record.plan.training:
            for state, value in zip(self._aux.values(), record.new_aux, strict=True):
                if value is not None:
                    state._write(value)  # type: ignore[union-attr]

    def _starts(self, record: _Pass, heads: Sequence[Tensor | None]) -> tuple[list[Tensor], list[Tensor]]:
        """Return the tensors that `backward` starts from, and their gradients."""
        roots: list[Tensor] = []
        gradients: list[Tensor] = []
        rows = zip(
            self._graph.outputs, record.roots, record.plan.losses, record.loss_inputs, heads, strict=False
        )
        for entry, root, loss, inputs, head in rows:
            if loss is not None and inputs is not None:
                op = loss.node.operator
                assert op is not None and op.gradient_rule is not None
                if not any(tensor.requires_grad for tensor in inputs):
                    continue
                memory = {"into": inputs[0].detach()} if loss.reuse and op.gradient_takes_memory else {}
                with grad_mode(False):
                    found = op.gradient_rule(
                        loss.node.params, inputs, (root,), (self._ones_like(root),), **memory
                    )
                for tensor, gradient in zip(inputs, found, strict=True):
                    if gradient is not None and tensor.requires_grad:
                        roots.append(tensor)
                        gradients.append(gradient)
                continue
            if not root.requires_grad:
                continue
            if head is None:
                if entry_needs_head_gradient(entry):
                    raise StateError(
                        f"Executor.backward: output {entry.name!r} is no loss, so out_grads must hold its head "
                        "gradient; it is missing"
                    )
                head = self._ones_like(root)
            roots.append(root)
            gradients.append(head)
        return roots, gradients

    def _replay(self, record: _Pass) -> _Pass:
        """Run forward once more, for a `backward` that is the second or comes after an inference pass.

        Records would otherwise hold all intermediate results in memory, through the update or a whole validation, for
        calls that hardly any program makes.
        """
        generator = generators.generator(self._device)
        after = generator.get_state()
        if record.random_state is not None:
            generator.set_state(record.random_state)
        _, self._last = self._run(self._plan(self._graph, record.plan.training), record=True)
        generator.set_state(after)
        return self._last

    def _read_heads(self, out_grads: Any) -> list[Tensor | None]:
        names = self._graph.output_names
        if out_grads is None:
            return [None] * len(names)
        if isinstance(out_grads, NDArray):
            out_grads = [out_grads]
        if isinstance(out_grads, Mapping):
            for name in out_grads:
                if name not in names:
                    raise NameLookupError(
                        f"Executor.backward: no output {name!r}{near_names(name, names)} Outputs: {', '.join(names)}."
                    )
            out_grads = [out_grads.get(name) for name in names]
        if len(out_grads) != len(names):
            raise ShapeError(
                f"Executor.backward: out_grads must hold {len(names)} arrays; got {len(out_grads)}"
            )
        heads: list[Tensor | None] = []
        for name, grad, output in zip(names, out_grads, self.outputs, strict=True):
            if grad is not None and not isinstance(grad, NDArray):
                raise ArgumentError(
                    f"Executor.backward: the gradient of {name!r} must be an NDArray; got {grad!r}"
                )
            if grad is not None and grad.shape != output.shape:
                raise ShapeError(
                    f"Executor.backward: the gradient of {name!r} must have shape {output.shape}; got {grad.shape}"
                )
            like = output._tensor
            heads.append(None if grad is None else grad._tensor.detach().to(like.device, like.dtype))
        return heads

    def _ones_like(self, root: Tensor) -> Tensor:
        """Return a head gradient for a loss, which does not look at it: no memory but for one element."""
        key = (root.shape, root.dtype)
        found = self._head_ones.get(key)
        if found is None:
            one = torch.ones((), dtype=root.dtype, device=root.device)
            found = self._head_ones[key] = one.expand(root.shape)
        return found

    def _slot_for(self, name: str) -> Slot:
        slot = self._slots.get(name)
        if slot is None:
            raise UnknownArgumentError(
                f"Executor.forward: no argument {name!r}{near_names(name, self._slots)} "
                f"Arguments: {', '.join(self._slots)}."
            )
        return slot

    def _read_input(self, name: str, value: Any) -> NDArray:
        bound = self._slots[name].array
        if not isinstance(value, NDArray):
            if not isinstance(value, (np.ndarray, Tensor)):
                raise ArgumentError(
                    f"Executor.forward: {name} must be an NDArray or a NumPy array; got {value!r}"
                )
            value = array(value, self._device, self._type_of(name) if bound is None else value.dtype)
        if bound is not None and value.shape != bound.shape:
            raise ShapeError(f"Executor.forward: {name} must have shape {bound.shape}; got {value.shape}")
        return value

    def _type_of(self, name: str) -> torch.dtype:
        """Return the type that an argument must have to go with those that are there."""
        found = infer_types(self._graph, self._known()[1]).arguments
        types = dict(zip(self._graph.arguments, found, strict=True))
        return next((t for node, t in types.items() if node.name == name and t is not None), torch.float32)

    def _put(self, slot: Slot, value: NDArray) -> None:
        if slot.array is None:
            slot.array = value.copyto(self._device)
        elif value is not slot.array:
            slot.array._write(value._tensor)

    # ---- what is needed before the first run -------------------------------------------------------------

    def _missing(self) -> str:
        names = [name for name, slot in self._slots.items() if slot.array is None]
        names += [name for name, state in self._aux.items() if state is None]
        return ", ".join(map(repr, names))

    def _complete(self) -> None:
        """Before the first run of an executor that was made without some arguments: make what follows from them."""
        if self._missing():
            raise ParameterError(f"Executor.forward: arrays are missing for {self._missing()}")
        for slot in self._slots.values():
            assert slot.array is not None
            if slot.request == "null" or not slot.array._tensor.is_floating_point():
                slot.grad = None
            elif slot.grad is None:
                slot.grad = slot.bound_grad = NDArray(torch.zeros_like(slot.array._tensor), slot.array.device)
        self._check_shapes()
        self._make_outputs()

    def _known(self) -> tuple[dict[str, Shape], dict[str, torch.dtype]]:
        shapes = {
            name: value.shape for name, value in {**self.arg_dict, **self._aux}.items() if value is not None
        }
        types = {n: v._tensor.dtype for n, v in {**self.arg_dict, **self._aux}.items() if v is not None}
        return shapes, types

    def _check_shapes(self) -> None:
        """Infer all shapes from those of the arrays: a contradiction is an error that names the node."""
        shapes, types = self._known()
        self._inferred_types = infer_types(self._graph, types)
        self._inferred = infer_shapes(self._graph, shapes, self._inferred_types)
        self._sizes = open_sizes(self._graph, self._inferred)

    def _make_outputs(self) -> None:
        self._outputs = [self._make_output(i) for i in range(len(self._graph.outputs))]

    def _make_output(self, i: int) -> NDArray:
        shape, dtype = self._inferred.outputs[i], self._inferred_types.outputs[i]
        # Zeros are taken lazily by the system; the first forward exchanges them.
        tensor = torch.zeros(shape or (), dtype=dtype or torch.float32, device=self._device.torch)
        return NDArray(tensor, self._device)

    # ---- parameters --------------------------------------------------------------------------------------

    def copy_params_from(
        self,
        arg_params: Mapping[str, NDArray],
        aux_params: Mapping[str, NDArray] | None = None,
        allow_extra_params: bool = False,
    ) -> None:
        """Copy parameters into the bound arrays, in the bound types.

        Raises
        ------
        NameLookupError
            For a name that the executor does not have, unless `allow_extra_params`. Nothing is copied then.
        """
        have_aux = {name: value for name, value in self._aux.items() if value is not None}
        pairs = []
        for kind, given, have in (
            ("argument", arg_params, self.arg_dict),
            ("auxiliary state", aux_params, have_aux),
        ):
            for name, value in (given or {}).items():
                target = have.get(name)
                if target is None:
                    if allow_extra_params:
                        continue
                    raise NameLookupError(
                        f"Executor.copy_params_from: no {kind} {name!r}{near_names(name, have)} "
                        "Set allow_extra_params=True to leave such names out."
                    )
                if not isinstance(value, (NDArray, np.ndarray)):
                    raise ArgumentError(
                        f"Executor.copy_params_from: {name} must be an NDArray; got {value!r}"
                    )
                if tuple(value.shape) != target.shape:
                    raise ShapeError(
                        f"Executor.copy_params_from: {name} must have shape {target.shape}; got {tuple(value.shape)}"
                    )
                pairs.append((target, value))
        for target, value in pairs:
            target[:] = value

    def reshape(
        self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Shape
    ) -> Executor:
        """Return an executor for other shapes of inputs, which shares parameters, gradients and auxiliary states.

        An input that gets smaller shares the memory of the old one.

        Parameters
        ----------
        partial_shaping
            Allow arguments that are not named to change their shape; they get new arrays.
        allow_up_sizing
            Allow inputs to get larger; they get new arrays.
        **kwargs
            The new shapes by name of argument.
        """
        for name in kwargs:
            if name not in self._slots:
                raise NameLookupError(
                    f"Executor.reshape: no argument {name!r}{near_names(name, self._slots)}"
                )
        wanted = {name: tuple(shape) for name, shape in kwargs.items()}
        types = self._known()[1]
        inferred = infer_shapes(self._graph, wanted, infer_types(self._graph, types))
        args: dict[str, NDArray] = {}
        grads: dict[str, NDArray] = {}
        for node, shape in zip(self._graph.arguments, inferred.arguments, strict=True):
            slot = self._slots[node.name]
            assert slot.array is not None
            if shape is None or 0 in shape:
                raise ShapeError(
                    f"Executor.reshape: the shape of {node.name!r} does not follow from {wanted}"
                )
            if slot.array.shape != shape:
                if node.name not in wanted and not partial_shaping:
                    raise ShapeError(
                        f"Executor.reshape: the shape of {node.name!r} would change from {slot.array.shape} to "
                        f"{shape}; set partial_shaping=True to allow that"
                    )
                larger = size(shape) > slot.array.size
                if larger and not allow_up_sizing:
                    raise ShapeError(
                        f"Executor.reshape: {node.name!r} would grow from {slot.array.shape} to {shape}; "
                        "set allow_up_sizing=True to allow that"
                    )
            args[node.name] = in_shape(slot.array, shape)
            if slot.bound_grad is not None:
                grads[node.name] = in_shape(slot.bound_grad, shape)
        aux = {name: value for name, value in self._aux.items() if value is not None}
        new = Executor.bound(self._symbol, self._device, args, grads, self._requests, aux, self._groups)
        new._monitor = self._monitor
        return new

    def release(self) -> None:
        """Let go of what the last `forward` keeps for `backward`, most of the memory that training takes.

        Outputs that nobody else holds go too; they are zeros until the next `forward`.
        """
        self._last = None
        if self._outputs:
            self._left = tuple(weakref.ref(output) for output in self._outputs)
            self._outputs = []

    # ---- looking inside ----------------------------------------------------------------------------------

    def set_monitor_callback(
        self,
        callback: Callable[[str, NDArray], Any] | None,
        monitor_all: bool = False,
        *,
        active: Callable[[], bool] | None = None,
    ) -> None:
        """Call ``callback(name, array)`` for what each operator computes, forward and backward.

        In `forward` these are each operator's outputs, such as ``fc1_output``, hidden ones too (``bn1_mean``); in the
        `backward` that follows, the gradients of its inputs, such as ``fc1_backward_output0`` (without the number when
        it has one input only), in the order in which they are computed. Inputs without a gradient are not told.

        Parameters
        ----------
        callback
            What is called; it takes the place of the one before. None takes that away.
        monitor_all
            Whether to tell what goes in, too: before an operator's outputs each of its inputs under the operator's name
            for it (``fc1_data``), and before that a variable under its own (``data``, ``fc1_weight``); before the
            gradients of its inputs those of its outputs (``fc1_backward_input0``).
        active
            Asked before each `forward`; when it says False, the network runs unwatched, at full speed.
        """
        self._monitor = None if callback is None else Watch(callback, monitor_all, active, self._device)

    def operator_of(self, name: str) -> str | None:
        """Return the operator that a monitor's `name` is of, as ``FullyConnected 'fc1'``; None for a variable's."""
        if name in self._slots or name in self._aux:
            return None
        whose = [
            node
            for node in self._graph.nodes
            if node.operator is not None and name.startswith(f"{node.name}_")
        ]
        if not whose:
            return None
        node = max(whose, key=lambda node: len(node.name))
        assert node.operator is not None
        return f"{node.operator.name} {node.name!r}"

    def _forward_monitored(self, watch: Watch, is_train: bool) -> list[NDArray]:
        tapped = self._tapped_graph()
        plan = self._plan(tapped, is_train)
        plan = dataclasses.replace(plan, run=functools.partial(watch.run, plan.code))
        values, record = self._run(plan, is_train and self._wants_gradients)
        count = len(self._graph.outputs)
        record.roots = record.roots[:count]
        return self._keep(values[:count], record)

    def _tapped_graph(self) -> Graph:
        """Return the graph with all outputs of all nodes as further outputs."""
        if self._tapped is None:
            taps = (Entry(node, i) for node in self._graph.nodes for i in range(len(node.output_names)))
            self._tapped = Graph((*self._graph.outputs, *taps))
        return self._tapped

    def get_optimized_symbol(self) -> Any:
        """Return the symbol as it is run."""
        return copy.copy(self._symbol)

    def debug_str(self) -> str:
        """Return a text about the graph and its memory, in the form of MXNet's."""
        lines = [self._symbol.debug_str()]
        kept = [a for a in (*self.arg_arrays, *self.grad_arrays, *self.aux_arrays) if a is not None]
        entries = {**self._inferred.entries}
        total = sum(a._tensor.nbytes for a in kept)
        for node in self._graph.nodes:
            if node.operator is not None:
                for i in range(len(node.output_names)):
                    shape = entries.get((id(node), i))
                    dtype = self._inferred_types.entries.get((id(node), i)) or torch.float32
                    total += size(shape) * dtype.itemsize if shape else 0
        lines.append(f"Total {round(total / 2**20)} MB allocated")
        lines.append(f"Total {sum(node.operator is not None for node in self._graph.nodes)} operators")
        return "\n".join(lines) + "\n"


def _detached(root: Any, inputs: set[int]) -> Any:
    """Return the value of an output, in memory of its own."""
    if root is None:  # a hidden output that is not there in this mode
        return root
    if id(root) in inputs or root._is_view():
        return root.detach().clone(memory_format=torch.contiguous_format)
    return root.detach() if root.requires_grad else root
