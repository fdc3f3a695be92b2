"""Initializers that choose another one by name, or copy arrays that were saved."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..checks import check_pattern, refuses_unknown
from ..errors import ArgumentError, FormatError, NameLookupError, ShapeError, shown
from ..logs import log
from ..ndarray import NDArray, load
from .base import Filler, as_initializer

__all__ = ["Load", "Mixed"]


class Mixed:
    """The initializer of the first pattern that a name matches.

    Parameters
    ----------
    patterns
        Regular expressions.
    initializers
        An initializer for each pattern.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> bias = array(np.ones(2))
    >>> from rebind.initializer import Uniform, Zero
    >>> Mixed([".*bias", ".*"], [Zero(), Uniform(0.1)])("fc_bias", bias)
    >>> bias.asnumpy().tolist()
    [0.0, 0.0]
    """

    @refuses_unknown
    def __init__(self, patterns: Sequence[str], initializers: Sequence[Filler]) -> None:
        for name, given in (("patterns", patterns), ("initializers", initializers)):
            if not isinstance(given, (list, tuple)):
                raise ArgumentError(
                    f"Mixed: {name} must be a list; got {shown(given)}. Write Mixed(['.*bias', '.*'], [Zero(), "
                    "Uniform()])."
                )
        if len(patterns) != len(initializers):
            raise ArgumentError(
                f"Mixed: there must be an initializer for each pattern; "
                f"got {len(patterns)} patterns and {len(initializers)} initializers"
            )
        check_pattern("Mixed", **{f"patterns[{i}]": pattern for i, pattern in enumerate(patterns)})
        self.map = [
            (re.compile(pattern), as_initializer(each, f"Mixed: the initializer of {pattern!r}"))
            for pattern, each in zip(patterns, initializers, strict=True)
        ]

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill `arr`, a parameter called `name`, in place."""
        for pattern, initializer in self.map:
            if pattern.match(name):  # at the start of the name, as in MXNet: 'bias' does not match 'fc_bias'
                initializer(name, arr)
                return
        raise NameLookupError(
            f"Mixed: no pattern matches {str(name)!r}. Add the pattern '.*' at the end, with a default initializer."
        )


class Load:
    """Parameters from a file or a dict.

    Parameters
    ----------
    param
        A path, or a dict from name to array; ``arg:`` and ``aux:`` at the start of a name are removed.
    default_init
        The initializer of parameters that `param` lacks.
    verbose
        Whether to log where each parameter comes from.

    Examples
    --------
    >>> import numpy as np
    >>> from rebind.ndarray import array
    >>> bias = array(np.zeros(2))
    >>> Load({"arg:fc_bias": array(np.ones(2))})("fc_bias", bias)
    >>> bias.asnumpy().tolist()
    [1.0, 1.0]
    """

    @refuses_unknown
    def __init__(
        self, param: str | Mapping[str, NDArray], default_init: Filler | None = None, verbose: bool = False
    ) -> None:
        found = load(param) if isinstance(param, str) else param
        if not isinstance(found, Mapping):
            raise FormatError(
                f"Load: param must be a dict from name to array, or a file with one; got {type(found).__name__}"
            )
        # Files of parameters mark arguments and auxiliary states so; a parameter is looked up by its plain name.
        self.param = {re.sub("^(arg|aux):", "", name): each for name, each in found.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
        """Fill `arr`, a parameter called `name`, in place."""
        if name in self.param:
            value = self.param[name]
            if value.shape != arr.shape:
                raise ShapeError(
                    f"Load: {str(name)!r} must have shape {arr.shape}; the loaded one has {value.shape}"
                )
            arr[:] = value
            how = "loading"
        elif self.default_init is not None:
            self.default_init(name, arr)
            how = "default"
        else:
            raise NameLookupError(f"Load: no parameter {str(name)!r} is loaded, and there is no default_init")
        if self.verbose:
            log().info("Initialized %s by %s", name, how)
