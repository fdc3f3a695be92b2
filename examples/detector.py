"""How to train a detector from files: `ImageDetIter` reads pictures and augments them with their boxes.

Pictures of 48 x 48 pixels with one of scikit-learn's digits somewhere, a 0 or a 1, are written as files first.
`MultiBoxTarget` says which anchor boxes are to find what, and `MultiBoxDetection` makes boxes of what the network says
of pictures that it has not seen. Run it with `python examples/detector.py`.
"""

import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

import rebind as mx

SHAPE = (3, 48, 48)
BATCH = 20
COUNTS = {"train": 240, "test": 60}
EPOCHS = 7

Listed = list[list[Any]]  # a label and the name of a file for each picture


def write(folder: Path) -> dict[str, Listed]:
    """Write pictures; return the lists for training and testing."""
    digits = load_digits(n_class=2)
    chance = np.random.RandomState(0)
    order = chance.permutation(len(digits.target))
    lists: dict[str, Listed] = {"train": [], "test": []}
    for i, row in enumerate(order[: sum(COUNTS.values())]):
        size = int(chance.randint(16, 25))
        x, y = (int(edge) for edge in chance.randint(0, SHAPE[1] - size, 2))
        small = mx.nd.array(digits.images[row][:, :, None] * (255 / 16), dtype="uint8")
        scene = chance.randint(0, 60, (SHAPE[1], SHAPE[2], 3)).astype("uint8")
        scene[y : y + size, x : x + size] = mx.image.imresize(small, size, size).asnumpy()
        header = mx.recordio.IRHeader(0, 0.0, i, 0)
        # The bytes of a PNG file are what follows the header of a packed record.
        _, encoded = mx.recordio.unpack(mx.recordio.pack_img(header, scene, img_fmt=".png"))
        (folder / f"{i}.png").write_bytes(encoded)
        box = [edge / SHAPE[1] for edge in (x, y, x + size, y + size)]
        name = "train" if i < COUNTS["train"] else "test"
        lists[name].append([[2, 5, float(digits.target[row]), *box], f"{i}.png"])
    return lists


def network() -> mx.sym.Symbol:
    """Return the losses of classes and boxes, the classes that anchors are to find, and the boxes that are found."""
    net, label = mx.sym.var("data"), mx.sym.var("label")
    for filters in (16, 32, 32):
        net = mx.sym.Convolution(net, num_filter=filters, kernel=(3, 3), pad=(1, 1))
        net = mx.sym.Activation(mx.sym.BatchNorm(net), act_type="relu")
        net = mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="max")
    anchors = mx.sym.contrib.MultiBoxPrior(net, sizes=(0.36, 0.48), ratios=(1,))
    classes = mx.sym.Convolution(net, num_filter=2 * 3, kernel=(3, 3), pad=(1, 1))
    classes = mx.sym.reshape(mx.sym.transpose(classes, axes=(0, 2, 3, 1)), shape=(0, -1, 3))
    classes = mx.sym.transpose(classes, axes=(0, 2, 1))
    boxes = mx.sym.Convolution(net, num_filter=2 * 4, kernel=(3, 3), pad=(1, 1))
    boxes = mx.sym.Flatten(mx.sym.transpose(boxes, axes=(0, 2, 3, 1)))
    target = mx.sym.contrib.MultiBoxTarget(
        anchors, label, classes, overlap_threshold=0.5, negative_mining_ratio=3, negative_mining_thresh=0.5
    )
    found = mx.sym.SoftmaxOutput(
        classes, target[2], multi_output=True, use_ignore=True, ignore_label=-1, normalization="valid"
    )
    moved = mx.sym.smooth_l1(target[1] * (boxes - target[0]), scalar=1.0)
    moved = mx.sym.MakeLoss(moved, normalization="valid")
    detected = mx.sym.contrib.MultiBoxDetection(found, boxes, anchors, nms_threshold=0.3)
    return mx.sym.Group([found, moved, mx.sym.BlockGrad(target[2]), mx.sym.BlockGrad(detected)])


def found_in(module: mx.mod.Module, test: mx.image.ImageDetIter) -> int:
    """Return in how many pictures the surest box has the right class and half of its area in common with the digit."""
    right = 0
    test.reset()
    for batch in test:
        module.forward(batch, is_train=False)
        outputs: Any = module.get_outputs()
        labels: Any = batch.label
        for detected, label in zip(outputs[3].asnumpy(), labels[0].asnumpy()):
            best = detected[detected[:, 1].argmax()]
            shared = mx.nd.contrib.box_iou(
                mx.nd.array(best[None, 2:]), mx.nd.array(label[:1, 1:5])
            ).asscalar()
            right += bool(best[0] == label[0, 0] and shared > 0.5)
    return right


def main() -> None:
    """Train the detector and print how many digits it finds."""
    mx.tune()
    random.seed(1)
    np.random.seed(1)
    mx.random.seed(1)
    with tempfile.TemporaryDirectory() as temporary:
        lists = write(Path(temporary))
        normalization: dict[str, Any] = {"mean": np.full(3, 40.0), "std": np.full(3, 60.0)}
        train = mx.image.ImageDetIter(
            BATCH, SHAPE, path_root=temporary, imglist=lists["train"], shuffle=True, rand_crop=0.3, rand_pad=0.3,
            min_object_covered=0.95, area_range=(0.7, 1.4), aspect_ratio_range=(0.9, 1.1), **normalization,
        )  # fmt: skip
        test = mx.image.ImageDetIter(
            BATCH, SHAPE, path_root=temporary, imglist=lists["test"], **normalization
        )
        train.sync_label_shape(test)
        module = mx.mod.Module(network(), label_names=["label"])
        module.fit(
            train,
            eval_metric=mx.metric.Loss(output_names=["makeloss0_output"], label_names=[]),
            optimizer="adam",
            optimizer_params={"learning_rate": 5e-3},
            initializer=mx.init.Xavier(),
            num_epoch=EPOCHS,
        )
        print(f"Found: {found_in(module, test)} of {COUNTS['test']} digits")


if __name__ == "__main__":
    main()
