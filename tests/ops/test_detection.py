"""A small single-shot detector from anchors to detections: it learns to find squares."""

from __future__ import annotations

import numpy as np

import rebind as mx

SIZE, CELLS = 32, 8  # pixels and positions along a side


def network() -> mx.sym.Symbol:
    """Return losses, and detections that have none."""
    net = mx.sym.var("data")
    for index, filters in enumerate((16, 32)):
        net = mx.sym.Convolution(
            net, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=filters, name=f"conv{index}"
        )
        net = mx.sym.Activation(net, act_type="relu")
    anchors = mx.sym.contrib.MultiBoxPrior(net, sizes=(0.25, 0.45), ratios=(1, 2), clip=True, name="anchors")

    def head(name: str, numbers: int) -> mx.sym.Symbol:
        out = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=3 * numbers, name=name)
        return mx.sym.Flatten(mx.sym.transpose(out, axes=(0, 2, 3, 1)))

    locations = head("locations", 4)
    classes = mx.sym.transpose(mx.sym.Reshape(head("classes", 3), shape=(0, -1, 3)), axes=(0, 2, 1))
    targets = mx.sym.contrib.MultiBoxTarget(
        anchors,
        mx.sym.var("label"),
        classes,
        negative_mining_ratio=3,
        negative_mining_thresh=0.5,
        name="target",
    )
    probabilities = mx.sym.SoftmaxOutput(
        classes,
        targets[2],
        multi_output=True,
        use_ignore=True,
        ignore_label=-1,
        normalization="valid",
        name="class_loss",
    )
    distance = mx.sym.smooth_l1(targets[1] * (locations - targets[0]), scalar=1.0)
    location_loss = mx.sym.MakeLoss(distance, normalization="valid", valid_thresh=1e-12, name="location_loss")
    found = mx.sym.contrib.MultiBoxDetection(probabilities, locations, anchors, nms_topk=50, name="detection")
    return mx.sym.Group([probabilities, location_loss, mx.sym.BlockGrad(found)])


def images(count: int, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    """Return noise with one or two bright squares, of a class for each of two channels, and their labels."""
    data = random.uniform(0, 0.1, (count, 2, SIZE, SIZE)).astype("float32")
    label = np.full((count, 3, 5), -1, "float32")
    for image in range(count):
        for square in range(random.randint(1, 3)):
            # One to the left and one to the right: they do not overlap.
            kind, size = random.randint(2), random.choice([8, 14])
            left, top = 16 * square + random.randint(0, 17 - size), random.randint(0, SIZE - size + 1)
            data[image, kind, top : top + size, left : left + size] = 1
            label[image, square] = [kind, *(np.array([left, top, left + size, top + size]) / SIZE)]
    return data, label


def overlap(one: np.ndarray, other: np.ndarray) -> float:
    return float(mx.nd.contrib.box_iou(mx.nd.array([one]), mx.nd.array([other])).asnumpy()[0, 0])


def test_a_detector_learns():
    random = np.random.RandomState(0)
    mx.random.seed(0)
    symbol = network()
    batch = 32
    executor = symbol.simple_bind(
        mx.cpu(), data=(batch, 2, SIZE, SIZE), label=(batch, 3, 5), grad_req="write"
    )
    assert symbol.list_outputs()[:2] == ["class_loss_output", "location_loss_output"]
    anchors = CELLS * CELLS * 3
    assert [out.shape for out in executor.outputs] == [
        (batch, 3, anchors),
        (batch, 4 * anchors),
        (batch, anchors, 6),
    ]

    learned = [name for name in symbol.list_arguments() if name not in ("data", "label")]
    for name in learned:
        mx.init.Xavier()(mx.init.InitDesc(name), executor.arg_dict[name])
    optimizer = mx.optimizer.create("adam", learning_rate=5e-3)
    updater = mx.optimizer.get_updater(optimizer)
    for _ in range(60):
        data, label = images(batch, random)
        executor.forward(is_train=True, data=mx.nd.array(data), label=mx.nd.array(label))
        executor.backward()
        for index, name in enumerate(learned):
            updater(index, executor.grad_dict[name], executor.arg_dict[name])
    assert not executor.grad_dict["label"].asnumpy().any(), "labels have no gradient"

    data, label = images(batch, random)
    detections = executor.forward(is_train=False, data=mx.nd.array(data), label=mx.nd.array(label))[
        2
    ].asnumpy()
    squares = [(image, *row) for image in range(batch) for row in label[image] if row[0] >= 0]
    found = 0
    for image, kind, *box in squares:
        # Of the best detections, as many as there are squares, one is this square.
        kept = detections[image][detections[image, :, 0] >= 0][: (label[image, :, 0] >= 0).sum()]
        found += any(row[0] == kind and overlap(row[2:], np.array(box)) > 0.5 for row in kept)
    assert found / len(squares) > 0.8
