"""Storage types: how the numbers of an array are held, and which of them an operator takes and gives.

``'default'`` is dense. Beside shape and type, the storage type is the third fact that follows for every array of a
network. An operator computes on dense tensors; where it can do better with another storage type, a kernel for it is
declared here, beside the operator and without a change to it. Whatever has no kernel falls back to dense.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from .. import config
from ..errors import ParameterError
from ..logs import log
from ..params import Params
from .declaration import Operator, find

__all__ = [
    "DENSE", "WITH_DENSE_INPUTS", "StorageChoice", "StorageKernel", "add_storage_type", "declared_kernels",
    "infer_storage_types", "storage_kernel", "storage_name", "storage_number", "warn_of_fallback",
]  # fmt: skip

DENSE = "default"
ANY = "*"

Function = TypeVar("Function", bound=Callable[..., Any])
#: The storage types of the outputs, or how they follow from the parameters.
Outputs: TypeAlias = "tuple[str, ...] | Callable[[Params], tuple[str, ...]]"

# MXNet's numbers, in symbols (``__storage_type__``) and in files of arrays.
_NUMBERS = {DENSE: 0, "row_sparse": 1, "csr": 2}


def add_storage_type(name: str, number: int) -> None:
    """Make a storage type known by its name and by its number in files.

    Raises
    ------
    ValueError
        When the name has another number, or the number another name.

    >>> add_storage_type("csr", 2)  # it is known already, by this number
    """
    if _NUMBERS.get(name, number) != number or any(
        taken == number and known != name for known, taken in _NUMBERS.items()
    ):
        raise ValueError(
            f"storage type {name!r}: name and number must both be new; got number {number}. Registered: {_NUMBERS}."
        )
    _NUMBERS[name] = number


def storage_number(name: str, who: str = "stype") -> int:
    """Return the number of a storage type in files.

    >>> storage_number("csr")
    2
    """
    try:
        return _NUMBERS[name]
    except KeyError:
        raise ParameterError(f"{who} must be one of {', '.join(map(repr, _NUMBERS))}; got {name!r}") from None


def storage_name(number: int) -> str | None:
    """Return the storage type with a number; None where there is none.

    >>> storage_name(1)
    'row_sparse'
    """
    return next((name for name, known in _NUMBERS.items() if known == number), None)


@dataclass(frozen=True)
class StorageKernel:
    """A form of an operator for inputs of certain storage types.

    Attributes
    ----------
    inputs
        The storage type of each input that is there; ``'*'`` is any.
    outputs
        The storage types of the outputs, or a function that gives them from the parameters.
    function
        The form: storages in the order of the operator's inputs, then its parameters by name; it returns a storage,
        or a tuple of them, whose memory is not that of an input.
    when
        For which parameters there is the form; None: for all.
    repeats
        Whether the last of `inputs` may be repeated any number of times, as in ``add_n``.
    gradient
        ``gradient(params, inputs, outputs, head_grads)``, on storages, returns the gradients of the inputs, None where
        there is none, or a function that computes one which is seldom needed; their memory is not that of what it is
        given. Without it the dense form computes where a gradient has to pass, in an executor.
    gradients
        The storage types of these gradients.
    over
        ``over(*storages, **parameters)`` writes the output over the input that the operator may write over: what
        ``out=weight`` of an update runs. Without it such a call falls back to dense, or copies the output.
    is_recorded
        Whether the function is one of tensors, the storages among them as `StorageTensor`, which autograd records.
    """

    inputs: tuple[str, ...]
    outputs: Outputs
    function: Callable[..., Any]
    when: Callable[[Params], bool] | None = None
    repeats: bool = False
    gradient: Callable[..., Any] | None = None
    gradients: tuple[str, ...] = ()
    over: Callable[..., None] | None = None
    is_recorded: bool = False

    @property
    def has_gradient(self) -> bool:
        """Whether it is known what gradients the inputs have."""
        return self.is_recorded or self.gradient is not None

    def types(self, p: Params) -> tuple[str, ...]:
        """Return the storage types of the outputs.

        >>> StorageKernel(("csr",), lambda p: (p.stype,), print).types(Params({"stype": "csr"}))
        ('csr',)
        """
        return self.outputs(p) if callable(self.outputs) else self.outputs

    def fits(self, p: Params, stypes: Sequence[str]) -> bool:
        """Return whether the kernel takes inputs of these storage types.

        >>> StorageKernel(("csr", "*"), ("default",), print).fits(Params(), ["csr", "default"])
        True
        """
        wanted = self.inputs
        # `add_n` and the like: one declaration for any number of inputs.
        if self.repeats and len(stypes) >= len(wanted):
            wanted = (*wanted, *wanted[-1:] * (len(stypes) - len(wanted)))
        return (wanted == tuple(stypes) or _fit(wanted, stypes)) and (self.when is None or self.when(p))


def _fit(wanted: Sequence[str], stypes: Sequence[str]) -> bool:
    if len(wanted) != len(stypes) or ANY not in wanted:
        return False
    return all(one in (ANY, other) for one, other in zip(wanted, stypes, strict=True))


class StorageChoice(NamedTuple):
    """How one application of an operator runs: its outputs' storage types, and the kernel or the fallback to dense."""

    outputs: tuple[str, ...]
    kernel: StorageKernel | None
    falls_back: bool


_KERNELS: dict[str, list[StorageKernel]] = {}
#: The operators that have a kernel for dense inputs alone, with gradients or outputs that are not dense.
WITH_DENSE_INPUTS: set[str] = set()


def storage_kernel(
    name: str,
    inputs: Sequence[str],
    outputs: Outputs,
    *,
    when: Callable[[Params], bool] | None = None,
    repeats: bool = False,
    gradient: Callable[..., Any] | None = None,
    gradients: Sequence[str] = (),
    over: Callable[..., None] | None = None,
) -> Callable[[Function], Function]:
    """Declare a form of the operator `name` for some storage types; see `StorageKernel`. The last one declared wins.

    A decorator of ``function(*storages, **parameters)``.
    """

    def declare(function: Function) -> Function:
        kernel = StorageKernel(
            tuple(inputs), outputs, function, when, repeats, gradient, tuple(gradients), over
        )
        # In front, so that a later declaration is found first.
        _KERNELS.setdefault(find(name).name, []).insert(0, kernel)
        if all(stype in (ANY, DENSE) for stype in kernel.inputs):
            WITH_DENSE_INPUTS.add(find(name).name)
        return function

    return declare


def declared_kernels() -> list[tuple[str, StorageKernel]]:
    """Return all kernels with the names of their operators.

    >>> import rebind.ndarray.sparse
    >>> sorted({kernel.outputs for name, kernel in declared_kernels() if name == "sinh"})
    [('csr',), ('row_sparse',)]
    """
    return [(name, kernel) for name, kernels in _KERNELS.items() for kernel in kernels]


def infer_storage_types(op: Operator, p: Params, stypes: Sequence[str]) -> StorageChoice:
    """Return the storage types of an operator's outputs, from those of the inputs that are there.

    Without a kernel that fits every output is dense; that is a fallback where an input is not.

    >>> infer_storage_types(find("exp"), Params(), ["default"])
    StorageChoice(outputs=('default',), kernel=None, falls_back=False)
    >>> infer_storage_types(find("exp"), Params(), ["csr"]).falls_back
    True
    """
    rule = op.inference.storage_rule
    if rule is not None and any(stype != DENSE for stype in stypes) and (own := rule(stypes)) is not None:
        own_kernel = StorageKernel(
            tuple(stypes), own[0], op.kernels.function, gradients=own[1], is_recorded=True
        )
        return StorageChoice(own[0], own_kernel, False)
    for kernel in _KERNELS.get(op.name, ()):
        if kernel.fits(p, stypes):
            return StorageChoice(kernel.types(p), kernel, False)
    # No kernel fits: inputs that are not dense are converted.
    dense = (DENSE,) * len(op.record.output_names(p))
    return StorageChoice(dense, None, any(stype != DENSE for stype in stypes))


_warned: set[str] = set()


def warn_of_fallback(op: Operator, stypes: Sequence[str]) -> None:
    """Log, once for each operator, that it is computed on dense copies of its inputs.

    As in MXNet it is a line of the log: a program that makes warnings errors goes on.
    ``MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0`` in the environment switches it off.
    """
    if op.name in _warned or not config.get("MXNET_STORAGE_FALLBACK_LOG_VERBOSE"):
        return
    _warned.add(op.name)
    log().warning(
        "%s: no kernel for inputs of storage types %s; it is computed on dense copies, which takes more time and "
        "memory. MXNET_STORAGE_FALLBACK_LOG_VERBOSE=0 switches this line off.",
        op.name,
        ", ".join(stypes),
    )
