"""From a symbol to an executor, and to what a backend makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..checks import DICT, an, check_kind, or_none, warn_user
from ..device import Device, as_device
from ..dtypes import DTypeLike, torch_dtype
from ..errors import near_names
from ..executor import Arrays, Executor, GradReqs, Sharing, arrays_by_name, bind, run_as, simple_bind
from ..graph import Facts, Target, infer_shapes, infer_types
from ..graph.passes import backend_named, optimize, optimize_without_shapes
from ..ndarray import NDArray
from ..ndarray.storage import has_storage_kind, storage_kind
from ..ops.storage_types import SPARSE, warn_of_dense
from ..shapes import Shape
from .base import named_values
from .inspection import Inspection

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Binding"]

T = TypeVar("T")


class Binding(Inspection):
    """Methods that make a symbol ready to run."""

    __slots__ = ()

    def bind(
        self,
        ctx: Device,
        args: Arrays,
        args_grad: Arrays = None,
        grad_req: GradReqs = "write",
        aux_states: Arrays = None,
        group2ctx: Mapping[str, Device] | None = None,
        shared_exec: Executor | None = None,
        *,
        backend: str | None = None,
        recompute: bool | None = None,
    ) -> Executor:
        """Return an executor that works on the caller's own arrays.

        Parameters
        ----------
        ctx
            The device.
        args
            All arguments: a list in the order of `list_arguments`, or a dict.
        args_grad
            Arrays that gradients are written to: a list with None in it, a dict with some of the names, or None.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
        aux_states
            The auxiliary states, a list or a dict.
        group2ctx
            The device of each ``ctx_group``.
        shared_exec
            Accepted; torch's allocator shares memory by itself.
        backend
            How it is run: ``'default'``; ``'inductor'``, compiled by PyTorch's compiler, which takes some time at the
            first run; ``'openvino'``, in inference by OpenVINO (docs/performance.md); or a name that
            `rebind.graph.passes.register_backend` was given. None: the symbol's own (`optimize_for`), or that of the
            environment (``REBIND_BACKEND``).
        recompute
            Whether training keeps fewer results for `backward`: those that take little time, such as of batch norms and
            activations, are computed again there, with the same numbers (docs/performance.md). Operators with the
            attribute ``force_mirroring='True'`` always are. None: as the environment says
            (``MXNET_BACKWARD_DO_MIRROR=1``).

        Raises
        ------
        ParameterError
            When an array is missing; it is a ValueError and names all that are.

        Examples
        --------
        >>> import rebind as mx
        >>> w, grad = mx.nd.array([3]), mx.nd.zeros((1,))
        >>> exe = mx.sym.MakeLoss(mx.sym.var("w") ** 2).bind(mx.cpu(), {"w": w}, {"w": grad})
        >>> _ = exe.forward(is_train=True)
        >>> exe.backward()
        >>> grad.item()  # written into the caller's own array
        6.0
        """
        device = as_device(ctx, "Symbol.bind: ctx")
        check_kind("Symbol.bind", or_none(DICT), group2ctx=group2ctx)
        check_kind("Symbol.bind", or_none(an(Executor)), shared_exec=shared_exec)
        chosen = run_as(self, backend, recompute)
        return bind(chosen, device, args, args_grad, grad_req, aux_states, group2ctx)

    def simple_bind(
        self,
        ctx: Device,
        grad_req: GradReqs = "write",
        type_dict: Mapping[str, DTypeLike] | None = None,
        stype_dict: Mapping[str, str] | None = None,
        group2ctx: Mapping[str, Device] | None = None,
        shared_arg_names: Sequence[str] | None = None,
        shared_exec: Executor | None = None,
        shared_buffer: dict[str, NDArray] | None = None,
        *,
        backend: str | None = None,
        recompute: bool | None = None,
        **kwargs: Sequence[int],
    ) -> Executor:
        """Return an executor with new arrays, from the shapes of the inputs.

        Parameters
        ----------
        ctx
            The device.
        grad_req
            ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.
        type_dict
            Types by name; what does not follow from them is float32.
        stype_dict
            Storage types by name; others are those of ``var(stype=)``.
        group2ctx
            The device of each ``ctx_group``.
        shared_arg_names, shared_exec
            Arguments whose arrays are taken from another executor (all of the same shape, when no names are given).
        shared_buffer
            Arrays by name to use when they are large enough, and to which new ones are added.
        backend, recompute
            As for `bind`.
        **kwargs
            Shapes by name of argument. Other names are ignored, as in MXNet.

        Examples
        --------
        >>> import rebind as mx
        >>> net = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=2, name="fc")
        >>> exe = net.simple_bind(mx.cpu(), x=(8, 3))
        >>> exe.arg_dict["fc_weight"].shape, exe.forward()[0].shape
        ((2, 3), (8, 2))
        """
        device = as_device(ctx, "Symbol.simple_bind: ctx")
        dicts = {"type_dict": type_dict, "stype_dict": stype_dict, "group2ctx": group2ctx}
        check_kind("Symbol.simple_bind", or_none(DICT), **dicts)
        check_kind("Symbol.simple_bind", or_none(an(Executor)), shared_exec=shared_exec)
        stypes = _storage_types(stype_dict or {})
        for name, dtype in (type_dict or {}).items():
            if dtype is not None:
                torch_dtype(dtype, f"Symbol.simple_bind: type_dict: type of {name!r}")
        shapes = self._of_inputs(kwargs, "simple_bind")
        types = named_values(self, "simple_bind", (), type_dict or {})
        sharing = Sharing(shared_exec, shared_arg_names, shared_buffer, frozenset(shapes))
        chosen = run_as(self, backend, recompute)
        return simple_bind(chosen, device, shapes, types, grad_req, group2ctx, sharing, stypes)

    def _of_inputs(self, given: Mapping[str, T], who: str) -> dict[str, T]:
        """Return what is given for variables; other names are ignored, as in MXNet, with a warning.

        Programs hand on what a module's `bind` takes (``force_rebind=True``), and the labels of other networks.
        """
        known = {node.name for node in self._graph.variables}
        for name in [name for name in given if name not in known]:
            warn_user(f"Symbol.{who}: no argument {name!r}{near_names(name, known)} It is ignored.")
        return {name: value for name, value in given.items() if name in known}

    def _bind(
        self,
        device: Device,
        args: Arrays,
        args_grad: Arrays = None,
        grad_req: GradReqs = "write",
        aux_states: Arrays = None,
        static_alloc: bool = False,
    ) -> Executor:
        """Return an executor as MXNet 2.0 makes it: with copies of the arguments."""
        return Executor(self, device, args, args_grad, grad_req, aux_states, static_alloc)

    def _simple_bind(self, device: Device, grad_req: GradReqs = "write", **kwargs: Any) -> Executor:
        """Return an executor with new arrays, from the shapes of the inputs."""
        return self.simple_bind(device, grad_req, **kwargs)

    def eval(self, ctx: Device | None = None, **kwargs: NDArray) -> list[NDArray]:
        """Bind to the given arrays, run forward, and return the outputs.

        >>> import rebind as mx
        >>> a, b = mx.sym.var("a"), mx.sym.var("b")
        >>> (a + b).eval(a=mx.nd.ones((2,)), b=mx.nd.ones((2,)))[0].asnumpy()
        array([2., 2.], dtype=float32)
        """
        arrays = self._of_inputs(kwargs, "eval")
        return self.bind(as_device(ctx, "Symbol.eval: ctx"), arrays, grad_req="null").forward()

    def get_backend_symbol(self, backend: str) -> Self:
        """Return the symbol after the passes of a backend, as `optimize_for` without arrays.

        >>> import rebind as mx
        >>> mx.sym.exp(mx.sym.var("x"), name="e").get_backend_symbol("default").list_outputs()
        ['e_output']
        """
        return self.optimize_for(backend)

    def get_optimized_symbol(self) -> Self:
        """Return the symbol as it is run in training mode, as far as that does not depend on shapes."""
        return self.optimize_for("default", training=True)

    def optimize_for(
        self,
        backend: str,
        args: Arrays = None,
        aux: Arrays = None,
        ctx: Device | None = None,
        shape_dict: Mapping[str, Shape] | None = None,
        type_dict: Mapping[str, DTypeLike] | None = None,
        *,
        training: bool = False,
        **kwargs: str | float,
    ) -> Self:
        """Return the symbol after the passes of a backend; for one that compiles, the symbol that is bound with it.

        Parameters
        ----------
        backend
            ``'default'``, what is done with every symbol when it is run; ``'inductor'`` or ``'openvino'``, to have it
            compiled then, as by ``bind(..., backend='inductor')``; or a name that
            `rebind.graph.passes.register_backend` was given.
            MXNet's own (``'MKLDNN'``, ...) leave the symbol as it is: the executor does what they do.
        args, aux
            Arrays, whose shapes and types the passes may use; a list or a dict.
        ctx
            The device.
        shape_dict, type_dict
            Shapes and types by name, where there are no arrays.
        training
            The mode that it is made ready for.
        **kwargs
            Options of MXNet's backends; they have no effect.

        Raises
        ------
        NameLookupError
            For a backend that nobody registered.

        Examples
        --------
        >>> import rebind as mx
        >>> weight = mx.sym.var("w")
        >>> a, b = (mx.sym.FullyConnected(mx.sym.var(x), weight, num_hidden=2, no_bias=True) for x in "ab")
        >>> mx.sym.Group([a, b]).optimize_for("default").list_arguments()
        ['a', 'b', 'w']
        """
        if backend_named(backend).compiler is not None:
            # Its passes run when it is bound, when shapes are known.
            return self.with_backend(backend)
        arrays = {
            **arrays_by_name("optimize_for: args", args, self.list_arguments()),
            **arrays_by_name("optimize_for: aux", aux, self.list_auxiliary_states()),
        }
        types = {**(type_dict or {}), **{name: value.dtype for name, value in arrays.items()}}
        shapes = {**(shape_dict or {}), **{name: value.shape for name, value in arrays.items()}}
        known = infer_types(self._graph, types)
        facts = Facts.of(infer_shapes(self._graph, shapes, known), known)
        target = Target.at(as_device(ctx, "Symbol.optimize_for: ctx"), training, backend=backend)
        # What shapes decide is left for `bind` where none are given.
        run = optimize if shapes else optimize_without_shapes
        return self.symbol_class(run(self._graph, facts, target)[0])


def _storage_types(given: Mapping[str, str]) -> dict[str, str]:
    """Return the storage types that arrays can have; those of sparse storage, which are to come, are dense."""
    found = {}
    for name, stype in given.items():
        if stype in SPARSE and not has_storage_kind(stype):
            warn_of_dense(f"arrays of Symbol.simple_bind(stype_dict={{...: {stype!r}}})")
            continue
        storage_kind(stype, f"Symbol.simple_bind: stype_dict: stype of {name!r}")
        found[name] = stype
    return found
