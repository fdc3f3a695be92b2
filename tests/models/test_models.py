"""Every network of `mx.models`: numbers of parameters as published, and one forward of those that are small."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.parity.models import usual_shapes

import rebind as mx

#: Trained numbers, as the papers' authors and other libraries publish them (torchvision, Caffe, pretrained-models).
PUBLISHED = {
    "mlp": 109_386, "lenet": 431_080, "alexnet": 62_378_344, "caffenet": 60_965_224, "vgg11": 132_863_336,
    "vgg13": 133_047_848, "vgg16": 138_357_544, "vgg19": 143_667_240, "vgg11_bn": 132_868_840,
    "vgg13_bn": 133_053_736, "vgg16_bn": 138_365_992, "vgg19_bn": 143_678_248, "googlenet": 6_998_552,
    "inception_v3": 23_834_568, "inception_v4": 42_679_816, "inception_resnet_v2": 55_843_464,
    "resnet50_v1": 25_557_032, "resnet101_v1": 44_549_160, "resnet152_v1": 60_192_808,
    "resnext50": 25_028_904 + 6, "densenet121": 7_978_856, "densenet161": 28_681_000, "densenet169": 14_149_480,
    "densenet201": 20_013_928, "squeezenet1.0": 1_248_424, "squeezenet1.1": 1_235_496, "mobilenet": 4_231_976,
    "mobilenet_v2": 3_504_872, "mobilenet_v3_large": 5_483_032, "mobilenet_v3_small": 2_542_856,
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLISHED)
def test_as_many_parameters_as_published(name: str) -> None:
    symbol, given = mx.models.get(name), usual_shapes(name)
    named = zip(symbol.list_arguments(), symbol.infer_shape(**given)[0])
    count = sum(math.prod(size) for key, size in named if key not in (*given, "softmax_label"))
    assert count == PUBLISHED[name]


@pytest.mark.parametrize("name", ["mlp", "lenet", "lstm_language_model", "mobilefacenet", "squeezenet1.1"])
def test_small_ones_run(name: str) -> None:
    symbol = mx.models.get(name)
    executor = symbol.simple_bind(mx.cpu(), grad_req="null", **usual_shapes(name))
    for array in executor.arg_arrays:
        array[:] = 0.01
    assert np.isfinite(executor.forward()[0].asnumpy()).all()


def test_names_are_those_of_published_checkpoints() -> None:
    assert {
        "bn_data_gamma", "conv0_weight", "stage1_unit1_conv1_weight", "stage1_unit1_sc_weight",
        "stage4_unit3_bn3_beta", "bn1_gamma", "fc1_bias",
    } <= set(mx.models.resnet().list_arguments())  # fmt: skip
    faces = mx.models.arcface_resnet().list_arguments()
    assert {
        "relu0_gamma",
        "stage1_unit1_conv1sc_weight",
        "stage3_unit14_relu1_gamma",
        "pre_fc1_bias",
        "fc1_beta",
    } <= set(faces)
    assert "fire9_expand3x3_weight" in mx.models.squeezenet().list_arguments()
    assert "conv_5b_double_3x3_reduce_bias" in mx.models.inception_bn().list_arguments()
    assert "mixed_10_tower_1_mixed_conv_1_conv2d_weight" in mx.models.inception_v3().list_arguments()
    assert "res_4_block5_conv_dw_relu_gamma" in mx.models.mobilefacenet().list_arguments()


def test_the_arcface_head_widens_the_angle_of_the_label() -> None:
    symbol = mx.models.arcface_head(
        mx.sym.var("data"), num_classes=2, embedding_size=2, scale=1.0, margin=0.5
    )
    executor = symbol.simple_bind(mx.cpu(), data=(1, 2), softmax_label=(1,), grad_req="null")
    executor.arg_dict["data"][:] = [[3, 4]]
    executor.arg_dict["fc7_weight"][:] = [[2, 0], [0, 5]]
    executor.arg_dict["softmax_label"][:] = 1
    scores = np.array([0.6, math.cos(math.acos(0.8) + 0.5)])
    expected = np.exp(scores) / np.exp(scores).sum()
    np.testing.assert_allclose(executor.forward()[1].asnumpy()[0], expected, rtol=1e-5)


def test_small_images_have_three_stages() -> None:
    symbol = mx.models.resnet(num_classes=10, num_layers=20, image_shape=(3, 32, 32), version=1)
    assert symbol.infer_shape(data=(2, 3, 32, 32))[1] == [(2, 10)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mx.models.vgg(num_layers=12), "vgg: num_layers must be one of 11, 13, 16, 19; got 12"),
        (lambda: mx.models.resnet(version=3), "resnet: version must be 1 or 2; got 3"),
        (lambda: mx.models.squeezenet(version="2"), "squeezenet: version must be '1.0' or '1.1'; got '2'"),
        (lambda: mx.models.resnet(num_layers=21, image_shape=(3, 32, 32)), "must be 6 n [+] 2 below 164"),
        (lambda: mx.models.get("resnet51_v1"), "resnet50_v1"),
    ],
)
def test_mistakes_meet_a_sentence(call, message: str) -> None:
    with pytest.raises(mx.MXNetError, match=message):
        call()


def test_a_checkpoint_is_saved_and_loaded(tmp_path: Path) -> None:
    symbol = mx.models.mlp()
    mx.model.save_checkpoint(str(tmp_path / "mlp"), 0, symbol, {}, {})
    assert mx.model.load_checkpoint(str(tmp_path / "mlp"), 0)[0].list_arguments() == symbol.list_arguments()
