"""`mx.contrib.quantization`: networks in real numbers to networks in 8 bits, with ranges from data.

>>> import rebind as mx
>>> mx.contrib.quantization.quantize_model.__name__
'quantize_model'
"""

import typing as _typing

from ...absent import old_names as _old_names
from .collectors import (
    LayerHistogramCollector,
    LayerOutputMinMaxCollector,
    combine_histogram,
    optimal_threshold,
    optimal_thresholds,
)
from .model import calib_graph, quantize_graph, quantize_model, quantize_model_mkldnn
from .net import quantize_net, quantize_net_v2

# The names that programs with a calibration of their own know these by.
_LayerHistogramCollector, _LayerOutputMinMaxCollector = LayerHistogramCollector, LayerOutputMinMaxCollector
_get_optimal_threshold, _get_optimal_thresholds = optimal_threshold, optimal_thresholds

__all__ = [
    "LayerHistogramCollector", "LayerOutputMinMaxCollector", "calib_graph", "combine_histogram",
    "optimal_threshold", "optimal_thresholds", "quantize_graph", "quantize_model", "quantize_model_mkldnn",
    "quantize_net", "quantize_net_v2",
]  # fmt: skip

if not _typing.TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = _old_names(__name__)
