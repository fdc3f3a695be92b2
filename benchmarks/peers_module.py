"""What is driven through `Module`: rebind, and MXNet itself."""

from __future__ import annotations

from collections.abc import Callable

from .drivers import ModuleDriver, Setting, SVRGDriver, WholeStepDriver


def rebind(
    setting: Setting, backend: str | None = None, low_precision: str = ""
) -> Callable[[], ModuleDriver]:
    """rebind as a user gets it: it is imported before torch, and no option is set but those that are given."""
    import rebind as mx

    return lambda: ModuleDriver(
        mx, setting.row, backend=backend, device=setting.device, low_precision=low_precision
    )


def rebind_in_fit(setting: Setting, low_precision: str = "") -> Callable[[], ModuleDriver]:
    """rebind compiled, with steps as `Module.fit` takes them: forward, backward and update in one call."""
    import rebind as mx

    return lambda: WholeStepDriver(
        mx, setting.row, backend="inductor", device=setting.device, low_precision=low_precision
    )


def svrg(setting: Setting) -> Callable[[], ModuleDriver]:
    """rebind's `SVRGModule`."""
    import rebind as mx

    return lambda: SVRGDriver(mx, setting.row)


def mxnet(setting: Setting) -> Callable[[], ModuleDriver]:
    """MXNet, under its own Python."""
    import mxnet as mx

    return lambda: ModuleDriver(mx, setting.row)
