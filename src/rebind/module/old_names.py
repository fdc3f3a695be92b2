"""Private names of MXNet's modules that old programs use, each as a view of what there is now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .update import LocalUpdate

__all__ = ["BUCKETING_NAMES", "MODULE_NAMES", "NETWORK_NAMES", "with_old_names"]

T = TypeVar("T")


def with_old_names(names: dict[str, property]) -> Callable[[type[T]], type[T]]:
    """Return a class decorator that gives modules MXNet's private names; nothing in rebind uses them.

    Old programs do, so they are public in fact, and stay.

    >>> import rebind as mx
    >>> mx.mod.Module(2 * mx.sym.var("data"), label_names=None, context=mx.cpu(1))._context
    [cpu(1)]
    """

    def decorate(kind: type[T]) -> type[T]:
        for name, view in names.items():
            setattr(kind, name, view)
        return kind

    return decorate


def _view(path: str, write: Callable[[Any, Any], None] | None = None) -> property:
    """Return a property that reads an attribute of an attribute; None where there is no such object yet."""

    def read(module: Any) -> Any:
        found = module
        for name in path.split("."):
            found = None if found is None else getattr(found, name)
        return found

    return property(read, write)


def _copies(kind: int, argument: str) -> property:
    """Return a property of copied parameters; programs that set it set `params_initialized` themselves afterwards."""

    def read(module: Any) -> Any:
        return module.parameters.copies()[kind] if module.parameters.has_values else None

    def write(module: Any, values: Any) -> None:
        module.parameters.hold(**{argument: values}, initialized=False)

    return property(read, write)


def _updater(module: Any) -> Any:
    return module.policy.function if isinstance(module.policy, LocalUpdate) else None


def _set_updater(module: Any, function: Any) -> None:
    if isinstance(module.policy, LocalUpdate):  # as in MXNet, without effect where the store updates
        module.policy.function = function


def _of_network(name: str, kind: Callable[[Any], Any] = list) -> property:
    return _view(f"_network.{name}", lambda module, value: setattr(module._network, name, kind(value)))


#: Of every module with `parameters`, `executors`, `binding` and `policy`.
MODULE_NAMES = {
    "_exec_group": _view("executors"),
    "_data_shapes": _view("executors.data_shapes"),
    "_label_shapes": _view("executors.label_shapes"),
    "_context": _view("parameters.devices"),
    "_param_names": _view("parameters.names"),
    "_aux_names": _view("parameters.aux_names"),
    "_fixed_param_names": _view("parameters.fixed"),
    "_grad_req": _view("binding.grad_req"),
    # `get_params` always reads the devices; programs that change their arrays announce it.
    "_params_dirty": property(lambda module: False, lambda module, value: None),
    "_arg_params": _copies(0, "arg_params"),
    "_aux_params": _copies(1, "aux_params"),
    "_optimizer": _view("policy.optimizer"),
    "_updater": property(_updater, _set_updater),
    "_kvstore": _view("policy.store"),
    "_update_on_kvstore": property(lambda module: module.policy is not None and module.policy.on_store),
}
#: Of a module of one network: programs set the names of its inputs for batches of other names.
NETWORK_NAMES = {
    **{
        f"_{name}": _of_network(name) for name in ("data_names", "label_names", "state_names", "output_names")
    },
    "_symbol": _of_network("symbol", lambda symbol: symbol),
    "_work_load_list": _of_network("work_load_list"),
    "_group2ctxs": _of_network("group2ctxs", lambda groups: groups),
}
#: Of a module of several networks.
BUCKETING_NAMES = {
    "_buckets": _view("buckets.modules"),
    "_curr_module": _view("buckets.current"),
    "_curr_bucket_key": _view("buckets.current_key"),
    "_state_names": property(lambda module: list(module.buckets.settings["state_names"] or ())),
}
