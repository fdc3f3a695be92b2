"""The arrays of a block's parameter, one on each device, for blocks that are called on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from .. import autograd, initializer
from ..checks import warn_user
from ..device import Device, as_devices, current_device
from ..dtypes import DTypeLike, numpy_type
from ..errors import DTypeError, ParameterError, ShapeError, StateError
from ..initializer import InitDesc, Initializer
from ..kvstore.row_ids import distinct_rows
from ..ndarray import NDArray, array, zeros
from ..ndarray.base import wrap
from ..ndarray.gradients import mark
from .utils import joined_shape, shape_is_known

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["DeferredInitializationError", "Devices", "Init", "ParameterArrays"]

Devices: TypeAlias = "Device | Sequence[Device] | None"
Init: TypeAlias = "str | Initializer"

_HOW = "Call initialize() of the block (or load_parameters, or collect_params().initialize()) first."


class DeferredInitializationError(StateError):
    """A parameter has no array yet, since its shape is known when the block is first called on an array."""


class _Pending(NamedTuple):
    """How a parameter is to be initialized once its shape is known."""

    init: Init
    default: Init
    devices: list[Device]
    value: NDArray | None = None


class ParameterArrays:
    """Base of parameters: what has to do with arrays. `Parameter` describes the variable."""

    name: str
    init: Init | None
    _shape: tuple[int, ...] | None
    _dtype: DTypeLike
    grad_req: Any
    _allow_deferred_init: bool
    _stype: str
    _grad_stype: str
    _arrays: list[NDArray] | None = None
    _pending: _Pending | None = None

    @property
    def dtype(self) -> DTypeLike:
        """The type; the arrays are cast when it is set."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: DTypeLike) -> None:
        self._dtype = dtype
        if self._arrays is not None:
            self._set_arrays([each.astype(dtype) for each in self._arrays])

    def initialize(
        self,
        init: Init | None = None,
        ctx: Devices = None,
        default_init: Init | None = None,
        force_reinit: bool = False,
    ) -> None:
        """Make the arrays and fill them; later, when a block is called, if the shape is not known yet.

        Parameters
        ----------
        init
            The initializer; by default that of the parameter, and else `default_init`.
        ctx
            A device or several; the current one by default.
        default_init
            ``Uniform()`` by default.
        force_reinit
            Whether to fill again what has been initialized before.

        Examples
        --------
        >>> from rebind.gluon import Parameter
        >>> weight = Parameter("w", shape=(2,), init="ones")
        >>> weight.initialize()
        >>> weight.data().asnumpy(), weight.grad().asnumpy()
        (array([1., 1.], dtype=float32), array([0., 0.], dtype=float32))
        """
        if self._arrays is not None and not force_reinit:
            warn_user(
                f"gluon.Parameter {self.name!r} is initialized already and left as it is; "
                "force_reinit=True initializes it again"
            )
            return
        default = default_init or initializer.Uniform()
        chosen = init or self.init or default
        for each in (chosen, default):
            initializer.create(each)  # a wrong name is an error now, and not at the first call
        if not shape_is_known(self._shape) and not self._allow_deferred_init:
            raise ParameterError(
                f"gluon.Parameter {self.name!r}: the shape must be known to initialize it; got {self._shape}. "
                "Give the shape in full, or allow_deferred_init=True."
            )
        self._arrays = None
        self._pending = _Pending(chosen, default, as_devices(ctx, f"gluon.Parameter {self.name!r}: ctx"))
        if shape_is_known(self._shape):
            self.finish_initialization()

    def finish_initialization(self) -> None:
        """Make the arrays, if that was put off until the shape is known."""
        pending = self._pending
        if pending is None:
            return
        if not shape_is_known(self._shape):
            raise self._deferred()
        assert self._shape is not None
        value = pending.value
        if value is None:
            with autograd.pause():
                value = zeros(self._shape, ctx=pending.devices[0], dtype=self._dtype)
                # As the initializer of the variable itself: it counts whatever the name ends in.
                described = InitDesc(self.name, {"__init__": pending.init})  # type: ignore[dict-item]  # it may be an object
                initializer.create(pending.default)(described, value)
        self._fill(value, pending.devices)

    def _fill(self, value: NDArray, devices: Sequence[Device]) -> None:
        """Take copies of an array on each device, in the parameter's storage type."""
        self._pending = None
        with autograd.pause():
            value = value.tostype(self._stype)
        self._set_arrays([value.copyto(device) for device in devices])

    def _set_arrays(self, arrays: list[NDArray]) -> None:
        self._arrays = arrays
        for each in arrays:
            if self.grad_req != "null":
                each.attach_grad(self.grad_req, self._grad_stype)
            else:
                mark(each, None, "null")

    def _all(self) -> list[NDArray]:
        """Return the arrays of all devices."""
        if self._arrays is not None:
            return self._arrays
        raise self._deferred() if self._pending is not None else self._missing()

    def _deferred(self) -> DeferredInitializationError:
        return DeferredInitializationError(
            f"gluon.Parameter {self.name!r}: has no array yet, since its shape {self._shape} is not known in full. "
            "Call the block on an array first, or give it the size of its input (in_units, in_channels)."
        )

    def _missing(self) -> StateError:
        return StateError(f"gluon.Parameter {self.name!r}: is not initialized. {_HOW}")

    def data(self, ctx: Device | None = None) -> NDArray:
        """Return the array, on a device; by default the current one, or the only one."""
        self._check_row_sparse("data()", wanted=False)
        return self.array_on(ctx)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """Return a copy of some rows of a row_sparse parameter, on the device of their ids.

        MXNet needs a ``Trainer`` for that.

        Parameters
        ----------
        row_id
            The ids, in any order and as often as they like.

        Examples
        --------
        >>> import rebind as mx
        >>> from rebind.gluon import Parameter
        >>> weight = Parameter("w", shape=(5, 2), stype="row_sparse", init="ones")
        >>> weight.initialize()
        >>> weight.row_sparse_data(mx.nd.array([3, 1, 3])).indices.asnumpy().tolist()
        [1, 3]
        """
        self._check_row_sparse("row_sparse_data()")
        return self._rows(self.array_on(row_id.context), row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """Return copies of some rows of a row_sparse parameter, on all devices."""
        self._check_row_sparse("list_row_sparse_data()")
        return [self._rows(each, row_id) for each in self._all()]

    def _rows(self, value: NDArray, row_id: NDArray) -> NDArray:
        rows = distinct_rows(row_id, value.shape[0], f"gluon.Parameter {self.name!r}: row_id")
        return wrap(value.storage.retain(rows), value.context)

    def _check_row_sparse(self, who: str, wanted: bool = True) -> None:
        """Raise an error unless the parameter is row_sparse, or is not."""
        if (self._stype == "row_sparse") is not wanted:
            remedy = "data()" if wanted else "row_sparse_data()"
            raise StateError(
                f"gluon.Parameter {self.name!r}: {who} is for other storage types than {self._stype!r}; use {remedy}"
            )

    def array_on(self, ctx: Device | None = None) -> NDArray:
        """Return the array of whichever storage type, on a device; by default the current one, or the only one."""
        arrays = self._all()
        wanted = current_device() if ctx is None else ctx
        for each in arrays:
            if each.context == wanted:
                return each
        if ctx is None:
            return arrays[0]
        devices = ", ".join(str(each.context) for each in arrays)
        raise StateError(
            f"gluon.Parameter {self.name!r}: is on {devices}, and not on {ctx}. Move it with "
            "block.collect_params().reset_ctx(...), or the input with as_in_context(...)."
        )

    def list_data(self) -> list[NDArray]:
        """Return the arrays of all devices."""
        self._check_row_sparse("list_data()", wanted=False)
        return list(self._all())

    def grad(self, ctx: Device | None = None) -> NDArray:
        """Return the gradient, on a device."""
        return self._gradient(self.array_on(ctx))

    def list_grad(self) -> list[NDArray]:
        """Return the gradients of all devices."""
        return [self._gradient(each) for each in self._all()]

    def _gradient(self, value: NDArray) -> NDArray:
        if value.grad is None:
            raise StateError(f"gluon.Parameter {self.name!r}: has no gradient, since its grad_req is 'null'")
        return value.grad

    def zero_grad(self) -> None:
        """Set the gradients to 0."""
        for each in (self._arrays or []) if self.grad_req != "null" else []:
            gradient = self._gradient(each)
            gradient.write_unrecorded(gradient.storage.zeros_like())

    def list_ctx(self) -> list[Device]:
        """Return the devices."""
        if self._arrays is None and self._pending is None:
            raise self._missing()
        return self._pending.devices if self._pending is not None else [each.context for each in self._all()]

    def reset_ctx(self, ctx: Devices) -> None:
        """Move the arrays to other devices."""
        devices = as_devices(ctx, f"gluon.Parameter {self.name!r}: ctx")
        if self._pending is not None:
            self._pending = self._pending._replace(devices=devices)
        else:
            self._fill(self.reduced(), devices)

    def reduced(self) -> NDArray:
        """Return a copy of the array: the mean over all devices."""
        arrays = self._all()
        with autograd.pause():
            total = arrays[0].copy()
            for each in arrays[1:]:
                total.accumulate(each.as_in_context(total.context))
            if len(arrays) > 1 and total.storage.dtype.is_floating_point:  # whole numbers are not trained
                total.storage.divide(len(arrays))
                return total
            return total / len(arrays) if len(arrays) > 1 else total

    def set_data(self, data: NDArray | ArrayLike) -> None:
        """Set the array on all devices; before the parameter has one, the array that it will have."""
        value = data if isinstance(data, NDArray) else array(data)
        self._fit(value)
        if self._arrays is None and self._pending is None:
            raise self._missing()
        if self._pending is not None:
            self._pending = self._pending._replace(value=value.astype(self._dtype))
            return
        with autograd.pause():
            for each in self._all():
                value.copyto(each)

    def _fit(self, value: NDArray) -> None:
        """Take the shape of an array for the sizes that are not known; check the others."""
        if self._shape is not None and joined_shape(self._shape, value.shape) != value.shape:
            raise ShapeError(
                f"gluon.Parameter {self.name!r}: must have shape {self._shape}; got {value.shape}"
            )
        self._shape = value.shape

    def load_array(
        self, value: NDArray, ctx: Devices = None, *, cast_dtype: bool = False, dtype_source: str = "current"
    ) -> None:
        """Take an array that was read from a file, whose type must be the parameter's.

        Parameters
        ----------
        value
            The array.
        ctx
            The devices; by default those that the parameter has, or is to be initialized on.
        cast_dtype
            Whether another type is no error.
        dtype_source
            Which type counts then: the parameter's (``'current'``) or the file's (``'saved'``).
        """
        if dtype_source not in ("current", "saved"):
            raise ParameterError(f"load: dtype_source must be 'current' or 'saved'; got {dtype_source!r}")
        own, found = numpy_type(self._dtype), numpy_type(value.dtype)
        if own != found and not cast_dtype:
            raise DTypeError(
                f"gluon.Parameter {self.name!r}: must be loaded from an array of type {own}; got {found}. "
                "cast_dtype=True casts it."
            )
        self._fit(value)
        if own != found and dtype_source == "saved":
            self.dtype = value.dtype
        value = value.astype(self._dtype)
        has_devices = self._arrays is not None or self._pending is not None
        devices = self.list_ctx() if has_devices and ctx is None else as_devices(ctx, "load: ctx")
        if self._arrays is not None and {*devices} == {*self.list_ctx()}:
            self.set_data(value)
        else:
            self._fill(value, devices)
