"""How to write pictures into a record file, and train from it with augmentation, by `MXRecordIO` and `ImageIter`.

The digits are scikit-learn's, of 8 x 8 pixels, enlarged to colour pictures of 24 x 24.

    python examples/records.py --out run
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    import numpy as np
    from sklearn.datasets import load_digits

    import rebind as mx
except ImportError as error:
    sys.exit(f"records.py needs {error.name}. In rebind's folder: pip install '.[image]' scikit-learn")

SHAPE = (3, 20, 20)  # of the part that a network sees
SIZE = 24
TEST = 360
EPOCHS = 3


def write(folder: Path) -> None:
    """Write the pictures for training and testing as record files with an index."""
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    for name, rows in (("train", order[TEST:]), ("test", order[:TEST])):
        record = mx.recordio.MXIndexedRecordIO(str(folder / f"{name}.idx"), str(folder / f"{name}.rec"), "w")
        for i, row in enumerate(rows):
            small = mx.nd.array(digits.images[row][:, :, None] * (255 / 16), dtype="uint8")
            grey = mx.image.imresize(small, SIZE, SIZE, interp=1).asnumpy()
            header = mx.recordio.IRHeader(0, float(digits.target[row]), i, 0)
            record.write_idx(i, mx.recordio.pack_img(header, np.repeat(grey, 3, axis=2), img_fmt=".png"))
        record.close()


def pictures(folder: Path, name: str, **augmentation: Any) -> mx.image.ImageIter:
    """Return an iterator over a record file."""
    return mx.image.ImageIter(
        60,
        SHAPE,
        path_imgrec=folder / f"{name}.rec",
        path_imgidx=folder / f"{name}.idx",
        mean=np.full(3, 80.0),
        std=np.full(3, 100.0),
        **augmentation,
    )


def network() -> mx.sym.Symbol:
    """Return two convolutions and a classifier of ten digits."""
    net = mx.sym.var("data")
    for filters in (12, 24):
        net = mx.sym.Convolution(net, num_filter=filters, kernel=(3, 3), pad=(1, 1))
        net = mx.sym.Activation(net, act_type="relu")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=10)
    return mx.sym.SoftmaxOutput(net, name="softmax")


def main() -> None:
    """Write the pictures, train, and print how many of the others are recognized."""
    mx.tune()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep the record files in FOLDER")
    out = parser.parse_args().out
    # The order of the pictures and the crops are Python's, the initial weights rebind's.
    random.seed(1)
    mx.random.seed(1)
    with tempfile.TemporaryDirectory() as temporary:
        folder = out or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write(folder)
        train = pictures(folder, "train", shuffle=True, rand_crop=True, brightness=0.2, contrast=0.2)
        test = pictures(folder, "test")
        module = mx.mod.Module(network())
        module.fit(
            train,
            optimizer="adam",
            optimizer_params={"learning_rate": 3e-3},
            initializer=mx.init.Xavier(),
            num_epoch=EPOCHS,
        )
        accuracy = dict(module.score(test, "acc"))["accuracy"]
    print(f"Held-out accuracy: {accuracy:.4f} ({round(accuracy * TEST)} of {TEST} digits)")


if __name__ == "__main__":
    main()
