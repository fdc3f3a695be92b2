"""What is driven through `Module`: rebind, and MXNet itself."""

from __future__ import annotations

from collections.abc import Callable

from .drivers import ModuleDriver, Setting, SVRGDriver


def rebind(setting: Setting, backend: str | None = None) -> Callable[[], ModuleDriver]:
    """rebind as a user gets it: it is imported before torch, and no option is set but the backend, if it has a name."""
    import rebind as mx

    return lambda: ModuleDriver(mx, setting.row, backend=backend)


def svrg(setting: Setting) -> Callable[[], ModuleDriver]:
    """rebind's `SVRGModule`."""
    import rebind as mx

    return lambda: SVRGDriver(mx, setting.row)


def mxnet(setting: Setting) -> Callable[[], ModuleDriver]:
    """MXNet, under its own Python."""
    import mxnet as mx

    return lambda: ModuleDriver(mx, setting.row)
