"""MXNet's callback for TensorBoard."""

from __future__ import annotations

from ..callback import BatchEndParam
from ..callback.tensorboard import summary_writer

__all__ = ["LogMetricsCallback"]


class LogMetricsCallback:
    """Writes the figures of a metric for TensorBoard: for `batch_end_callback` or `eval_end_callback` of ``fit``.

    As in MXNet the step of a point is the epoch's number, also of those within an epoch. `callback.TensorBoard` writes
    more. It needs the extra ``tensorboard`` (MXNet: the package mxboard, without which it fails at the first call).

    Parameters
    ----------
    logging_dir
        The folder of the files; it is made.
    prefix
        What names begin with, before a hyphen: ``train-accuracy``.

    Examples
    --------
    >>> import tempfile
    >>> import rebind as mx
    >>> metric = mx.metric.Loss()
    >>> metric.update(None, [mx.nd.array([3])])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     callback = LogMetricsCallback(folder, prefix="train")  # fit(..., batch_end_callback=callback)
    ...     callback(mx.callback.BatchEndParam(0, 1, metric, None))
    ...     callback.summary_writer.close()
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.summary_writer = summary_writer(logging_dir, "LogMetricsCallback")

    def __call__(self, param: BatchEndParam) -> None:
        """Take the record of a batch, or of a validation."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
