"""Operators of ONNX that MXNet has none for, named ``_onnx_X``: what networks that are imported are made of.

They can be saved and trained like all others, but MXNet itself does not know them.
"""

from . import arithmetic, indexing, narrow_types, pooling, resampling, selection, signals

__all__ = ["arithmetic", "indexing", "narrow_types", "pooling", "resampling", "selection", "signals"]
