"""The files of a module, and the states of a saved run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from .. import checkpoint
from ..errors import StateError
from ..kvstore import KVStoreBase
from ..logs import resolve
from ..ndarray import NDArray
from ..protocols import Logger
from .jobs import writes_files
from .parameters import copy_across

__all__ = ["load_states", "write_checkpoint"]


class Saved(Protocol):
    """A module, as far as it is written to files."""

    logger: Logger

    def stores(self) -> list[KVStoreBase]: ...
    def save_params(self, fname: str) -> None: ...
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
