"""`ImageRecordIter` and its kin: chance, positions, threads, mistakes."""

from __future__ import annotations

import gc
import logging
import warnings

import numpy as np
import pytest
import torch

import rebind as mx
from rebind.errors import ArgumentError, FormatError, MXNetError, ParameterError, ShapeError
from rebind.imaging import encode, resize
from rebind.io import ImageDetRecordIter, ImageRecordIter, ImageRecordUInt8Iter
from rebind.recordio import MXIndexedRecordIO, MXRecordIO, pack, pack_img

from ..reading_threads import threads_left

pytest.importorskip("cv2")


def picture(seed):
    return np.random.default_rng(seed).integers(0, 256, (12, 14, 3)).astype(np.uint8)


@pytest.fixture
def path(tmp_path):
    with MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w") as record:
        for i in range(10):
            record.write_idx(i, pack_img((0, i, i + 100, 0), picture(i), img_fmt=".png"))
    return str(tmp_path / "a.rec")


@pytest.fixture
def boxes(tmp_path):
    with MXRecordIO(tmp_path / "boxes.rec", "w") as record:
        for i in range(10):
            label = [2, 5, *(v for k in range(1 + i % 3) for v in (k, 0.1 * k, 0.2, 0.5 + 0.1 * k, 0.8))]
            record.write(pack_img((0, label, i, 0), picture(i), img_fmt=".png"))
    return str(tmp_path / "boxes.rec")


def iterator(path, **settings):
    return ImageRecordIter(
        **{"path_imgrec": path, "data_shape": (3, 8, 8), "batch_size": 4, "verbose": False, **settings}
    )


def epoch(batches):
    return [(batch.data[0].asnumpy(), batch.label[0].asnumpy(), batch.pad) for batch in batches]


def same(first, second):
    return len(first) == len(second) and all(
        np.array_equal(a, b) for one, other in zip(first, second) for a, b in zip(one, other)
    )


#: Every kind of augmentation that is left to chance, by itself and all together.
CHANCE = [
    {"rand_crop": True},
    {"rand_mirror": True},
    {"random_resized_crop": True, "min_random_area": 0.2, "max_random_area": 0.8, "max_aspect_ratio": 0.2},
    {"max_rotate_angle": 40},
    {"max_shear_ratio": 0.3},
    {"min_random_scale": 0.8, "max_random_scale": 1.4},
    {"max_aspect_ratio": 0.4},
    {"min_crop_size": 5, "max_crop_size": 11, "rand_crop": True},
    {"brightness": 0.4},
    {"contrast": 0.4},
    {"saturation": 0.4},
    {"pca_noise": 0.3},
    {"random_h": 50},
    {"random_s": 50},
    {"random_l": 50},
    {"resize": 20, "inter_method": 10},
    {"max_random_contrast": 0.3},
    {"max_random_illumination": 20},
    {"rand_crop": True, "rand_mirror": True, "max_rotate_angle": 10, "brightness": 0.2, "contrast": 0.2,
     "saturation": 0.2, "pca_noise": 0.1, "random_h": 9, "random_s": 9, "random_l": 9, "max_random_contrast": 0.1},
]  # fmt: skip


@pytest.mark.parametrize("settings", CHANCE)
def test_chance_differs_by_epoch_and_seed_and_comes_again(settings, path):
    mx.random.seed(1)
    first = iterator(path, batch_size=5, preprocess_threads=1, **settings)
    one = epoch(first)
    first.reset()
    two = epoch(first)
    assert not same(one, two)
    again = iterator(path, batch_size=5, preprocess_threads=3, prefetch_buffer=0, **settings)
    assert same(epoch(again), one)
    again.reset()
    assert same(epoch(again), two)
    assert not same(epoch(iterator(path, batch_size=5, seed=1, **settings)), one)
    mx.random.seed(2)
    assert not same(epoch(iterator(path, batch_size=5, **settings)), one)
    aug = [epoch(iterator(path, batch_size=5, seed_aug=3, **settings)) for _ in range(2)]
    mx.random.seed(5)
    assert same(*aug) and same(aug[0], epoch(iterator(path, batch_size=5, seed_aug=3, **settings)))


@pytest.mark.parametrize(
    "settings", [{}, {"shuffle": True}, {"round_batch": False}, {"shuffle": True, "indexed": True}]
)
@pytest.mark.parametrize("done", [0, 1, 3, 4])
def test_positions_are_saved(settings, done, path):
    settings = {
        **settings,
        **({"path_imgidx": path.replace(".rec", ".idx")} if "indexed" in settings else {}),
    }
    settings.pop("indexed", None)
    first, second = (iterator(path, rand_crop=True, batch_size=3, **settings) for _ in range(2))
    epoch(first)
    first.reset()
    for _, _batch in zip(range(done), first):
        pass
    second.load_state_dict(first.state_dict())
    for _ in range(3):
        assert same(epoch(first), epoch(second))
        first.reset()
        second.reset()


def test_what_a_batch_has(path):
    batches = iterator(path, batch_size=3, data_name="picture", label_name="kind")
    assert [(d.name, d.shape, d.dtype) for d in batches.provide_data] == [
        ("picture", (3, 3, 8, 8), np.float32)
    ]
    assert [(d.name, d.shape) for d in batches.provide_label] == [("kind", (3,))]
    batch = batches.next()
    assert batch.index.tolist() == [100, 101, 102] and batch.pad == 0
    assert [batch.pad for batch in batches] == [0, 0, 2]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "uint8"])
def test_types(dtype, path):
    batches = iterator(path, dtype=dtype, prefetch_buffer=0)
    array = batches.next().data[0]
    assert str(array.tensor.dtype) == f"torch.{dtype}" and batches.provide_data[0].shape == (4, 3, 8, 8)
    expected = iterator(path).next().data[0].tensor
    assert torch.equal(array.tensor, expected.to(array.tensor.dtype))


def test_parameters_as_text(path):
    batches = iterator(path, data_shape="(3, 8, 8)", batch_size="2", shuffle="False", scale="0.5")
    assert np.array_equal(
        batches.next().data[0].asnumpy(), iterator(path, batch_size=2).next().data[0].asnumpy() / 2
    )


def test_what_is_read_is_logged(path, caplog):
    with caplog.at_level(logging.INFO):
        iterator(path, verbose=True)
    assert "a.rec, 4 threads decode." in caplog.text


def test_memory_is_not_used_again_while_somebody_has_it(path):
    batches = iterator(path, batch_size=1)
    held = [batch.data[0] for batch in batches]
    values = [each.asnumpy().copy() for each in held]
    for _ in range(3):
        batches.reset()
        epoch(batches)
    assert all(np.array_equal(a.asnumpy(), b) for a, b in zip(held, values))


@pytest.mark.parametrize("seen", [0, 1, 2])
def test_nothing_runs_on_after_an_iterator_is_dropped(seen, path):
    batches = iterator(path, batch_size=1)
    for _, _batch in zip(range(seen), batches):
        pass
    del batches
    gc.collect()
    assert not threads_left()


@pytest.fixture
def broken(tmp_path):
    """A picture that does not decode among others."""
    with MXRecordIO(tmp_path / "broken.rec", "w") as record:
        for i in range(6):
            content = b"no picture" if i == 3 else encode(picture(i), ".png")
            record.write(pack((0, i, i + 40, 0), content))
    return str(tmp_path / "broken.rec")


@pytest.mark.parametrize("prefetch_buffer", [0, 4])
def test_a_picture_that_does_not_decode(prefetch_buffer, broken):
    batches = iterator(broken, batch_size=2, prefetch_buffer=prefetch_buffer)
    assert batches.next().label[0].asnumpy().tolist() == [0, 1]
    for _ in range(2 if prefetch_buffer else 1):
        with pytest.raises(
            FormatError, match=r"record 43 \(record at byte \d+ of '.*broken.rec'\) must hold an image"
        ):
            batches.next()
    del batches
    gc.collect()
    assert not threads_left()


def test_pictures_that_do_not_decode_are_left_out_when_asked(broken):
    batches = iterator(broken, batch_size=2, skip_broken=True, prefetch_buffer=0)
    with pytest.warns(UserWarning, match=r"record 43 .* It is left out \(1 so far\)"):
        labels = [batch.label[0].asnumpy().tolist() for batch in batches]
    assert labels == [[0, 1], [2, 2], [4, 5]]
    assert len(batches.broken) == 1 and "record 43" in batches.broken[0]


def test_a_batch_without_a_good_picture(tmp_path):
    with MXRecordIO(tmp_path / "bad.rec", "w") as record:
        record.write(pack((0, 1, 2, 0), b"no picture"))
    with pytest.raises(
        FormatError, match="must have a picture that decodes; got none, the first error: record 2"
    ):
        iterator(str(tmp_path / "bad.rec"), skip_broken=True).next()


def test_a_truncated_file(path):
    with open(path, "r+b") as file:
        file.truncate(file.seek(0, 2) - 40)
    with pytest.raises(
        FormatError, match=r"a.rec' must have a record of \d+ bytes at byte \d+; got \d+ until the end"
    ):
        epoch(iterator(path))


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        ({"path_imgrec": "none.rec"}, FileNotFoundError, "the record file 'none.rec' must exist"),
        ({"path_imgrec": ""}, FileNotFoundError, "path_imgrec must name a record file; got ''"),
        (
            {"data_shape": (3, 8)},
            ParameterError,
            r"ImageRecordIter: data_shape must be \(channels.*; got \(3, 8\)",
        ),
        ({"data_shape": (2, 8, 8)}, ParameterError, r"with 1, 3 or 4 channels; got \(2, 8, 8\)"),
        ({"batch_size": 0}, ParameterError, "ImageRecordIter: batch_size must be an int >= 1; got 0"),
        ({"part_index": 2, "num_parts": 2}, ParameterError, "part_index must be in 0..1"),
        ({"inter_method": 5}, ParameterError, "inter_method must be 0, 1, 2, 3, 4, 9 or 10; got 5"),
        (
            {"min_random_scale": 2},
            ParameterError,
            r"min_random_scale must be <= max_random_scale; got 2.0 and 1.0",
        ),
        ({"aug_seq": "mine"}, ParameterError, "aug_seq must be one of 'aug_default', ''; got 'mine'"),
        ({"brightness": 1, "data_shape": (1, 8, 8)}, ParameterError, "need pictures of 3 channels"),
        ({"label_width": 2}, ShapeError, r"record 100 \(.*must have 2 labels, for label_width=2; got 1"),
        (
            {"aug_seq": ""},
            ShapeError,
            "must have height 8 and width 8, since nothing resizes or crops it; got 12 and 14",
        ),
        ({"data_shape": (4, 8, 8)}, ShapeError, "must have 4 channels"),
        ({"min_crop_size": 13, "max_crop_size": 13}, ShapeError, "must be at least 13 wide and high"),
        ({"dtype": "complex"}, ParameterError, "dtype must be a dtype"),
    ],
)
def test_mistakes(settings, error, says, path):
    with pytest.raises(error, match=says) as caught:
        epoch(iterator(path, **settings))
    assert isinstance(caught.value, MXNetError)


def test_a_parameter_that_there_is_not(path):
    with pytest.warns(
        UserWarning, match="no parameter 'rand_mirorr', so it has no effect; did you mean 'rand_mirror'"
    ):
        iterator(path, rand_mirorr=True)
    with pytest.raises(ArgumentError, match="path_imgrec, batch_size must be given; got data_shape"):
        ImageRecordIter(data_shape=(3, 8, 8))


def test_a_list_without_a_record(path, tmp_path):
    (tmp_path / "a.lst").write_text("100\t5\ta.png\n102\t7\tb.png\n")
    with pytest.raises(
        MXNetError, match=r"a.lst' must have a line for every record; got none for number 101"
    ):
        epoch(iterator(path, path_imglist=str(tmp_path / "a.lst")))


def test_a_mean_image_of_another_size(path, tmp_path):
    mean = str(tmp_path / "mean.bin")
    before = iterator(path, mean_img=mean).next().data[0].asnumpy()
    assert np.abs(before.mean()) < 60
    with pytest.raises(ShapeError, match=r"must have shape \(3, 6, 6\), that of data_shape; got \(3, 8, 8\)"):
        iterator(path, mean_img=mean, data_shape=(3, 6, 6))


def test_uint8_ignores_normalization(path):
    with pytest.warns(UserWarning, match="ImageRecordUInt8Iter: pictures of uint8 are not normalized"):
        ImageRecordUInt8Iter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=2, mean_r=3, verbose=False)


def test_a_program_trains(path):
    data = iterator(path, rand_crop=True, scale=1 / 255)
    net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=10), name="softmax")
    module = mx.mod.Module(net)
    module.fit(data, num_epoch=2, optimizer_params={"learning_rate": 0.1})
    assert module.score(data, "acc")[0][0] == "accuracy"


DET_CHANCE = [
    {"rand_mirror_prob": 0.5},
    {"rand_pad_prob": 0.9, "max_pad_scale": 3.0},
    {"rand_crop_prob": 0.9, "min_crop_scales": 0.4, "max_crop_scales": 0.9, "min_crop_overlaps": 0.1},
    {"rand_crop_prob": 1.0, "num_crop_sampler": 2, "min_crop_scales": (0.5, 0.3), "max_crop_scales": 1.0,
     "min_crop_aspect_ratios": 0.5, "max_crop_aspect_ratios": 2.0, "crop_emit_mode": "overlap"},
    {"random_hue_prob": 0.7, "max_random_hue": 40},
    {"random_saturation_prob": 0.7, "max_random_saturation": 40},
    {"random_illumination_prob": 0.7, "max_random_illumination": 40},
    {"random_contrast_prob": 0.7, "max_random_contrast": 0.5},
]  # fmt: skip


@pytest.mark.parametrize("settings", DET_CHANCE)
def test_chance_in_detection(settings, boxes):
    def made(**more):
        given = {
            "path_imgrec": boxes,
            "data_shape": (3, 8, 8),
            "batch_size": 5,
            "verbose": False,
            **settings,
            **more,
        }
        return ImageDetRecordIter(**given)

    first = made()
    one = epoch(first)
    first.reset()
    assert not same(one, epoch(first))
    assert same(one, epoch(made(preprocess_threads=1))) and not same(one, epoch(made(seed_aug=9)))
    for _, labels, _ in one:
        assert labels.shape == (5, 4 + 17)
        for row in labels:
            objects = row[6 : 4 + int(row[3])].reshape(-1, 5)
            assert len(objects) and (objects[:, 1:] >= 0).all() and (objects[:, 1:] <= 1).all()
            assert (objects[:, 1] < objects[:, 3]).all() and (objects[:, 2] < objects[:, 4]).all()
            assert (row[4 + int(row[3]) :] == -1).all()


@pytest.mark.parametrize(
    ("settings", "error", "says"),
    [
        (
            {"label_pad_width": 5},
            ParameterError,
            "label_pad_width must be at least 17, the most labels .*; got 5",
        ),
        ({"label_width": 7}, ShapeError, "record 1 .* must have 7 labels, for label_width=7; got 12"),
        (
            {"min_crop_scales": (0.1, 0.2, 0.3)},
            ParameterError,
            "must have 1 or num_crop_sampler=1 numbers",
        ),
        (
            {"min_crop_scales": 0.9, "max_crop_scales": 0.1},
            ParameterError,
            "min_crop_scales must be <= max_crop_scales",
        ),
        (
            {"aug_seq": ""},
            ShapeError,
            "must be at most 8 wide and 8 high, since nothing resizes it; got 14 and 12",
        ),
        (
            {"resize_mode": "grow"},
            ParameterError,
            "resize_mode must be one of 'fit', 'force', 'shrink'; got 'grow'",
        ),
    ],
)
def test_mistakes_in_detection(settings, error, says, boxes):
    with pytest.raises(error, match=says):
        epoch(
            ImageDetRecordIter(
                path_imgrec=boxes, data_shape=(3, 8, 8), batch_size=5, verbose=False, **settings
            )
        )


def test_labels_without_objects(path):
    with pytest.raises(ShapeError, match=r"record 100 .* must have a label of objects: .*; got \[0.0\]"):
        epoch(ImageDetRecordIter(path_imgrec=path, data_shape=(3, 8, 8), batch_size=5, verbose=False))


def test_decoding_at_reduced_size(tmp_path):
    large = resize(picture(0), 300, 200, 1)
    with MXRecordIO(tmp_path / "large.rec", "w") as record:
        record.write(pack_img((0, 0, 0, 0), large))
    settings = {"batch_size": 1, "resize": 40, "data_shape": (3, 32, 32), "inter_method": 3}
    whole, reduced = (
        iterator(str(tmp_path / "large.rec"), reduced_decode=flag, **settings).next().data[0].asnumpy()
        for flag in (False, True)
    )
    assert not np.array_equal(whole, reduced) and np.abs(whole - reduced).mean() < 3


def test_no_warning_of_ours_by_default(path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        epoch(iterator(path, rand_crop=True, mean_r=3))
