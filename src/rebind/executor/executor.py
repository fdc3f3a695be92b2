"""`Executor`: a graph with arrays, which it runs forward and backward."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from torch import Tensor
from torch.jit import is_tracing

from .. import config, generators
from ..checks import DICT, FLAG, check_kind, or_none
from ..device import Device, as_device
from ..errors import ParameterError, StateError
from ..grad_mode import grad_mode
from ..graph import Facts
from ..graph.control_flow import is_stateful
from ..graph.facts import CUDA_GRAPHS
from ..graph.same_names import warn_of_shared_names
from ..ndarray import NDArray, array
from ..shapes import Shape, as_shape
from .arguments import Arrays, GradReq, GradReqs, arrays_by_name, read_grad_req
from .backward import Backward, Pass, Record
from .bound import BoundArrays
from .head_grads import HeadGrads, read_head_grads
from .inspection import GraphHolder, run_as
from .kept import Kept
from .lower import Plan
from .outputs import OutputHandles, detached
from .plans import Plans
from .ready_runs import ReadyRuns
from .reshape import reshaped
from .sparse_declarations import warn_of_sparse_declarations
from .staying import apart_from
from .watch import Watch

__all__ = ["Executor", "GraphHolder"]


class Executor(ReadyRuns):
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
        self._setup(sym, arrays, {})

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
    ) -> Executor:
        self = cls.__new__(cls)
        self._setup(sym, arrays, groups)
        if arrays.missing:
            raise ParameterError(f"bind: arrays are missing for {arrays.missing}")
        if not groups:
            arrays.check_devices()
        # Of two variables of one name one has the other's array, whatever was inferred of it.
        has_own = len(arrays.slots) + len(arrays.aux) == len(sym.graph.variables)
        self._make_outputs(facts if facts is not None and has_own else arrays.infer())
        return self

    def _setup(self, sym: GraphHolder, arrays: BoundArrays, groups: Mapping[str, Device]) -> None:
        self._symbol = sym
        self._graph = sym.graph
        self._arrays = arrays
        self._device = arrays.device
        # Of arguments that are not there yet it is not known.
        only_infers = not (arrays.wanted or arrays.missing)
        if arrays.wanted:
            warn_of_sparse_declarations(sym.graph)
        self._plans = Plans(sym.graph, arrays.device, groups, sym.backend, sym.recompute, only_infers)
        # None before the first run of an executor that lacks arrays.
        self._handles: OutputHandles | None = None
        self._last: Pass | None = None
        self._kept = Kept()
        #: Whether `forward` has run; until then the outputs are zeros.
        self.has_run = False
        self._monitor: Watch | None = None

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
        if not (is_train and self._plans.captures):
            return self._forward_alone(is_train)
        if self._handles is None:
            self._complete()
        return self._forward_with_gradients(backward_follows=False)

    def _forward_alone(self, is_train: bool) -> list[NDArray]:
        """Run forward without what follows it, and return the outputs."""
        if self._handles is None:
            self._complete()
        is_train = bool(is_train)  # programs say 1 and 0, too
        watch = self._monitor
        if watch is not None and watch.is_active():
            values, self._last = self._run(self._plans.get(is_train, watched=True), is_train, watch)
        elif is_train or self._plans.remembers:
            # What remembers is recorded in either mode: `backward` cannot run it once more and find it as it was.
            self._kept.clear()
            values, self._last = self._run(self._plans.get(is_train), record=True)
        else:
            values, self._last = self._run_inference()
        assert self._handles is not None
        self.has_run = True
        # A watched run has the results of all nodes as further outputs.
        return self._handles.show(values[: len(self._graph.outputs)])

    def _complete(self) -> None:
        """Before the first run of an executor that was made without some arguments: make what follows from them."""
        if self._arrays.missing:
            raise ParameterError(f"Executor.forward: arrays are missing for {self._arrays.missing}")
        self._arrays.make_gradients()
        self._make_outputs(self._arrays.infer())

    def _make_outputs(self, facts: Facts) -> None:
        self._plans.facts = facts
        self._plans.create_operators()
        if self._arrays.has_large_gradients:
            self._arrays.decide_what_stays(self._plans.bytes_of_results)
        self._handles = OutputHandles(self._graph.outputs, facts, self._device)

    def _run_inference(self) -> tuple[list[Tensor], Pass]:
        """Run the plan for inference, with what is kept from run to run if it has such parts."""
        plan = self._plans.get(is_train=False, recorded=False, is_first=not self.has_run)
        if plan.preparation is None:
            return self._run(plan, record=False)
        storages = self._arrays.storages(plan.preparation.positions)
        kept = self._kept_values(plan.preparation, storages)
        if kept is None:
            return self._run(self._plans.get(is_train=False), record=False)
        return self._run(plan, record=False, kept=kept)

    def _run(
        self,
        plan: Plan,
        record: bool,
        watch: Watch | None = None,
        kept: Sequence[Tensor] = (),
        explicit: bool = True,
    ) -> tuple[list[Tensor], Pass]:
        """Run a plan; with `record`, the pass holds what `backward` needs: without autograd's record if `explicit`."""
        # Frees the memory of the pass before, before this one takes its own.
        self._last = None
        if self._handles is not None:
            self._handles.release_large()
        tracing = is_tracing()  # what a trace computes has no `backward` here
        record = record and bool(self._arrays.wanted) and not tracing
        if record and plan.compiled is not None and plan.compiled.is_captured:
            plan = self._plans.get(plan.target.training, compiled=False)
        source, random_state = plan.random_source(self._device)
        if plan.constants:
            self._arrays.fill(plan.constants)  # before the tensors are read: one may be replaced
        # Not the leaves of gradients, which are apart from the arrays: a trace would take them for constants.
        bound = self._arrays.memory() if tracing else self._arrays.tensors(plan.channels_last, plan.unread)
        tensors = [*bound, *kept]
        halves = self._halves(plan) if record and explicit and watch is None else None
        backward = None
        try:
            with grad_mode(record and halves is None), self._plans.threads(inference=not record):
                if halves is not None:
                    (outputs, new_aux, loss_inputs), needed = halves.forward(source, tensors)
                    backward = functools.partial(halves.backward, needed)
                elif watch is None:
                    run = plan if record else plan.infer
                    outputs, new_aux, loss_inputs = run(source, tensors)
                else:
                    outputs, new_aux, loss_inputs = watch.run(plan, source, tensors)
        except Exception as error:
            if halves is not None:  # the plan's own code says where
                return self._run(plan, record, explicit=False)
            if plan.compiled is not None:
                return self._run_uncompiled(plan, record, error)
            found = plan.explain(error)
            if found is error:  # that of a custom operator, with the user's own error as its cause
                raise
            raise found from None
        left = Record(outputs, loss_inputs, tensors, backward) if record else None
        return detached(outputs, tensors, loss_inputs), Pass(plan, left, new_aux, random_state)

    def _run_uncompiled(self, plan: Plan, record: bool, error: Exception) -> tuple[list[Tensor], Pass]:
        """Run what the compiler failed on, with `error`, in the default mode."""
        # The user's mistake, if it is one, is an error here too, which says where; the compiler is not given up then.
        done = self._run(self._plans.get(plan.target.training, compiled=False), record)
        self._plans.give_up(plan, error)
        return done

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
        if self._last is None:
            if self._handles is None and self._arrays.missing:
                raise StateError(f"Executor.backward: needs forward() first, with {self._arrays.missing}")
            self.forward(is_train=False)  # the pass that is missing; replayed below
        last = self._last
        assert last is not None
        head_grads: list[Tensor | None] = [None] * len(self._graph.outputs)
        if out_grads is not None:
            head_grads = read_head_grads(out_grads, self._graph.output_names, self.outputs)
        self._arrays.clear_whole_gradients()
        if not self._arrays.wanted:
            return
        gradients, last.gradients = last.gradients, None
        if gradients is not None and on_gradient is None:
            with self._plans.threads():
                self._arrays.receive_gradients(gradients)
        else:
            if last.record is None:  # freed by an earlier backward, or never made in an inference pass
                last = self._replay(last)
            record, last.record = last.record, None
            assert record is not None
            if self._arrays.staying:
                head_grads = apart_from(head_grads, self._arrays.staying)
            with self._plans.threads():
                if record.explicit is None:
                    run = functools.partial(Backward.of(last.plan), record, head_grads=head_grads)
                    self._arrays.take_gradients(run, on_gradient, head_grads)
                else:
                    with grad_mode(False):
                        self._arrays.receive_gradients(record.explicit(), on_gradient)
        # Moving averages are updated when backward runs, as in MXNet, and again by a second call.
        if last.plan.target.training:
            self._move_statistics(last)

    def _replay(self, last: Pass) -> Pass:
        """Run forward once more, for a `backward` that is the second or comes after an inference pass.

        Records would otherwise hold all intermediate results in memory, through the update or a whole validation, for
        calls that hardly any program makes.
        """
        # Custom operators write their states in forward, which has counted already.
        states = [
            state for state in self._arrays.aux.values() if state is not None and is_stateful(self._graph)
        ]
        before = [state.tensor.clone() for state in states]
        replayed = self._replay_drawing(last)
        for state, value in zip(states, before, strict=True):
            # Through `data`: autograd has recorded these arrays, which backward is to see as they were.
            state.tensor.data.copy_(value)
        return replayed

    def _replay_drawing(self, last: Pass) -> Pass:
        """Run forward once more, with the random numbers of the first time."""
        # Compiled code draws other numbers.
        plan = self._plans.get(last.plan.target.training, compiled=last.plan.compiled is not None)
        if last.random_state is None:
            _, self._last = self._run(plan, record=True)
            return self._last
        generator = generators.generator(self._device)
        after = generator.get_state()
        # The same dropout masks as the first time, and afterwards the sequence continues where it was.
        generator.set_state(last.random_state)
        _, self._last = self._run(plan, record=True)
        generator.set_state(after)
        return self._last

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
        facts = self._arrays.infer() if self._handles is None else self._plans.facts
        arrays, facts = reshaped(self._arrays, facts, wanted, partial_shaping, allow_up_sizing)
        new = Executor._on(self._symbol, arrays, self._plans.groups, facts)
        new._monitor, new._kept = self._monitor, Kept(self._kept)
        return new

    def create_operators(self) -> None:
        """Create custom operators anew, for shapes that come again: as in MXNet, which binds again, they begin anew.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("x")).simple_bind(mx.cpu(), x=(2,)).create_operators()  # there are none
        """
        self._plans.create_operators()

    def release(self) -> None:
        """Let go of what the last `forward` holds for `backward`, most of the memory that training takes.

        Outputs that nothing else refers to are freed too; they are zeros until the next `forward`.
        """
        self._last = None
        if self._handles is not None:
            self._handles.release()
