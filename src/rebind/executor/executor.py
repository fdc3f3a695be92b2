"""`Executor`: a graph with arrays, which it runs forward and backward."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from .. import config
from ..checks import COUNT, DICT, FLAG, FUNCTION, check_kind, or_none
from ..completion import hides
from ..device import Device, as_device
from ..errors import ParameterError, StateError, UnpicklableError
from ..graph import Entry, Facts, Graph
from ..graph.facts import CUDA_GRAPHS
from ..graph.passes import optimize
from ..graph.same_names import warn_of_shared_names
from ..ndarray import NDArray, array
from ..shapes import Shape, as_shape
from .arguments import Arrays, GradReq, GradReqs, arrays_by_name, read_grad_req
from .bound import BoundArrays
from .describe import describe_programs, operator_of
from .head_grads import HeadGrads, read_head_grads
from .holder import GraphHolder, run_as
from .memory_use import describe_memory, memory_summary
from .observer import Observer
from .plans import Plans
from .prepared_parameters import PreparedParameters
from .reshape import reshaped
from .runner import Runner
from .watch import Watch

__all__ = ["Executor"]


@hides("bound create_operators forward_before_backward has_run operator_of runner types_in")
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
        Arrays that gradients are written to: a list that may hold None, a dict with some of the names, or None.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
    aux_states
        The auxiliary states, a list or a dict.
    static_alloc
        On a GPU, run CUDA graphs, if nothing else was chosen: the backend ``'cudagraphs'``. Gradients are computed
        with the outputs then: what is written into either before `backward` comes too late for them. Elsewhere it has
        no effect.
    backend, recompute
        How it is run; see `Symbol.bind`.

    Examples
    --------
    >>> import rebind as mx
    >>> x = mx.sym.var("x")
    >>> exe = mx.executor.Executor(
    ...     x * x, mx.cpu(), {"x": mx.nd.array([3.0])}, {"x": mx.nd.zeros((1,))}, "write"
    ... )
    >>> exe.backward([mx.nd.ones((1,))])
    >>> exe.grad_dict["x"].item()
    6.0
    """

    def __init__(
        self,
        sym: GraphHolder,
        device: Device,
        args: Arrays = None,
        args_grad: Arrays = None,
        grad_req: GradReqs = "write",
        aux_states: Arrays = None,
        static_alloc: bool = False,
        *,
        backend: str | None = None,
        recompute: bool | None = None,
    ) -> None:
        found = as_device(device, "Executor: device")
        chosen = backend is not None or sym.backend is not None or config.get("REBIND_BACKEND") != "default"
        if static_alloc and found.device_type == "gpu" and not chosen:
            backend = CUDA_GRAPHS
        sym = run_as(sym, backend, recompute)
        graph = sym.graph
        warn_of_shared_names(graph)
        names = [node.name for node in graph.arguments]
        aux_names = [node.name for node in graph.auxiliary]
        own_args = {name: array(value, found) for name, value in arrays_by_name("args", args, names).items()}
        own_aux = {
            name: array(value, found)
            for name, value in arrays_by_name("aux_states", aux_states, aux_names).items()
        }
        grads = arrays_by_name("args_grad", args_grad, names)
        requests = read_grad_req(grad_req, names)
        arrays = BoundArrays(graph, found, own_args, grads, requests, own_aux)
        arrays.check_devices()
        self._setup(sym, arrays, {}, PreparedParameters())

    @classmethod
    def bound(
        cls,
        sym: GraphHolder,
        device: Device,
        args: Mapping[str, NDArray],
        grads: Mapping[str, NDArray | None],
        requests: Mapping[str, GradReq],
        aux: Mapping[str, NDArray],
        groups: Mapping[str, Device] | None = None,
        facts: Facts | None = None,
    ) -> Executor:
        """Return an executor that works on the given arrays themselves; all must be there and fit.

        `facts` are what follows from them, where that was inferred already.
        """
        return cls._on(sym, BoundArrays(sym.graph, device, args, grads, requests, aux), groups or {}, facts)

    @classmethod
    def _on(
        cls,
        sym: GraphHolder,
        arrays: BoundArrays,
        groups: Mapping[str, Device],
        facts: Facts | None = None,
        prepared: PreparedParameters | None = None,
    ) -> Executor:
        self = cls.__new__(cls)
        self._setup(sym, arrays, groups, prepared or PreparedParameters())
        if arrays.missing:
            raise ParameterError(f"bind: arrays are missing for {arrays.missing}")
        if not groups:
            arrays.check_devices()
        # Of two variables of one name one has the other's array, whatever was inferred of it.
        has_own = len(arrays.slots) + len(arrays.aux) == len(sym.graph.variables)
        self.runner.make_outputs(facts if facts is not None and has_own else arrays.infer())
        return self

    def _setup(
        self,
        sym: GraphHolder,
        arrays: BoundArrays,
        groups: Mapping[str, Device],
        prepared: PreparedParameters,
    ) -> None:
        self._symbol, self._graph = sym, sym.graph
        self._arrays, self._device = arrays, arrays.device
        # Of arguments that are not there yet it is not known.
        only_infers = not (arrays.wanted or arrays.missing)
        plans = Plans(sym.graph, arrays.device, groups, sym.backend, sym.recompute, only_infers)
        #: What runs it.
        self.runner = Runner(sym.graph, arrays, plans, prepared)

    def forward(self, is_train: bool = False, **kwargs: NDArray | np.ndarray | Tensor) -> list[NDArray]:
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

        Examples
        --------
        >>> import rebind as mx
        >>> exe = (mx.sym.var("x") * 2).simple_bind(mx.cpu(), x=(2,))
        >>> exe.forward(x=mx.nd.array([1, 2]))[0].asnumpy().tolist()
        [2.0, 4.0]
        """
        asked: object = is_train
        if asked.__class__ is str:  # the quickest way to ask: this is called for every batch
            check_kind("Executor.forward", FLAG, is_train=is_train)
        if kwargs:
            self._arrays.take_inputs(kwargs)
        return self.runner.forward(bool(is_train))  # programs say 1 and 0, too

    def forward_before_backward(self) -> list[NDArray]:
        """Run forward in training mode, where `backward` is the next call and nothing is written in between.

        A compiled network may then compute outputs and gradients together; `backward` puts these into their arrays.

        >>> import rebind as mx
        >>> exe = mx.sym.MakeLoss(mx.sym.var("x") ** 2).simple_bind(mx.cpu(), x=(1,))
        >>> exe.arg_dict["x"][:] = 3
        >>> exe.forward_before_backward()[0].item()
        9.0
        >>> exe.backward()
        >>> exe.grad_dict["x"].item()
        6.0
        """
        return self.runner.forward(is_train=True, backward_follows=True)

    def backward(
        self,
        out_grads: HeadGrads = None,
        is_train: bool = True,
        *,
        on_gradient: Callable[[str], None] | None = None,
    ) -> None:
        """Compute the gradients of the last `forward` and write them (or add them) to the bound arrays.

        Parameters
        ----------
        out_grads
            The gradients of the outputs: one array, a list, or a dict from output name to array. None for outputs
            that are losses.
        is_train
            Accepted; the mode is that of `forward`.
        on_gradient
            Called with the name of each argument whose gradient is in the bound array before backward ends.

        Raises
        ------
        StateError
            When an output that is no loss is given no gradient.

        Examples
        --------
        >>> import rebind as mx
        >>> exe = (mx.sym.var("x") * 2).simple_bind(mx.cpu(), x=(2,))
        >>> exe.backward(mx.nd.array([1, 10]))
        >>> exe.grad_dict["x"].asnumpy().tolist()
        [2.0, 20.0]
        """
        self.runner.last_pass()  # without one there are no outputs yet
        head_grads: list[Tensor | None] = [None] * len(self._graph.outputs)
        if out_grads is not None:
            head_grads = read_head_grads(out_grads, self._graph.output_names, self.outputs)
        self.runner.backward(head_grads, on_gradient)

    # Parameters and shapes.

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
        check_kind("Executor.copy_params_from", or_none(DICT), arg_params=arg_params, aux_params=aux_params)
        self._arrays.copy_params_from(arg_params or {}, aux_params, allow_extra_params)

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

        Examples
        --------
        >>> import rebind as mx
        >>> exe = mx.sym.var("x").simple_bind(mx.cpu(), x=(4,))
        >>> exe.reshape(x=(2,)).outputs[0].shape
        (2,)
        """
        wanted = {
            name: as_shape(shape, f"Executor.reshape: {name}", least=-1) for name, shape in kwargs.items()
        }
        runner = self.runner
        facts = self._arrays.infer() if runner.handles is None else runner.plans.facts
        arrays, facts = reshaped(self._arrays, facts, wanted, partial_shaping, allow_up_sizing)
        new = Executor._on(
            self._symbol, arrays, runner.plans.groups, facts, PreparedParameters(runner.prepared)
        )
        new.runner.observer = runner.observer
        return new

    def create_operators(self) -> None:
        """Create custom operators again, for shapes that come again: as in MXNet, which binds again, they begin again.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,)).create_operators()  # there are none
        """
        self.runner.plans.create_operators()

    def release(self) -> None:
        """Let go of what the last `forward` holds for `backward`, most of the memory that training takes.

        Outputs that nothing else refers to are freed too; they are zeros until the next `forward`.
        """
        self.runner.release()

    @property
    def has_run(self) -> bool:
        """Whether `forward` has run; until then the outputs are zeros."""
        return self.runner.has_run

    @property
    def is_compiled(self) -> bool:
        """Whether a compiler takes the runs that nobody watches.

        >>> import rebind as mx
        >>> net = mx.sym.exp(mx.sym.var("x"))
        >>> net.simple_bind(mx.cpu(), x=(1,)).is_compiled
        False
        """
        return self.runner.plans.compiles

    def types_in(self, graph: Graph) -> Mapping[Entry, torch.dtype] | None:
        """Return all types, if it runs this graph: shapes do not change them.

        >>> import rebind as mx
        >>> net = mx.sym.exp(mx.sym.var("x"))
        >>> net.simple_bind(mx.cpu(), x=(1,)).types_in(net.graph)[net.graph.outputs[0]]
        torch.float32
        """
        return self.runner.plans.facts.types if graph is self._graph else None

    # Arrays.

    @property
    def arg_arrays(self) -> list[NDArray | None]:
        """The arguments, in the order of ``list_arguments()``."""
        return [slot.array for slot in self._arrays.order]

    @property
    def grad_arrays(self) -> list[NDArray | None]:
        """The arrays for gradients; None where none is bound."""
        return [slot.bound_grad for slot in self._arrays.order]

    @property
    def aux_arrays(self) -> list[NDArray | None]:
        """The auxiliary states, in the order of ``list_auxiliary_states()``."""
        return list(self._arrays.aux.values())

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """The arguments by name."""
        return {name: slot.array for name, slot in self._arrays.slots.items() if slot.array is not None}

    @property
    def grad_dict(self) -> dict[str, NDArray | Any]:
        """The arrays for gradients by name; None where none is bound."""
        return {name: slot.bound_grad for name, slot in self._arrays.slots.items()}

    @property
    def aux_dict(self) -> dict[str, NDArray | None]:
        """The auxiliary states by name."""
        return dict(self._arrays.aux)

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs: the same arrays for the executor's whole life, with the newest values after each `forward`."""
        if self.runner.handles is None:
            raise StateError(
                f"Executor.outputs: needs forward() first, with arrays for {self._arrays.missing}"
            )
        return self.runner.handles.arrays

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        return dict(zip(self._graph.output_names, self.outputs, strict=True))

    def __repr__(self) -> str:
        shapes = ", ".join(
            f"{name} {'?' if slot.array is None else slot.array.shape}"
            for name, slot in self._arrays.slots.items()
        )
        return f"<Executor of {', '.join(self._graph.output_names)} on {self._device}: {shapes}>"

    _ctx = property(lambda self: self._device)  # by MXNet's name, which programs read

    def __getstate__(self) -> NoReturn:
        who = type(self).__name__
        raise UnpicklableError(  # in MXNet a ValueError
            f"{who}: what is pickled or deep-copied must not be bound to arrays; got a bound {who}. Pickle its symbol "
            "and the arrays in arg_dict and aux_dict, and bind the symbol again."
        )

    def __copy__(self) -> Executor:
        # A shallow copy works on the same arrays.
        found = type(self).__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found

    # Looking inside.

    def set_monitor_callback(
        self,
        callback: Callable[[str, NDArray], object] | None,
        monitor_all: bool = False,
        *,
        active: Callable[[], bool] | None = None,
    ) -> None:
        """Call ``callback(name, array)`` for what each operator computes, forward and backward.

        In `forward` these are each operator's outputs, such as ``fc1_output``, hidden ones too (``bn1_mean``); in the
        `backward` that follows, the gradients of its inputs, such as ``fc1_backward_output0`` (without the number when
        it has one input only), in the order in which they are computed. Inputs without a gradient are left out.

        Parameters
        ----------
        callback
            What is called; it replaces the one before. None removes it.
        monitor_all
            Whether to report what goes in, too: before an operator's outputs each of its inputs under the operator's
            name for it (``fc1_data``), and before that a variable under its own (``data``, ``fc1_weight``); before the
            gradients of its inputs those of its outputs (``fc1_backward_input0``).
        active
            Asked before each `forward`; when it returns False, the network runs unwatched, at full speed.

        Examples
        --------
        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), x=(1,))
        >>> exe.set_monitor_callback(lambda name, array: print(name, array.item()))
        >>> _ = exe.forward()
        e_output 1.0
        """
        check_kind("Executor.set_monitor_callback", or_none(FUNCTION), callback=callback)
        self.set_observer(None if callback is None else Watch(callback, monitor_all, active, self._device))

    def set_observer(self, observer: Observer | None) -> None:
        """Let an observer be notified of each operator that runs; it replaces the one before, a monitor too.

        None removes it. While there is none, it costs nothing.
        """
        self.runner.observer = observer

    def describe(self) -> str:
        """Return a text about what runs the network: the programs, what passes changed, why no faster program is taken.

        >>> import rebind as mx
        >>> exe = mx.sym.exp(mx.sym.var("x"), name="e").simple_bind(mx.cpu(), "null", x=(2,))
        >>> print(exe.describe().splitlines()[1])
        inference: inference
        """
        if self.runner.handles is None:
            raise StateError(f"Executor.describe: arrays are missing for {self._arrays.missing}")
        return describe_programs(self._graph, self.runner.programs, bool(self._arrays.wanted))

    def memory_summary(self, rows: int = 5) -> str:
        """Return a text about the memory that training takes: bound arrays, and results by node, in MB or kB.

        Of results it is what follows from the shapes, if each is freed when it is used up, or with the gradient that it
        is needed for; `profiler.memory_of` measures a step.

        Parameters
        ----------
        rows
            How many names each line has, the largest first.

        Examples
        --------
        >>> import rebind as mx
        >>> net = mx.sym.exp(mx.sym.var("x"), name="e")
        >>> print(net.simple_bind(mx.cpu(), "null", x=(1024, 1024)).memory_summary())
        arguments                  4.0 MB: x 4.0
        results at the peak        4.0 MB: e 4.0 (in e)
        together                   8.0 MB
        """
        if self.runner.handles is None:
            raise StateError(f"Executor.memory_summary: arrays are missing for {self._arrays.missing}")
        check_kind("Executor.memory_summary", COUNT, rows=rows)
        return memory_summary(self._arrays, self.runner.plans.facts, rows)

    def operator_of(self, name: str) -> str | None:
        """Return the operator that a monitor's `name` is of, as ``FullyConnected 'fc1'``; None for a variable's."""
        return operator_of(self._graph, name)

    def get_optimized_symbol(self) -> GraphHolder:
        """Return the symbol as it is run in training mode, after all passes."""
        best, _ = optimize(self._graph, self.runner.plans.facts, self.runner.plans.target(is_train=True))
        return self._symbol.with_graph(best)

    def debug_str(self) -> str:
        """Return a text about the graph and its memory, in the form of MXNet's."""
        wanted = [name for name, slot in self._arrays.slots.items() if slot.grad is not None]
        return f"{self._symbol.debug_str()}\n{describe_memory(self._graph, self.runner.plans.facts, wanted)}"
