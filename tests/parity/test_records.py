"""Record files and their iterators, compared with what MXNet 1.9.1 wrote and read."""

from __future__ import annotations

import numpy as np
import pytest

import rebind as mx

from .golden import DATA, Pack, read_manifest
from .records import (
    DETECTION,
    DETECTION_DEFAULTS,
    ORDERS,
    PICTURE_DEFAULTS,
    PICTURES,
    first_batch,
    order_of,
    write_all,
    write_blocks,
)

pytest.importorskip("cv2")

RECORDED = read_manifest(DATA / "records.json")
PACK = Pack.read(DATA / "records.npz")

#: Where this OpenCV computes other numbers than the one in MXNet 1.9.1 (3.4.2): the largest difference, and the mean.
OTHER_OPENCV = {
    "cubic": (1, 0.1),
    "by size": (1, 0.1),
    "turned": (5, 0.5),
    "turned by 90": (1, 0.1),
    "stretched": (3, 0.5),
    "smallest": (1, 0.1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    write_all(mx, folder)
    write_blocks(mx, folder)
    return folder


def test_files_have_the_same_bytes(tmp_path):
    assert write_all(mx, tmp_path) == RECORDED["files"]


@pytest.mark.parametrize("name", ORDERS)
def test_samples_come_in_the_same_order(name, folder):
    assert order_of(mx, folder, ORDERS[name]) == RECORDED["orders"][name]


@pytest.mark.filterwarnings("ignore:.*pictures of u?int8:UserWarning")
@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_the_same(name, folder):
    found = first_batch(mx, "ImageRecordIter", folder, {**PICTURE_DEFAULTS, **PICTURES[name]})
    compare(name, found, RECORDED["pictures"][name])


@pytest.mark.parametrize("name", DETECTION)
def test_pictures_with_objects_are_the_same(name, folder):
    found = first_batch(mx, "ImageDetRecordIter", folder, {**DETECTION_DEFAULTS, **DETECTION[name]})
    compare(name, found, RECORDED["detection"][name])


def compare(name, found, recorded):
    data, label = (PACK.get(each) for each in recorded)
    assert np.array_equal(found[1], label)
    assert (found[0].dtype, found[0].shape) == (data.dtype, data.shape)
    difference = np.abs(found[0].astype(np.float64) - data)
    largest, mean = OTHER_OPENCV.get(name, (2e-5, 2e-5))
    assert difference.max() <= largest and difference.mean() <= mean


def test_the_mean_image(folder):
    settings = {**PICTURE_DEFAULTS, **PICTURES["mean image"]}
    first_batch(mx, "ImageRecordIter", folder, settings)
    found = mx.nd.load(str(folder / "mean.bin"))
    assert list(found) == list(RECORDED["mean_img"])
    np.testing.assert_allclose(
        found["mean_img"].asnumpy(), PACK.get(RECORDED["mean_img"]["mean_img"]), rtol=1e-6
    )
