"""The parameters of a block by name."""

from __future__ import annotations

import os
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING

import numpy as np

from .. import initializer
from ..checks import an, check_kind
from ..device import Device
from ..dtypes import numpy_type
from ..errors import NameLookupError, ParameterError
from ..ndarray import NDArray, save
from .arrays import Devices, Init
from .base_parameter import Constant, Parameter
from .loading import load_arrays, named_arrays, without_kind
from .utils import joined_shape

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["ParameterDict"]


class ParameterDict:
    """The parameters of a block by name. `get` makes those that are missing.

    Parameters
    ----------
    prefix
        Begins the name of each parameter that `get` makes.
    shared
        Another block's, whose parameters `get` returns where the names are the same.

    Examples
    --------
    >>> params = ParameterDict("fc_")
    >>> params.get("weight", shape=(2, 3)) is params["fc_weight"]
    True
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params: dict[str, Parameter] = {}
        self._shared = shared

    def __repr__(self) -> str:
        lines = "\n".join(f"  {each}" for each in self.values())
        return f"{self._prefix + ' ' if self._prefix else ''}(\n{lines}\n)"

    def __getitem__(self, name: str) -> Parameter:
        return self._params[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._params)

    def __contains__(self, name: object) -> bool:
        return name in self._params

    def __len__(self) -> int:
        return len(self._params)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """Return the parameters."""
        return self._params.values()

    def items(self) -> ItemsView[str, Parameter]:
        """Return names and parameters."""
        return self._params.items()

    @property
    def prefix(self) -> str:
        """What the name of each parameter made by `get` begins with."""
        return self._prefix

    @property
    def shared(self) -> ParameterDict | None:
        """The parameters of another block that this one shares."""
        return self._shared

    def add(self, parameter: Parameter) -> None:
        """Add a parameter under its name; one that is there already must be the same.

        >>> params = ParameterDict()
        >>> params.add(Parameter("fc_weight"))
        >>> list(params)
        ['fc_weight']
        """
        if self._params.setdefault(parameter.name, parameter) is not parameter:
            raise ParameterError(
                f"ParameterDict: parameters must have different names; got two called {parameter.name!r}"
            )

    def get(self, name: str, **settings: object) -> Parameter:
        """Return the parameter ``prefix + name``, which is made if there is none.

        Parameters
        ----------
        name
            The name without the prefix.
        **settings
            Those of `Parameter`. A parameter that is there must have the same, or gets those that it lacks.

        Examples
        --------
        >>> params = ParameterDict("fc_")
        >>> _ = params.get("weight", shape=(2, 0))
        >>> params.get("weight", shape=(2, 3)).shape
        (2, 3)
        """
        whole = self._prefix + name
        found = self._find(whole)
        if found is None:
            found = self._params[whole] = Parameter(whole, **settings)  # type: ignore[arg-type]  # checked there
            return found
        for key, wanted in settings.items():
            self._agree(found, key, wanted)
        return found

    def get_constant(self, name: str, value: NDArray | ArrayLike | None = None) -> Constant:
        """Return the constant ``prefix + name``, which is made of `value` if there is none.

        >>> ParameterDict("net_").get_constant("table", [1, 2]).value.asnumpy().tolist()
        [1.0, 2.0]
        """
        whole = self._prefix + name
        found = self._find(whole)
        if found is None:
            if value is None:
                raise NameLookupError(
                    f"ParameterDict.get_constant: no constant {whole!r}; give its value to make it"
                )
            made = self._params[whole] = Constant(whole, value)
            return made
        if not isinstance(found, Constant):
            raise ParameterError(f"ParameterDict.get_constant: {whole!r} is a parameter and no constant")
        given = value.asnumpy() if isinstance(value, NDArray) else value
        if given is not None and not np.array_equal(found.value.asnumpy(), np.asarray(given)):
            raise ParameterError(f"ParameterDict.get_constant: {whole!r} has other values already")
        return found

    def update(self, other: ParameterDict) -> None:
        """Add the parameters of `other`; two of one name must be the same.

        >>> params = ParameterDict()
        >>> params.update(ParameterDict("fc_"))
        """
        check_kind("ParameterDict.update", an(ParameterDict), other=other)
        for parameter in other.values():
            self.add(parameter)

    def setattr(self, name: str, value: object) -> None:
        """Set an attribute of all parameters, such as `lr_mult`.

        >>> params = ParameterDict()
        >>> _ = params.get("w")
        >>> params.setattr("grad_req", "null")
        >>> params["w"].grad_req
        'null'
        """
        for parameter in self.values():
            setattr(parameter, name, value)

    def _find(self, whole: str) -> Parameter | None:
        # From now on it is in this dict too, so that `collect_params` finds it.
        if whole not in self._params and self._shared is not None and whole in self._shared:
            self._params[whole] = self._shared[whole]
        return self._params.get(whole)

    @staticmethod
    def _agree(found: Parameter, key: str, wanted: object) -> None:
        """Check that a parameter has the setting that is wanted, or give it that one."""
        # Not known yet: whoever asks first decides.
        known = getattr(found, key, None)
        if known is None:
            setattr(found, key, wanted)
            return
        # No opinion.
        if wanted is None:
            return
        if key == "shape":
            assert isinstance(wanted, (int, tuple, list))
            both = joined_shape(known, (wanted,) if isinstance(wanted, int) else tuple(wanted))
            # What one of them leaves open the other may know.
            if both is not None:
                found.shape = both
                return
        elif known == wanted or (key == "dtype" and numpy_type(known) == numpy_type(wanted)):  # type: ignore[arg-type]  # of `get`
            return
        raise ParameterError(
            f"ParameterDict.get: {found.name!r} must have {key} {known!r}, as before; got {wanted!r}"
        )

    def initialize(
        self,
        init: Init | None = None,
        ctx: Devices = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialize all parameters; each with its own initializer if it has one, else with `init`.

        Parameters
        ----------
        init
            ``Uniform()`` by default.
        ctx
            A device or several; the current one by default.
        verbose
            Whether to log each parameter.
        force_reinit
            Whether to initialize again what has been initialized before.

        Examples
        --------
        >>> params = ParameterDict("fc_")
        >>> weight = params.get("weight", shape=(2,))
        >>> params.initialize("ones")
        >>> weight.data().asnumpy().tolist()
        [1.0, 1.0]
        """
        default = initializer.create(init or initializer.Uniform())
        if verbose:
            default.set_verbosity(verbose=True)
        for parameter in self.values():
            parameter.initialize(None, ctx, default, force_reinit)

    def list_ctx(self) -> list[Device]:
        """Return the devices of all parameters."""
        return list(dict.fromkeys(device for parameter in self.values() for device in parameter.list_ctx()))

    def reset_ctx(self, ctx: Devices) -> None:
        """Move all parameters to other devices."""
        for parameter in self.values():
            parameter.reset_ctx(ctx)

    def zero_grad(self) -> None:
        """Set all gradients to 0."""
        for parameter in self.values():
            parameter.zero_grad()

    def save(self, filename: str | os.PathLike, strip_prefix: str = "") -> None:
        """Write the arrays, under the parameters' names without a prefix.

        >>> import os, tempfile, rebind as mx
        >>> params = ParameterDict("fc_")
        >>> _ = params.get("weight", shape=(2,))
        >>> params.initialize()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     params.save(f"{folder}/fc.params", strip_prefix="fc_")
        ...     list(mx.nd.load(f"{folder}/fc.params"))
        ['weight']
        """
        for name in self:
            if not name.startswith(strip_prefix):
                raise NameLookupError(
                    f"ParameterDict.save: all names must begin with strip_prefix={strip_prefix!r}; got {name!r}. "
                    "Was a child made outside of name_scope(), or are parameters shared?"
                )
        save(filename, {name.removeprefix(strip_prefix): each.reduced() for name, each in self.items()})

    def load(
        self,
        filename: str | os.PathLike,
        ctx: Devices = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Read the arrays of a file, also of a checkpoint of a `Module`, whose names have ``arg:`` and ``aux:``.

        Parameters
        ----------
        filename
            The file.
        ctx
            The devices; those of the parameters by default.
        allow_missing
            Whether parameters that the file lacks are left as they are.
        ignore_extra
            Whether the file may have others.
        restore_prefix
            Put before the names in the file.
        cast_dtype, dtype_source
            As in `Parameter.load_array`.
        """
        self.load_dict(
            named_arrays(filename),
            ctx,
            allow_missing,
            ignore_extra,
            restore_prefix,
            str(filename),
            cast_dtype,
            dtype_source,
        )

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Devices = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Take arrays by name, as `load` does from a file."""
        found = {restore_prefix + without_kind(name): each for name, each in param_dict.items()}
        source = "param_dict" if filename is None else f"the file '{filename}'"
        load_arrays(
            dict(self.items()), found, source, ctx, allow_missing=allow_missing, ignore_extra=ignore_extra,
            cast_dtype=cast_dtype, dtype_source=dtype_source,
        )  # fmt: skip
