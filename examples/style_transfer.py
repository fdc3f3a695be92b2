"""How to train a picture instead of a network: style transfer, by the gradient of a loss with respect to the input.

The features are those of fixed convolutions with random weights, which describe textures well enough. The picture is to
have the features of one picture and, as its style, the correlations of the features of another. Run it with
`python examples/style_transfer.py --picture FILE.png`; the picture shows content, style, and what comes of both.
"""

import argparse
import sys

import numpy as np

import rebind as mx

SIZE, STEPS = 64, 150
LAYERS = [(9, 32), (5, 32)]  # kernels and filters
WEIGHTS = {"content": 1.0, "style": 30.0, "roughness": 0.03}  # of the losses


def content():
    """A white ring around a bar, on black."""
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE - 0.5
    radius = np.sqrt(x**2 + y**2)
    white = ((radius > 0.25) & (radius < 0.4)) | ((abs(x) < 0.06) & (abs(y) < 0.25))
    return np.stack([white, white, white]).astype("float32")


def style():
    """Coloured waves."""
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    phase = 40 * (x + 0.6 * y) + 3 * np.sin(9 * y)
    return np.stack([np.sin(phase + shift) * 0.5 + 0.5 for shift in (0, 1.2, 3)]).astype("float32")


def description():
    """The correlations of the features of each layer, and the features of the last one."""
    net, outputs = mx.sym.var("data"), []
    for i, (size, filters) in enumerate(LAYERS):
        pad, positions = (size // 2, size // 2), (SIZE // 2**i) ** 2
        net = mx.sym.Convolution(net, kernel=(size, size), pad=pad, num_filter=filters, name=f"conv{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        flat = mx.sym.reshape(net, shape=(-3, -1))  # of one picture: filters x positions
        outputs.append(mx.sym.linalg.syrk(flat, alpha=1 / positions))
        features, net = net, mx.sym.Pooling(net, kernel=(2, 2), stride=(2, 2), pool_type="avg")
    return mx.sym.Group([*outputs, features])


def roughness(data, axis):
    """How much neighbouring pixels differ along an axis."""
    ahead, behind = (mx.sym.slice_axis(data, axis, begin, end) for begin, end in ((1, None), (0, -1)))
    return mx.sym.mean(mx.sym.abs(ahead - behind))


def losses(described):
    """How far the description is from the targets, and how rough the picture is."""
    names = described.list_outputs()
    far = [mx.sym.mean(mx.sym.square(described[name] - mx.sym.var(f"{name}_target"))) for name in names]
    data = described.get_internals()["data"]
    rough = roughness(data, axis=2) + roughness(data, axis=3)
    parts = {"content": far[-1], "style": sum(far[1:-1], far[0]), "roughness": rough}
    return mx.sym.Group([mx.sym.MakeLoss(part, grad_scale=WEIGHTS[name]) for name, part in parts.items()])


def random_weights(symbol):
    """Weights that do not change."""
    random = np.random.RandomState(0)
    shapes, _, _ = symbol.infer_shape(data=(1, 3, SIZE, SIZE))
    named = list(zip(symbol.list_arguments(), shapes))[1:]  # without the picture
    return {name: mx.nd.array(random.randn(*shape) / np.sqrt(np.prod(shape[1:]))) for name, shape in named}


def transfer(executor, picture):
    """Change the picture along the gradient of the losses; return what they were at first and at last."""
    update = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.03))
    values = []
    for _ in range(STEPS):
        values.append([loss.asscalar() for loss in executor.forward(is_train=True)])
        executor.backward()
        update(0, executor.grad_dict["data"], picture)
        picture[:] = mx.nd.clip(picture, 0, 1)
    return values[0], values[-1]


def save(path, pictures):
    """Save pictures side by side, each pixel as two by two."""
    from matplotlib.image import imsave

    framed = [np.pad(picture, [(0, 0), (1, 1), (1, 1)], constant_values=1) for picture in pictures]
    imsave(path, np.concatenate(framed, axis=2).repeat(2, axis=1).repeat(2, axis=2).transpose(1, 2, 0))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw content, style and result into FILE")
    path = parser.parse_args().picture
    mx.tune()
    mx.random.seed(0)  # the picture at first
    described = description()
    fixed = random_weights(described)
    describe = described.bind(mx.cpu(), {"data": mx.nd.array(style()[None]), **fixed}, grad_req="null")
    wanted = [output.copy() for output in describe.forward()]
    describe.arg_dict["data"][:] = content()[None]
    wanted[-1] = describe.forward()[-1]  # the features of the content; the correlations are of the style
    targets = {f"{name}_target": array for name, array in zip(described.list_outputs(), wanted)}
    picture = mx.nd.random.uniform(0.4, 0.6, (1, 3, SIZE, SIZE))
    arguments = {"data": picture, **fixed, **targets}
    executor = losses(described).bind(mx.cpu(), arguments, args_grad={"data": mx.nd.zeros(picture.shape)})
    first, last = transfer(executor, picture)
    print("Losses: " + ", ".join(f"{name} {a:.4f} to {b:.4f}" for name, a, b in zip(WEIGHTS, first, last)))
    if path:
        save(path, [content(), style(), picture.asnumpy()[0]])
    return (
        0
        if last[1] < first[1] / 5 and last[0] < first[0] / 1.5
        else "style_transfer.py: both losses are to fall"
    )


if __name__ == "__main__":
    sys.exit(main())
