"""Optimizers that MXNet has in a module of their own."""

from .adaptive import GroupAdaGrad

__all__ = ["GroupAdaGrad"]
