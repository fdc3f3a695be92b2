"""How to train in bfloat16: how many digits are read right, and in which time, by networks that learn in either type.

Two networks, the LeNet of `digits.py` and a small residual network, learn in float32 and in bfloat16; what learned in
float32 is converted, too. Run it with `python examples/mixed_precision.py`; it takes half a minute on two cores. The
times, of the processor, mean something where it has instructions for bfloat16 (AVX512_BF16, AMX).
"""

import argparse
import sys
import time

try:
    import numpy as np
    from digits import BATCH, HELD_OUT, digits, lenet

    import rebind as mx
except ImportError as error:
    sys.exit(f"mixed_precision.py needs {error.name}. In rebind's folder: pip install '.[viz]' scikit-learn")


def unit(net, filters, stride, name):
    """A residual block: two convolutions, added to what they are given; where sizes change, to a projection of it."""
    given = net
    for i, step in enumerate([stride, 1], start=1):
        net = mx.sym.Convolution(
            net,
            kernel=(3, 3),
            stride=(step, step),
            pad=(1, 1),
            num_filter=filters,
            no_bias=True,
            name=f"{name}_conv{i}",
        )
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"{name}_bn{i}")
        if i == 1:
            net = mx.sym.Activation(net, act_type="relu", name=f"{name}_relu1")
    if stride > 1:
        given = mx.sym.Convolution(
            given,
            kernel=(1, 1),
            stride=(stride, stride),
            num_filter=filters,
            no_bias=True,
            name=f"{name}_conv3",
        )
        given = mx.sym.BatchNorm(given, fix_gamma=False, name=f"{name}_bn3")
    return mx.sym.Activation(net + given, act_type="relu", name=f"{name}_relu2")


def resnet():
    """Three residual blocks, of 64 and 128 filters."""
    net = mx.sym.Convolution(
        mx.sym.var("data"), kernel=(3, 3), pad=(1, 1), num_filter=64, no_bias=True, name="conv0"
    )
    net = mx.sym.Activation(mx.sym.BatchNorm(net, fix_gamma=False, name="bn0"), act_type="relu", name="relu0")
    for i, (filters, stride) in enumerate([(64, 1), (128, 2), (128, 1)], start=1):
        net = unit(net, filters, stride, f"unit{i}")
    net = mx.sym.Pooling(net, global_pool=True, pool_type="avg", kernel=(1, 1), name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net), num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def trained(network, epochs):
    """Train, from the same first weights and order of samples each time; return the module and the seconds it took."""
    np.random.seed(0)
    mx.random.seed(0)
    learn, _ = digits()
    module = mx.mod.Module(network)
    begun = time.process_time()
    module.fit(
        learn,
        initializer=mx.init.Xavier(),
        optimizer="adam",
        optimizer_params={"learning_rate": 0.002},
        num_epoch=epochs,
    )
    return module, time.process_time() - begun


def tested(network, arg_params, aux_params):
    """Return the share of the held-out digits that are read right, and the milliseconds that a batch takes."""
    _, held_out = digits()
    module = mx.mod.Module(network)
    module.bind(held_out.provide_data, held_out.provide_label, for_training=False)
    module.init_params(initializer=None, arg_params=arg_params, aux_params=aux_params)
    [(_, accuracy)] = module.score(held_out, "accuracy")  # weights are cast and packed now
    begun = time.process_time()
    module.score(held_out, "accuracy")
    return accuracy, 1000 * (time.process_time() - begun) / (HELD_OUT / BATCH)


def compare(name, network, epochs):
    """Print a line for each type that the network learns and is used in."""
    low = mx.contrib.amp.convert_symbol(network, "bfloat16")
    module, seconds = trained(network, epochs)
    args, aux = module.get_params()
    converted = mx.contrib.amp.convert_model(network, args, aux, "bfloat16", cast_optional_params=True)
    low_module, low_seconds = trained(low, epochs)
    for learned, used, took, parts in [
        ("float32", "float32", seconds, (network, args, aux)),
        ("float32", "bfloat16", seconds, converted),
        ("bfloat16", "bfloat16", low_seconds, (low, *low_module.get_params())),
    ]:
        accuracy, milliseconds = tested(*parts)
        print(f"{name:8}{learned:10}{used:10}{took:7.1f} s{milliseconds:9.2f} ms{accuracy:10.4f}", flush=True)


def main():
    mx.tune()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=8, help="how often all digits are seen")
    options = parser.parse_args()
    print(f"{'network':8}{'learned':10}{'used':10}{'training':>9}{'a batch':>12}{'accuracy':>10}", flush=True)
    for name, network in {"LeNet": lenet(), "ResNet": resnet()}.items():
        compare(name, network, options.epochs)


if __name__ == "__main__":
    main()
