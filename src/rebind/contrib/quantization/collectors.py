"""What calibration remembers of outputs, and the ranges that follow: least and greatest numbers, or histograms."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from ...errors import ParameterError
from ...logs import resolve
from ...ndarray import NDArray, array
from ...ndarray import contrib as operators
from ...protocols import Logger

__all__ = [
    "BINS", "Collector", "Histogram", "LayerHistogramCollector", "LayerOutputMinMaxCollector", "Range",
    "combine_histogram", "optimal_threshold", "optimal_thresholds", "percentile_ranges", "report",
]  # fmt: skip

#: The least and the greatest number.
Range: TypeAlias = tuple[float, float]
#: How many bins a histogram has at first.
BINS = 8001


class Histogram(NamedTuple):
    """Counts of the numbers of an output: symmetric around 0, an odd number of bins."""

    hist: np.ndarray
    hist_edges: np.ndarray
    min_val: float
    max_val: float
    th: float


class Collector(Protocol):
    """What is given the outputs of calibration."""

    def collect(self, name: str, arr: NDArray) -> None:
        """Take in one output."""


class LayerOutputMinMaxCollector:
    """The least and the greatest number of each output, for ``calib_mode='naive'``.

    Parameters
    ----------
    quantized_dtype
        The type of the levels; no effect.
    include_layer
        The names of the outputs that count; None for all.
    logger
        Where to write what is collected.

    Attributes
    ----------
    min_max_dict
        The ranges by the name of the output.

    Examples
    --------
    >>> import rebind as mx
    >>> collector = LayerOutputMinMaxCollector("int8")
    >>> collector.collect("fc_output", mx.nd.array([-1.0, 2.0]))
    >>> collector.min_max_dict
    {'fc_output': (-1.0, 2.0)}
    """

    def __init__(
        self,
        quantized_dtype: str = "int8",
        include_layer: Collection[str] | None = None,
        logger: Logger | None = None,
    ) -> None:
        self.min_max_dict: dict[str, Range] = {}
        self.quantized_dtype, self.include_layer, self.logger = quantized_dtype, include_layer, logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Take in one output."""
        if self.include_layer is not None and name not in self.include_layer:
            return
        low, high = _extremes(arr)
        report(self.logger, "debug", "Collecting layer %s min_range=%f, max_range=%f", name, low, high)
        before = self.min_max_dict.get(name, (low, high))
        self.min_max_dict[name] = (min(before[0], low), max(before[1], high))


class LayerHistogramCollector:
    """A histogram of each output, for ``calib_mode='entropy'``.

    Parameters
    ----------
    num_bins
        How many bins there are at first; a number out of their range adds bins of the same width.
    include_layer, logger
        As of `LayerOutputMinMaxCollector`.

    Attributes
    ----------
    hist_dict
        The histograms by the name of the output.

    Examples
    --------
    >>> import rebind as mx
    >>> collector = LayerHistogramCollector(num_bins=3)
    >>> collector.collect("fc_output", mx.nd.array([-1.5, 0.25, 0.125]))
    >>> collector.hist_dict["fc_output"].hist.tolist()
    [1, 2, 0]
    """

    def __init__(
        self,
        num_bins: int = BINS,
        include_layer: Collection[str] | None = None,
        logger: Logger | None = None,
    ) -> None:
        if num_bins < 1 or num_bins % 2 == 0:
            raise ParameterError(
                f"LayerHistogramCollector: num_bins must be odd, the middle bin is that of 0; got {num_bins}"
            )
        self.hist_dict: dict[str, Histogram] = {}
        self.num_bins, self.include_layer, self.logger = num_bins, include_layer, logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Take in one output."""
        if self.include_layer is not None and name not in self.include_layer:
            return
        numbers = arr.asnumpy()
        report(self.logger, "debug", "Collecting layer %s histogram of shape %s", name, numbers.shape)
        low, high = _extremes(arr)
        largest = max(abs(low), abs(high))
        before = self.hist_dict.get(name)
        if before is not None and before.th > 0:
            self.hist_dict[name] = combine_histogram(before, numbers, low, high, largest)
            return
        # Where all numbers were 0, the width of a bin follows from the first one that is not.
        counts, edges = np.histogram(numbers, bins=self.num_bins, range=(-largest, largest))
        if before is not None:
            counts[self.num_bins // 2] += before.hist.sum()
            low, high = min(low, 0.0), max(high, 0.0)
        self.hist_dict[name] = Histogram(counts, edges, low, high, largest)


def report(logger: Logger | None, level: str, text: str, *values: object) -> None:
    """Write a line to the caller's logger, if there is one that knows the level; for the module `logging` to ours."""
    write = None if logger is None else getattr(resolve(logger), level, None)
    if write is not None:
        write(text, *values)


def _extremes(arr: NDArray) -> Range:
    low, high = arr.tensor.detach().float().aminmax()
    return low.item(), high.item()


def combine_histogram(
    old_hist: Histogram, arr: np.ndarray, new_min: float, new_max: float, new_th: float
) -> Histogram:
    """Return a histogram with further numbers in it.

    Parameters
    ----------
    old_hist
        Counts, edges, least and greatest number, and the upper edge.
    arr
        The further numbers.
    new_min, new_max, new_th
        Their least and greatest one, and the larger absolute value of these two.

    Examples
    --------
    >>> old = Histogram(np.array([1, 2, 1]), np.array([-1.5, -0.5, 0.5, 1.5]), -1.0, 1.0, 1.5)
    >>> combine_histogram(old, np.array([2.0]), 2.0, 2.0, 2.0).hist.tolist()
    [0, 1, 2, 1, 1]
    """
    counts, edges, low, high, th = old_hist
    if new_th > th:
        width = 2 * th / len(counts)
        # The width of a bin stays, so that no count is split between two.
        further = int((new_th - th) // width + 1)
        th = further * width + th
        counts = np.pad(counts, further)
        edges = np.linspace(-th, th, len(counts) + 1)
    added, _ = np.histogram(arr, bins=len(counts), range=(-th, th))
    return Histogram(counts + added, edges, min(low, new_min), max(high, new_max), th)


def optimal_threshold(
    hist_data: Histogram, quantized_dtype: str, num_quantized_bins: int = 255
) -> tuple[float, float, float, float]:
    """Return least and greatest number, the threshold that loses the least information, and how much it loses.

    The operator ``_contrib_calibrate_entropy`` computes it.

    Parameters
    ----------
    hist_data
        The histogram of an output.
    quantized_dtype
        ``'int8'``, ``'uint8'`` or ``'auto'``. For the last two numbers that are never negative have all levels on
        one side.
    num_quantized_bins
        How many levels there are.

    Examples
    --------
    >>> counts = np.array([0, 0, 0, 1, 2, 9, 2, 1, 0, 0, 5])  # the last ones are outliers
    >>> hist = Histogram(counts, np.arange(12) - 5.5, -2.0, 5.0, 5.5)
    >>> optimal_threshold(hist, "int8", num_quantized_bins=5)[:3]
    (-2.0, 5.0, 3.5)
    """
    counts, edges, low, high, _ = hist_data
    if low >= 0 and quantized_dtype in ("auto", "uint8"):
        num_quantized_bins = num_quantized_bins * 2 + 1
    threshold, divergence = operators.calibrate_entropy(
        array(counts, dtype="float32"), array(edges, dtype="float32"), num_quantized_bins=num_quantized_bins
    )
    return low, high, float(threshold.item()), float(divergence.item())


def optimal_thresholds(
    hist_dict: Mapping[str, Histogram],
    quantized_dtype: str,
    num_quantized_bins: int = 255,
    logger: Logger | None = None,
) -> dict[str, Range]:
    """Return the ranges that lose the least information, by the name of the output.

    They are symmetric, or from 0 on for numbers that are never negative and whose levels may be uint8.

    Parameters
    ----------
    hist_dict
        The histograms.
    quantized_dtype, num_quantized_bins
        As for `optimal_threshold`.
    logger
        Where to write them.

    Examples
    --------
    >>> counts = np.array([0, 0, 0, 1, 2, 9, 2, 1, 0, 0, 5])  # the last ones are outliers
    >>> hist = Histogram(counts, np.arange(12) - 5.5, -2.0, 5.0, 5.5)
    >>> optimal_thresholds({"fc_output": hist}, "int8", num_quantized_bins=5)
    {'fc_output': (-3.5, 3.5)}
    """
    report(
        logger,
        "info",
        "Calculating optimal thresholds for quantization using KL divergence with num_quantized_bins=%d",
        num_quantized_bins,
    )
    found = {}
    for name, histogram in hist_dict.items():
        low, high, threshold, divergence = optimal_threshold(histogram, quantized_dtype, num_quantized_bins)
        found[name] = _around(threshold, low, quantized_dtype)
        report(
            logger,
            "debug",
            "layer=%s, min_val=%f, max_val=%f, th=%f, divergence=%f",
            *(name, low, high, threshold, divergence),
        )
    return found


def _around(threshold: float, low: float, quantized_dtype: str) -> Range:
    one_sided = low >= 0 and quantized_dtype in ("auto", "uint8")
    return (0.0 if one_sided else -threshold, threshold)


def percentile_ranges(
    hist_dict: Mapping[str, Histogram], quantized_dtype: str, percentile: float
) -> dict[str, Range]:
    """Return ranges that hold a share of the numbers, the smallest by absolute value: outliers take the last level.

    Parameters
    ----------
    hist_dict
        The histograms by the name of the output.
    quantized_dtype
        As for `optimal_threshold`.
    percentile
        How many of a hundred numbers are within the range.

    Examples
    --------
    >>> hist = Histogram(np.array([1, 0, 2, 4, 2, 0, 0]), np.arange(8) - 3.5, -3.0, 1.0, 3.5)
    >>> percentile_ranges({"fc_output": hist}, "int8", 80.0)
    {'fc_output': (-1.5, 1.5)}
    """
    return {
        name: _around(_threshold_of(histogram, percentile), histogram.min_val, quantized_dtype)
        for name, histogram in hist_dict.items()
    }


def _threshold_of(histogram: Histogram, percentile: float) -> float:
    middle = len(histogram.hist) // 2
    by_distance = histogram.hist[middle:].astype(np.float64)
    by_distance[1:] += histogram.hist[:middle][::-1]
    within = np.searchsorted(by_distance.cumsum(), percentile / 100 * by_distance.sum())
    edge: Any = histogram.hist_edges[middle + 1 + min(within, len(by_distance) - 1)]
    # The last bin reaches as far as the largest number, or beyond.
    return float(min(edge, max(abs(histogram.min_val), abs(histogram.max_val))))
