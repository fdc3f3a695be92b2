"""Training of a network by name from record files: what ``rebind train`` does."""

from __future__ import annotations

import sys
from typing import Any

from ..errors import MXNetError
from ..initializer import Xavier
from ..io import ImageRecordIter
from ..model import save_checkpoint
from ..module import Module
from ..shapes import Shape
from ..terminal import step_bar
from .catalogue import get

__all__ = ["run_train", "train"]


def train(
    model: str,
    data: str,
    val: str | None = None,
    *,
    classes: int = 1000,
    shape: Shape = (3, 224, 224),
    epochs: int = 10,
    batch_size: int = 32,
    lr: float = 0.01,
    prefix: str | None = None,
) -> Module:
    """Train a classifier of `mx.models` on pictures in a record file.

    Parameters
    ----------
    model
        One of the names that `mx.models.list` gives.
    data, val
        Record files for training, and for testing after each epoch.
    classes
        Number of classes.
    shape
        Channels, height, width of the crops.
    epochs, batch_size, lr
        Of SGD with a momentum of 0.9 and a weight decay of 1e-4.
    prefix
        Begin of the names of the checkpoints, one after each epoch; by default none are written.

    Returns
    -------
    Module
        The trained module.
    """
    with step_bar() as bar:
        bar("reading the record files", 0, 2)
        batches = ImageRecordIter(
            path_imgrec=data,
            data_shape=shape,
            batch_size=batch_size,
            shuffle=True,
            rand_mirror=True,
            rand_crop=True,
        )
        held_out = val and ImageRecordIter(path_imgrec=val, data_shape=shape, batch_size=batch_size)
        bar("making the network", 1, 2)
        sizes = {"image_shape": shape} if model.startswith("resnet") else {}
        module = Module(get(model, num_classes=classes, **sizes))
    module.fit(
        batches,
        eval_data=held_out or None,
        eval_metric="acc",
        initializer=Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        optimizer_params={"learning_rate": lr, "momentum": 0.9, "wd": 1e-4},
        epoch_end_callback=None
        if prefix is None
        else lambda epoch, *trained: save_checkpoint(prefix, epoch + 1, *trained),
        num_epoch=epochs,
    )
    return module


def run_train(*arguments: Any, **options: Any) -> int:
    """Train as `train` does, with a line for each epoch; return the command's exit code, 1 if it fails."""
    try:
        train(*arguments, **options)
    except (MXNetError, OSError, ImportError) as error:
        print(f"rebind train: {error}", file=sys.stderr)
        return 1
    return 0
