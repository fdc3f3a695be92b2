"""How to train a detector: an SSD with anchor boxes at two scales finds shapes of three kinds.

`MultiBoxTarget` gives each anchor what it is to find, `MultiBoxDetection` makes boxes of what the network answers. Run
it with `python examples/ssd.py --picture FILE.png`; the picture shows what it finds.
"""

import argparse
import sys

import numpy as np

import rebind as mx

KINDS = ["square", "disc", "cross"]
SIZE, MOST = 48, 3  # pixels of an edge; shapes in a picture, at most
LEARN, TEST, BATCH, EPOCHS = 320, 80, 20, 8


def scene(random):
    """A picture, and for each shape its kind, left, top, right and bottom; -1 where there is none."""
    picture = np.zeros((3, SIZE, SIZE)) + random.uniform(0, 0.3, (3, 1, 1))
    boxes = np.full((MOST, 5), -1.0)
    for i, quarter in enumerate(random.permutation(4)[: random.randint(1, MOST + 1)]):
        kind, size = random.randint(len(KINDS)), random.randint(10, SIZE // 2)
        y, x = SIZE // 2 * np.array(divmod(quarter, 2)) + random.randint(0, SIZE // 2 - size, 2)
        rows, columns = abs(np.mgrid[:size, :size] * 2 / (size - 1) - 1)  # distances from the middle
        masks = [rows <= 1, rows**2 + columns**2 <= 1, np.minimum(rows, columns) < 0.3]
        picture[:, y : y + size, x : x + size][:, masks[kind]] = random.uniform(0.5, 1, (3, 1))
        boxes[i] = [kind, x / SIZE, y / SIZE, (x + size) / SIZE, (y + size) / SIZE]
    return picture, boxes


def scenes(count, seed, shuffle=False):
    """Batches of pictures, with the boxes as labels."""
    random = np.random.RandomState(seed)
    pictures, boxes = (np.stack(values) for values in zip(*(scene(random) for _ in range(count))))
    return mx.io.NDArrayIter(pictures, boxes, BATCH, shuffle=shuffle, label_name="label")


def convolution(net, filters, name, stride=(1, 1)):
    net = mx.sym.Convolution(net, num_filter=filters, kernel=(3, 3), pad=(1, 1), stride=stride, name=name)
    return mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name=f"{name}_bn"), act_type="relu")


def heads(net, sizes, name):
    """Anchors of two sizes at every position; for each the scores of its classes (0 is background) and a box."""
    outputs = [mx.sym.contrib.MultiBoxPrior(net, sizes=sizes, ratios=(1,), name=f"{name}_anchors")]
    for kind, values in (("scores", len(KINDS) + 1), ("boxes", 4)):
        out = mx.sym.Convolution(net, num_filter=2 * values, kernel=(3, 3), pad=(1, 1), name=f"{name}_{kind}")
        outputs.append(mx.sym.Flatten(mx.sym.transpose(out, axes=(0, 2, 3, 1))))
    return outputs


def network():
    """The losses of classes and boxes, what the anchors are to find, and the boxes that are found."""
    net = convolution(mx.sym.var("data"), 16, "conv1", stride=(2, 2))
    net = convolution(net, 32, "conv2", stride=(2, 2))
    fine = convolution(net, 32, "conv3")  # 12 x 12 positions
    coarse = convolution(fine, 32, "conv4", stride=(2, 2))  # 6 x 6
    scales = zip(heads(fine, (0.22, 0.3), "fine"), heads(coarse, (0.36, 0.45), "coarse"))
    anchors, scores, boxes = (mx.sym.Concat(*both, dim=1) for both in scales)
    scores = mx.sym.transpose(mx.sym.reshape(scores, shape=(0, -1, len(KINDS) + 1)), axes=(0, 2, 1))
    # Of the anchors without a shape it takes the three least sure ones for each anchor with a shape.
    targets = mx.sym.contrib.MultiBoxTarget(anchors, mx.sym.var("label"), scores, negative_mining_ratio=3)
    classes = mx.sym.SoftmaxOutput(scores, targets[2], multi_output=True, use_ignore=True, ignore_label=-1,
                                   normalization="valid", name="classes")  # fmt: skip
    loss = mx.sym.smooth_l1(targets[1] * (boxes - targets[0]), scalar=1.0)
    loss = mx.sym.MakeLoss(loss, normalization="valid", name="box_loss")
    found = mx.sym.contrib.MultiBoxDetection(classes, boxes, anchors, threshold=0.5, nms_threshold=0.3)
    return mx.sym.Group([classes, loss, mx.sym.BlockGrad(found)])


def compare(boxes, found):
    """How many shapes have a box of their kind over them, and how many boxes have no such shape under them."""
    right = mx.nd.contrib.box_iou(mx.nd.array(boxes[:, 1:]), mx.nd.array(found[:, 2:])).asnumpy() > 0.5
    right &= boxes[:, None, 0] == found[None, :, 0]
    return right.any(axis=1).sum(), (~right.any(axis=0)).sum()


def draw(path, pictures, found):
    """Draw pictures with the boxes of which the network is sure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 1.8), layout="constrained")
    label = {"facecolor": "white", "linewidth": 0, "pad": 1}
    for ax, picture, boxes in zip(figure.subplots(1, 5), pictures, found):
        ax.imshow(picture.transpose(1, 2, 0))
        for kind, sure, *edges in boxes:
            left, top, right, bottom = (SIZE * edge - 0.5 for edge in edges)
            ax.plot([left, right, right, left, left], [top, top, bottom, bottom, top], color="white")
            ax.text(left + 1, top + 5, f"{KINDS[int(kind)]} {sure:.0%}", fontsize=6, bbox=label)
        ax.axis("off")
    figure.savefig(path, dpi=72)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw what it finds into FILE")
    picture = parser.parse_args().picture
    mx.tune()
    np.random.seed(0)  # the order of the samples
    mx.random.seed(0)  # the first weights
    module = mx.mod.Module(network(), label_names=["label"])
    module.fit(
        scenes(LEARN, seed=1, shuffle=True), num_epoch=EPOCHS, initializer=mx.init.Xavier(), optimizer="adam",
        optimizer_params={"learning_rate": 5e-3}, eval_metric=mx.metric.Loss(output_names=["box_loss_output"]),
    )  # fmt: skip
    test = scenes(TEST, seed=2)
    found = [boxes[boxes[:, 0] >= 0] for boxes in module.predict(test)[2].asnumpy()]
    shapes = [boxes[boxes[:, 0] >= 0] for boxes in test.label[0][1].asnumpy()]
    hits, false = np.sum([compare(*both) for both in zip(shapes, found)], axis=0)
    count = sum(map(len, shapes))
    print(f"Found: {hits} of {count} shapes, and {false} that are not there")
    if picture:
        draw(picture, test.data[0][1].asnumpy(), found)
    return 0 if hits >= 0.8 * count else "ssd.py: it is to find 80 % of the shapes"


if __name__ == "__main__":
    sys.exit(main())
