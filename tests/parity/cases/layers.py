"""Layers, pooling and losses."""

from __future__ import annotations

from collections.abc import Iterable

from .case import Case, between, case, distinct, fixed, integers, loss, normal, values


def layers() -> Iterable[Case]:
    """Layers with parameters of their own, and what stands between them."""
    fc = "FullyConnected"
    yield case(fc, {"data": normal(3, 5)}, num_hidden=4)
    yield case(fc, {"data": normal(3, 2, 5)}, num_hidden=4)
    yield case(fc, {"data": normal(3, 2, 5)}, num_hidden=4, flatten=False)
    yield case(fc, {"data": normal(3, 2, 5)}, num_hidden=4, flatten=False, no_bias=True)
    yield case(fc, {"data": normal(3, 5)}, num_hidden=1, no_bias=True)
    yield case(fc, {"data": normal(3, 5, dtype="float64")}, num_hidden=4)

    conv = "Convolution"
    yield case(conv, {"data": normal(2, 3, 9)}, kernel=(3,), num_filter=4)
    yield case(conv, {"data": normal(2, 4, 9)}, kernel=(3,), stride=(2,), pad=(2,), num_filter=6, num_group=2)
    image = {"data": normal(2, 4, 7, 6)}
    yield case(conv, image, kernel=(3, 3), num_filter=3)
    yield case(conv, image, kernel=(1, 1), num_filter=3, no_bias=True)
    yield case(conv, image, kernel=(3, 2), stride=(2, 1), pad=(1, 1), num_filter=3)
    yield case(conv, image, kernel=(2, 2), dilate=(2, 3), num_filter=3, no_bias=True)
    yield case(conv, image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), num_filter=6, num_group=2)
    yield case(conv, image, kernel=(3, 3), pad=(1, 1), num_filter=4, num_group=4)
    yield case(
        conv, {"data": normal(1, 2, 4, 5, 4)}, kernel=(2, 3, 2), stride=(1, 2, 1), pad=(1, 1, 0), num_filter=3
    )

    deconv = "Deconvolution"
    image = {"data": normal(2, 4, 4, 3)}
    yield case(deconv, {"data": normal(2, 4, 5)}, kernel=(3,), stride=(2,), num_filter=3)
    yield case(deconv, image, kernel=(3, 3), num_filter=3)
    yield case(deconv, image, kernel=(4, 4), stride=(2, 2), pad=(1, 1), num_filter=3, no_bias=False)
    yield case(deconv, image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), adj=(1, 1), num_filter=3)
    yield case(deconv, image, kernel=(3, 3), stride=(2, 2), target_shape=(8, 6), num_filter=3)
    yield case(deconv, image, kernel=(3, 3), stride=(3, 2), target_shape=(10, 7), num_filter=3)
    yield case(deconv, image, kernel=(2, 2), stride=(2, 2), num_filter=4, num_group=2)
    yield case(deconv, image, kernel=(2, 2), dilate=(2, 1), num_filter=2)

    norm = {"data": normal(4, 3, 2, 2)}
    yield case("BatchNorm", norm)
    yield case("BatchNorm", norm, fix_gamma=False, eps=2e-5, momentum=0.8)
    yield case("BatchNorm", norm, fix_gamma=True, use_global_stats=True)
    yield case("BatchNorm", norm, fix_gamma=False, use_global_stats=True)
    yield case("BatchNorm", norm, fix_gamma=False, axis=3)
    yield case("BatchNorm", norm, fix_gamma=False, axis=-2)
    yield case("BatchNorm", {"data": normal(6, 3)}, fix_gamma=False)
    # The further outputs are read-only: head gradients for them do not reach the data.
    yield case("BatchNorm", {"data": fixed(normal(4, 3, 2, 2))}, fix_gamma=False, output_mean_var=True)
    yield case("LayerNorm", {"data": fixed(normal(3, 4, 5))}, output_mean_var=True)
    yield case("LayerNorm", {"data": normal(3, 4, 5)})
    yield case("LayerNorm", {"data": normal(3, 4, 5)}, axis=1, eps=1e-3)
    for mode in ("instance", "channel", "spatial"):
        yield case("L2Normalization", {"data": normal(2, 3, 2, 2)}, mode=mode)

    for kind in ("relu", "sigmoid", "tanh", "softrelu", "softsign"):
        yield case("Activation", {"data": normal(3, 7)}, act_type=kind)
    yield case("LeakyReLU", {"data": normal(3, 7)})
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="leaky", slope=0.1)
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="elu", slope=0.4)
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="selu")
    yield case("LeakyReLU", {"data": normal(3, 7)}, act_type="gelu")
    yield case("LeakyReLU", {"data": normal(2, 3, 2, 2)}, act_type="prelu")
    yield case("LeakyReLU", {"data": normal(2, 3, 2, 2), "gamma": between(0.1, 0.5, 1)}, act_type="prelu")
    yield case("LeakyReLU", {"data": normal(4, 3)}, act_type="prelu")

    yield case("Embedding", {"data": integers(0, 6, 3, 4)}, input_dim=6, output_dim=5)
    yield case("Embedding", {"data": values(0, 1, -3, 9)}, input_dim=4, output_dim=2)
    yield case("Embedding", {"data": integers(0, 6, 3, dtype="int32")}, input_dim=6, output_dim=5)
    yield case("Dropout", {"data": normal(3, 4)}, p=0.0)


def pooling() -> Iterable[Case]:
    """Every kind with every convention, and what changes the divisor of an average.

    The convention "same" is left out: 1.9.1 fails at every call with it.
    """
    image = {"data": distinct(2, 2, 7, 6)}
    for kind in ("max", "avg", "sum"):
        yield case("Pooling", image, kernel=(2, 2), pool_type=kind)
        yield case("Pooling", image, kernel=(3, 3), stride=(2, 2), pool_type=kind)
        yield case("Pooling", image, kernel=(3, 3), stride=(2, 2), pool_type=kind, pooling_convention="full")
        yield case(
            "Pooling",
            image,
            kernel=(3, 2),
            stride=(2, 2),
            pad=(1, 0),
            pool_type=kind,
            pooling_convention="full",
        )
        yield case("Pooling", image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type=kind)
        yield case("Pooling", image, kernel=(2, 2), global_pool=True, pool_type=kind)
        yield case("Pooling", {"data": distinct(2, 2, 7)}, kernel=(3,), stride=(2,), pad=(1,), pool_type=kind)
        yield case(
            "Pooling", {"data": distinct(1, 2, 4, 4, 5)}, kernel=(2, 2, 3), stride=(2, 1, 2), pool_type=kind
        )
    yield case(
        "Pooling", image, kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", count_include_pad=False
    )
    yield case(
        "Pooling",
        image,
        kernel=(3, 3),
        stride=(2, 2),
        pad=(1, 1),
        pool_type="avg",
        count_include_pad=False,
        pooling_convention="full",
    )
    for power in (1, 2, 3):
        yield case(
            "Pooling", {"data": between(0.5, 2, 2, 2, 5, 5)}, kernel=(2, 2), pool_type="lp", p_value=power
        )
    yield case("Pooling", image, global_pool=True)


def losses() -> Iterable[Case]:
    """Operators that bring their own gradient.

    Two things are left out, since 1.9.1 does not do what it says: ``out_grad=True`` of ``SoftmaxOutput``
    multiplies by the output instead of the head gradient, and for data of three axes without
    ``preserve_shape`` or ``multi_output`` the inferred label has more elements than there are rows.
    """
    rows = {"data": normal(4, 5), "label": integers(0, 5, 4)}
    yield from loss("SoftmaxOutput", rows)
    yield from loss("SoftmaxOutput", rows, grad_scale=0.5)
    for normalization in ("null", "batch", "valid"):
        yield from loss("SoftmaxOutput", rows, normalization=normalization)
        yield from loss("SoftmaxOutput", rows, normalization=normalization, use_ignore=True, ignore_label=2)
    yield from loss("SoftmaxOutput", rows, smooth_alpha=0.1)
    yield from loss("SoftmaxOutput", {"data": normal(4, 5), "label": fixed(between(0, 1, 4, 5))})
    yield from loss(
        "SoftmaxOutput", {"data": normal(2, 3, 4), "label": integers(0, 4, 2, 3)}, preserve_shape=True
    )
    maps = {"data": normal(2, 4, 3, 2), "label": integers(0, 4, 2, 3, 2)}
    yield from loss("SoftmaxOutput", maps, multi_output=True)
    yield from loss("SoftmaxOutput", {**maps, "label": integers(0, 4, 2, 6)}, multi_output=True)
    for normalization in ("null", "batch", "valid"):
        yield from loss(
            "SoftmaxOutput",
            maps,
            multi_output=True,
            use_ignore=True,
            ignore_label=1,
            normalization=normalization,
        )
    for operator in ("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"):
        yield from loss(operator, {"data": normal(4, 3), "label": fixed(between(0, 1, 4, 3))})
        yield from loss(operator, {"data": normal(4, 1), "label": fixed(between(0, 1, 4))}, grad_scale=2.0)
    yield from loss("MakeLoss", {"data": normal(4, 3)})
    yield from loss("MakeLoss", {"data": normal(4, 3)}, grad_scale=0.3)
    yield from loss("MakeLoss", {"data": normal(4, 3)}, grad_scale=0.3, normalization="batch")
    yield from loss("MakeLoss", {"data": normal(4, 3)}, normalization="valid", valid_thresh=0.2)
    yield from loss("make_loss", {"data": normal(4, 3)})
    yield from loss("BlockGrad", {"data": normal(4, 3)})
    yield case("softmax_cross_entropy", {"data": normal(4, 5), "label": integers(0, 5, 4)})
    for scalar in (1.0, 3.0):
        yield case("smooth_l1", {"data": normal(3, 6)}, scalar=scalar)


FAMILIES = (layers, pooling, losses)
