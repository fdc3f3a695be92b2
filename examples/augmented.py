"""How to train on a folder of pictures: pack them by `rebind im2rec`, augment them by `mx.io.ImageRecordIter`.

The digits are scikit-learn's, of 8 x 8 pixels, enlarged to 24 x 24 and saved as PNG files in a folder for each class.
Whoever has such a folder begins with `pack`. Pictures are decoded, turned, scaled and cropped by threads, ahead of the
training; run it with `python examples/augmented.py`; it takes about ten seconds on two cores.

    python examples/augmented.py --out run
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

try:
    import cv2
    import numpy as np
    from sklearn.datasets import load_digits

    import rebind as mx
except ImportError as error:
    sys.exit(f"augmented.py needs {error.name}. In rebind's folder: pip install '.[image]' scikit-learn")

SHAPE = (1, 20, 20)  # of the part that a network sees: grey
SIZE = 24
EPOCHS = 5


def save(folder: Path) -> None:
    """Save the digits as pictures, those of a class in a folder."""
    digits = load_digits()
    for i, (small, digit) in enumerate(zip(digits.images, digits.target)):
        (folder / str(digit)).mkdir(parents=True, exist_ok=True)
        grey = cv2.resize((small * (255 / 16)).astype(np.uint8), (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        cv2.imwrite(str(folder / str(digit) / f"{i}.png"), grey)


def pack(prefix: Path, pictures: Path) -> None:
    """Write lists and record files, four fifths for training and the rest for testing, as MXNet's `im2rec.py` does."""
    im2rec = [sys.executable, "-m", "rebind", "im2rec", str(prefix), str(pictures)]
    subprocess.run(
        [*im2rec, "--list", "--recursive", "--train-ratio", "0.8", "--test-ratio", "0.2"], check=True
    )
    subprocess.run([*im2rec, "--color", "0", "--encoding", ".png", "--quality", "9"], check=True)


def batches(prefix: Path, part: str, **augmentation: Any) -> mx.io.ImageRecordIter:
    """Return an iterator over a record file."""
    return mx.io.ImageRecordIter(
        path_imgrec=f"{prefix}_{part}.rec",
        path_imgidx=f"{prefix}_{part}.idx",
        data_shape=SHAPE,
        batch_size=50,
        mean_r=80,
        std_r=100,
        preprocess_threads=2,
        verbose=False,
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
    """Save and pack the pictures, train, and print how many of the others are recognized."""
    mx.tune()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="keep pictures and record files in FOLDER")
    out = parser.parse_args().out
    mx.random.seed(1)  # of the initial weights, and of the augmentation
    with tempfile.TemporaryDirectory() as temporary:
        folder = out or Path(temporary)
        save(folder / "pictures")
        prefix = folder / "digits"
        pack(prefix, folder / "pictures")
        train = batches(
            prefix,
            "train",
            shuffle=True,
            rand_crop=True,
            max_rotate_angle=10,
            min_random_scale=0.9,
            max_random_scale=1.1,
            max_random_contrast=0.2,
            max_random_illumination=20,
        )
        # Each once in every epoch: filled up from the start, the last batch would leave fewer to the next epoch.
        test = batches(prefix, "test", round_batch=False)
        module = mx.mod.Module(network())
        module.fit(
            train,
            eval_data=test,
            optimizer="adam",
            optimizer_params={"learning_rate": 3e-3},
            initializer=mx.init.Xavier(),
            num_epoch=EPOCHS,
        )
        accuracy = dict(module.score(test, "acc"))["accuracy"]
        count = len((folder / "digits_test.lst").read_text().splitlines())
    print(f"Held-out accuracy: {accuracy:.4f} ({round(accuracy * count)} of {count} digits)")


if __name__ == "__main__":
    main()
