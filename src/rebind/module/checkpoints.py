"""The files of a module, and the states of a saved run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .. import checkpoint
from ..errors import StateError
from ..kvstore import KVStoreBase
from ..logs import resolve
from ..ndarray import NDArray
from ..protocols import ArrayDict, Logger
from .jobs import writes_files
from .parameters import copy_across

__all__ = ["load_params", "load_states", "save_params", "write_checkpoint"]


class Saved(Protocol):
    """A module, as far as it is written to files."""

    logger: Logger

    def stores(self) -> list[KVStoreBase]: ...
    @property
    def get_params(self) -> Callable[[], tuple[ArrayDict, ArrayDict]]: ...
    @property
    def set_params(self) -> Callable[..., None]: ...
    @property
    def save_params(self) -> Callable[[str], None]: ...
    def save_optimizer_states(self, fname: str) -> None: ...


def write_checkpoint(
    module: Saved, prefix: str, epoch: int, save_networks: Callable[[], None], *, states: bool
) -> None:
    """Write a module's networks and parameters, and the optimizer's states if asked; of a job's workers the first does.

    Parameters
    ----------
    module
        The module.
    prefix, epoch
        Name the files.
    save_networks
        Writes the networks.
    states
        Whether to write the optimizer's states; all workers must call it then.
    """
    if writes := writes_files(module.stores()):
        save_networks()
        path = checkpoint.params_path(prefix, epoch)
        module.save_params(path)
        resolve(module.logger).info('Saved checkpoint to "%s"', path)
    if states:
        path = checkpoint.states_path(prefix, epoch)
        module.save_optimizer_states(path)
        if writes:
            resolve(module.logger).info('Saved optimizer state to "%s"', path)


def save_params(module: Saved, fname: str) -> None:
    """Write parameters and auxiliary states to a file, which appears whole or not at all.

    >>> import tempfile, rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w_weight", shape=(1,)), label_names=None)
    >>> module.bind([("data", (1,))])
    >>> module.init_params(mx.init.One())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     module.save_params(f"{folder}/net.params")
    ...     print(list(mx.nd.load(f"{folder}/net.params")))
    ['arg:w_weight']
    """
    checkpoint.write_params(fname, *module.get_params())


def load_params(module: Saved, fname: str) -> None:
    """Set parameters and auxiliary states from a file.

    >>> import tempfile, rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w_weight", shape=(1,)), label_names=None)
    >>> module.bind([("data", (1,))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     mx.nd.save(f"{folder}/net.params", {"arg:w_weight": mx.nd.array([5])})
    ...     module.load_params(f"{folder}/net.params")
    >>> module.get_params()[0]["w_weight"].item()
    5.0
    """
    module.set_params(*checkpoint.read_params(fname))


def load_states(targets: Sequence[Sequence[NDArray]], saved: Sequence[Sequence[NDArray]], kind: str) -> None:
    """Continue with the states of a saved run, which each device has for itself; `kind` is the module's.

    >>> from rebind import nd
    >>> load_states([[nd.zeros((1,))]], [[nd.ones((1,)), nd.ones((1,))]], "Module")
    Traceback (most recent call last):
    rebind.errors.StateError: Module.load_run_state: states of 2 devices cannot be resumed on 1; bind to as many, ...
    """
    for arrays, sources in zip(targets, saved, strict=True):
        if len(sources) != len(arrays):
            raise StateError(
                f"{kind}.load_run_state: states of {len(sources)} devices cannot be resumed on {len(arrays)}; "
                "bind to as many, or set_states()"
            )
        copy_across(sources, arrays)
