"""What `getdata` and `getlabel` return: the kinds of MXNet 1.9.1, which answers one array where it reads files."""

import numpy as np
import pytest

import rebind as mx
from rebind.recordio import MXRecordIO, pack_img

from .files import write, write_idx


def csv(folder):
    path = write(folder / "a.csv", "1,2\n3,4\n5,6\n7,8\n")
    return mx.io.CSVIter(data_csv=path, data_shape=(2,), batch_size=2)


def libsvm(folder):
    return mx.io.LibSVMIter(
        data_libsvm=write(folder / "a.libsvm", "1 0:1\n2 1:1\n"), data_shape=(2,), batch_size=2
    )


def mnist(folder):
    image, label = write_idx(folder / "image", np.ones((4, 2, 2))), write_idx(folder / "label", np.ones(4))
    return mx.io.MNISTIter(image=image, label=label, batch_size=2)


def record(kind, label=1.0):
    def made(folder):
        with MXRecordIO(folder / "a.rec", "w") as file:
            for _ in range(4):
                file.write(pack_img((0, label, 0, 0), np.zeros((8, 8, 3), np.uint8), img_fmt=".png"))
        return getattr(mx.io, kind)(path_imgrec=str(folder / "a.rec"), data_shape=(3, 4, 4), batch_size=2)

    return made


def arrays(folder):
    return mx.io.NDArrayIter(np.ones((4, 2)), np.ones(4), 2)


OBJECT = [2, 5, 7, 0.0, 0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("made", "shapes"),
    [
        (csv, [(2, 2), (2,)]),
        (libsvm, [(2, 2), (2,)]),
        (mnist, [(2, 1, 2, 2), (2,)]),
        (record("ImageRecordIter"), [(2, 3, 4, 4), (2,)]),
        (record("ImageRecordIter_v1"), [(2, 3, 4, 4), (2,)]),
        (record("ImageRecordUInt8Iter"), [(2, 3, 4, 4), (2,)]),
        (record("ImageRecordUInt8Iter_v1"), [(2, 3, 4, 4), (2,)]),
        (record("ImageRecordInt8Iter"), [(2, 3, 4, 4), (2,)]),
        (record("ImageDetRecordIter", OBJECT), [(2, 3, 4, 4), (2, 11)]),
        (arrays, None),
        (lambda folder: mx.io.ResizeIter(csv(folder), 2), None),
        (lambda folder: mx.io.PrefetchingIter(csv(folder)), None),
    ],
)
def test_getters_return_an_array_where_files_are_read_and_a_list_elsewhere(made, shapes, tmp_path):
    batches = made(tmp_path)
    assert batches.iter_next()
    found = batches.getdata(), batches.getlabel()
    if shapes is None:
        assert [(type(each), len(each)) for each in found] == [(list, 1)] * 2
    else:
        assert all(isinstance(each, mx.nd.NDArray) for each in found)
        assert [each.shape for each in found] == shapes
    batches.reset()
    assert isinstance(batches.next().data, list)  # of a batch it is a list, whatever the iterator


BOUNDS = [
    f"{end}_crop_{name}"
    for end in ("min", "max")
    for name in ("scales", "aspect_ratios", "overlaps", "sample_coverages", "object_coverages")
]


@pytest.mark.parametrize("name", [*BOUNDS, "max_crop_trials"])
@pytest.mark.parametrize("value", [(9, 9, 9), (-2,), (9,)])
def test_without_samplers_nothing_of_theirs_is_read(name, value, tmp_path):
    record("ImageDetRecordIter", OBJECT)(tmp_path).close()
    given = {"path_imgrec": str(tmp_path / "a.rec"), "data_shape": (3, 4, 4), "batch_size": 2, name: value}
    for samplers in (0, -1):
        batches = mx.io.ImageDetRecordIter(**given, num_crop_sampler=samplers, rand_crop_prob=0.5)
        assert batches.next().data[0].shape == (2, 3, 4, 4)
        batches.close()
    if len(value) == 3:
        with pytest.raises(mx.MXNetError, match=rf"{name} must have 1 or num_crop_sampler=2 numbers"):
            mx.io.ImageDetRecordIter(**given, num_crop_sampler=2)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"max_crop_scales": 9}, r"min_crop_scales and max_crop_scales must be >= 0 and <= 1; got"),
        ({"min_crop_scales": -2}, r"min_crop_scales and max_crop_scales must be >= 0 and <= 1; got"),
        (
            {"min_crop_aspect_ratios": -2},
            r"max_crop_aspect_ratios must be >= 0; got \(-2\.0,\) and \(1\.0,\)",
        ),
        ({"max_crop_overlaps": -2}, r"min_crop_overlaps must be <= max_crop_overlaps"),
        ({"max_crop_overlaps": 9, "min_crop_overlaps": -2}, None),  # MXNet 1.9.1 takes them
        ({"max_crop_object_coverages": 9, "min_crop_sample_coverages": -2}, None),
        ({"max_crop_trials": -3}, None),
        ({"max_pad_scale": 0.1, "rand_pad_prob": 0.5}, None),
    ],
)
def test_bounds_of_samplers_are_those_of_mxnet(given, says, tmp_path):
    record("ImageDetRecordIter", OBJECT)(tmp_path).close()
    whole = {"path_imgrec": str(tmp_path / "a.rec"), "data_shape": (3, 4, 4), "batch_size": 2, **given}
    if says is None:
        assert mx.io.ImageDetRecordIter(**whole, rand_crop_prob=0.5).next().data[0].shape == (2, 3, 4, 4)
    else:
        with pytest.raises(mx.MXNetError, match=says):
            mx.io.ImageDetRecordIter(**whole)


@pytest.mark.parametrize("root", ["", ".", "nowhere"])
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", ["ImageIter", "ImageDetIter"])
def test_the_folder_of_pictures(kind, whole, root, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    picture = pack_img((0, 0, 0, 0), np.zeros((8, 8, 3), np.uint8), img_fmt=".png")
    (tmp_path / "a.png").write_bytes(mx.recordio.unpack(picture)[1])
    label = 1.0 if kind == "ImageIter" else np.array(OBJECT)
    listed = [[label, str(tmp_path / "a.png") if whole else "a.png"]]
    make = getattr(mx.image, kind)
    if root == "nowhere" and not whole:
        with pytest.raises(FileNotFoundError, match="path_root='nowhere' must exist"):
            make(1, (3, 4, 4), imglist=listed, path_root=root)
    else:
        assert make(1, (3, 4, 4), imglist=listed, path_root=root).next().data[0].shape == (1, 3, 4, 4)
