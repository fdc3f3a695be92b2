"""Mistakes with iterators, pictures and record files."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import rebind as mx
from rebind import nd

from .things import FOLDER, batches, picture

MISTAKES: dict[str, tuple[Callable[[], object], str]] = {
    "io: data number": (
        lambda: mx.io.NDArrayIter(3),
        "NDArrayIter: data 'data' must be a NumPy array or an NDArray; got int",
    ),
    "io: data text": (
        lambda: mx.io.NDArrayIter("data.npy"),
        "NDArrayIter: data 'data' must be a NumPy array or an NDArray; got str",
    ),
    "io: data None": (
        lambda: mx.io.NDArrayIter(None),
        "NDArrayIter: data must be an array, a list or a dict of arrays; got none",
    ),
    "io: data list lists": (
        lambda: mx.io.NDArrayIter([[1, 2], [3, 4]]),
        "NDArrayIter: data '_0_data' must be a NumPy array or an NDArray; got list",
    ),
    "io: data lengths": (
        lambda: batches(label=np.zeros(5)),
        "NDArrayIter: all arrays must have the same number of samples; got {'data': 8, 'softmax_label': 5}",
    ),
    "io: batch_size float": (
        lambda: batches(batch_size=2.5),
        "NDArrayIter: batch_size must be an int >= 1; got 2.5",
    ),
    "io: batch_size None": (
        lambda: batches(batch_size=None),
        "NDArrayIter: batch_size must be an int >= 1; got None",
    ),
    "io: batch_size tuple": (
        lambda: batches(batch_size=(4,)),
        "NDArrayIter: batch_size must be an int >= 1; got (4,)",
    ),
    "io: Resize number": (
        lambda: mx.io.ResizeIter(3, 2),
        "ResizeIter: data_iter must be an iterator, with next() and provide_data; got 3",
    ),
    "io: Resize float": (
        lambda: mx.io.ResizeIter(batches(), 2.5),
        "ResizeIter: size must be an int >= 0; got 2.5",
    ),
    "io: Resize negative": (
        lambda: mx.io.ResizeIter(batches(), -1),
        "ResizeIter: size must be an int >= 0; got -1",
    ),
    "io: Resize None": (
        lambda: mx.io.ResizeIter(batches(), None),
        "ResizeIter: size must be a number; got None",
    ),
    "io: Prefetch number": (
        lambda: mx.io.PrefetchingIter(3),
        "PrefetchingIter: iters must be an iterator or a list of them; got 3",
    ),
    "io: Prefetch item": (
        lambda: mx.io.PrefetchingIter([3]),
        "PrefetchingIter: iters[0] must be an iterator, with next() and provide_data; got 3",
    ),
    "io: Prefetch rename": (
        lambda: mx.io.PrefetchingIter(batches(), rename_data="x").provide_data,
        "PrefetchingIter: rename_data must be a list with a dict for ... got the text 'x'",
    ),
    "io: Prefetch rename length": (
        lambda: mx.io.PrefetchingIter(batches(), rename_data=[{}, {}]).provide_data,
        "PrefetchingIter: rename_data must have a dict for each of 1 iterators; got 2",
    ),
    "io: CSV shape missing": (
        lambda: mx.io.CSVIter(data_csv=FOLDER + "/a.csv", batch_size=2),
        "CSVIter: data_shape must be given; got data_csv, batch_size",
    ),
    "io: CSV shape text": (
        lambda: mx.io.CSVIter(data_csv=FOLDER + "/a.csv", data_shape="three", batch_size=2),
        "CSVIter: data_shape must be a tuple of ints >= 1; got 'three'",
    ),
    "io: CSV batch text": (
        lambda: mx.io.CSVIter(data_csv=FOLDER + "/a.csv", data_shape=(3,), batch_size="two"),
        "CSVIter: batch_size must be an int >= 1; got 'two'",
    ),
    "io: CSV batch zero": (
        lambda: mx.io.CSVIter(data_csv=FOLDER + "/a.csv", data_shape=(3,), batch_size=0),
        "CSVIter: batch_size must be an int >= 1; got 0",
    ),
    "io: CSV path number": (
        lambda: mx.io.CSVIter(data_csv=3, data_shape=(3,), batch_size=1),
        "CSVIter: data_csv must be a string; got 3",
    ),
    "io: LibSVM shape missing": (
        lambda: mx.io.LibSVMIter(data_libsvm=FOLDER + "/a.csv", batch_size=2),
        "LibSVMIter: data_shape must be given; got data_libsvm, batch_size",
    ),
    "io: MNIST image number": (
        lambda: mx.io.MNISTIter(image=3, label=4),
        "MNISTIter: image must be a string; got 3",
    ),
    "io: Record shape": (
        lambda: mx.io.ImageRecordIter(path_imgrec=FOLDER + "/a.rec", data_shape=(3, 2), batch_size=1),
        "ImageRecordIter: data_shape must be (channels, height, width), with 1, 3 or 4 channels; got (3, 2)",
    ),
    "io: Record path none": (
        lambda: mx.io.ImageRecordIter(data_shape=(3, 2, 2), batch_size=1),
        "ImageRecordIter: path_imgrec must be given; got data_shape, batch_size",
    ),
    "io: Record batch": (
        lambda: mx.io.ImageRecordIter(path_imgrec=FOLDER + "/a.rec", data_shape=(3, 2, 2), batch_size="x"),
        "ImageRecordIter: batch_size must be an int >= 1; got 'x'",
    ),
    "io: DataDesc shape": (
        lambda: mx.io.DataDesc("x", "ab"),
        "DataDesc 'x': shape must be an int or a sequence of ints; got 'ab'",
    ),
    "io: DataBatch array": (
        lambda: mx.io.DataBatch(nd.ones((4, 4))),
        "DataBatch: data must be a list of arrays; got NDArray. Put a single array in brackets.",
    ),
    "io: DataBatch label array": (
        lambda: mx.io.DataBatch([nd.ones((4, 4))], nd.ones((4,))),
        "DataBatch: label must be a list of arrays; got NDArray. Put a single array in brackets.",
    ),
    "io: get_batch_axis": (
        lambda: mx.io.DataDesc.get_batch_axis(3),
        "DataDesc.get_batch_axis: layout must be text or None; got 3",
    ),
    "image: imresize text": (
        lambda: mx.image.imresize(picture(), "a", 3),
        "imresize: w must be an int >= 1; got 'a'",
    ),
    "image: imresize zero": (
        lambda: mx.image.imresize(picture(), 0, 3),
        "imresize: w must be an int >= 1; got 0",
    ),
    "image: imresize float": (
        lambda: mx.image.imresize(picture(), 2.5, 3),
        "imresize: w must be an int >= 1; got 2.5",
    ),
    "image: imresize interp": (
        lambda: mx.image.imresize(picture(), 2, 3, interp=77),
        "imresize: interp must be 0 to 4; got 77",
    ),
    "image: imresize list": (
        lambda: mx.image.imresize([1, 2], 2, 3),
        "imresize: src must be an NDArray; got list. Convert it with mx.nd.array(src, dtype='uint8').",
    ),
    "image: imread": (lambda: mx.image.imread(3), "imread: filename must be a path; got 3"),
    "image: imdecode number": (
        lambda: mx.image.imdecode(3),
        "imdecode: buf must be bytes, a bytearray or an array of uint8; got int",
    ),
    "image: imdecode path": (
        lambda: mx.image.imdecode("picture.jpg"),
        "imdecode: buf must be bytes, a bytearray or an array of uint8; got str",
    ),
    "image: imdecode garbage": (
        lambda: mx.image.imdecode(b"garbage"),
        "image.imdecode: buf must hold an image that OpenCV can decode; got 7 bytes that begin with",
    ),
    "image: resize_short text": (
        lambda: mx.image.resize_short(picture(), "a"),
        "resize_short: size must be an int >= 1; got the text 'a'",
    ),
    "image: random_crop int": (
        lambda: mx.image.random_crop(picture(), 3),
        "random_crop: size must be a width and a height; got 3",
    ),
    "image: center_crop text": (
        lambda: mx.image.center_crop(picture(), "ab"),
        "center_crop: size must be a width and a height; got the text 'ab'",
    ),
    "image: random_size_crop area": (
        lambda: mx.image.random_size_crop(picture(), (4, 4), "a", (0.5, 1)),
        "random_size_crop: area must be a number or a range of two numbers or None; got the text 'a'",
    ),
    "image: ResizeAug text": (
        lambda: mx.image.ResizeAug("a"),
        "ResizeAug: size must be an int >= 1; got the text 'a'",
    ),
    "image: RandomCropAug int": (
        lambda: mx.image.RandomCropAug(3),
        "RandomCropAug: size must be a width and a height; got 3",
    ),
    "image: RandomCropAug one": (
        lambda: mx.image.CenterCropAug((3,)),
        "CenterCropAug: size must be a width and a height; got (3,)",
    ),
    "image: ForceResizeAug": (
        lambda: mx.image.ForceResizeAug(3),
        "ForceResizeAug: size must be a width and a height; got 3",
    ),
    "image: ColorJitterAug": (
        lambda: mx.image.ColorJitterAug("a", 0, 0),
        "ColorJitterAug: brightness must be a number; got the text 'a'",
    ),
    "image: BrightnessJitterAug": (
        lambda: mx.image.BrightnessJitterAug("0.1"),
        "BrightnessJitterAug: brightness must be a number; got the text '0.1'",
    ),
    "image: HorizontalFlipAug": (
        lambda: mx.image.HorizontalFlipAug("half"),
        "HorizontalFlipAug: p must be a number; got the text 'half'",
    ),
    "image: CastAug": (
        lambda: mx.image.CastAug("flaot32"),
        "CastAug: typ must be one of float32, float64, float16, ... got 'flaot32'; did you mean",
    ),
    "image: ColorNormalizeAug": (
        lambda: mx.image.ColorNormalizeAug("a", None),
        "ColorNormalizeAug: mean must be an array with a number for ... got the text 'a'",
    ),
    "image: RandomOrderAug": (lambda: mx.image.RandomOrderAug(3), "RandomOrderAug: ts must be a list; got 3"),
    "image: SequentialAug": (
        lambda: mx.image.SequentialAug([3]),
        "SequentialAug: ts[0] must be a function; got 3",
    ),
    "image: CreateAugmenter shape": (
        lambda: mx.image.CreateAugmenter(3),
        "CreateAugmenter: data_shape must be a list; got 3",
    ),
    "image: CreateAugmenter mean": (
        lambda: mx.image.CreateAugmenter((3, 4, 4), mean="a"),
        "CreateAugmenter: mean must be True, for ImageNet's, or an ... got 'a'",
    ),
    "image: CreateAugmenter resize": (
        lambda: mx.image.CreateAugmenter((3, 4, 4), resize="a"),
        "CreateAugmenter: resize must be a number; got the text 'a'",
    ),
    "image: CreateAugmenter brightness": (
        lambda: mx.image.CreateAugmenter((3, 4, 4), brightness="a"),
        "CreateAugmenter: brightness must be a number; got the text 'a'",
    ),
    "image: ImageIter no source": (
        lambda: mx.image.ImageIter(2, (3, 4, 4)),
        "ImageIter: path_imgrec, path_imglist or imglist must be given; got none",
    ),
    "image: ImageIter shape": (
        lambda: mx.image.ImageIter(2, (3, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER),
        "ImageIter: data_shape must have length 3, with dimensions CxHxW; got (3, 4)",
    ),
    "image: ImageIter batch": (
        lambda: mx.image.ImageIter(0, (3, 4, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER),
        "ImageIter: batch_size must be >= 1; got 0",
    ),
    "image: ImageIter imglist": (
        lambda: mx.image.ImageIter(2, (3, 4, 4), imglist="a.lst", path_root=FOLDER),
        "ImageIter: imglist must be a list or None; got the text 'a.lst'",
    ),
    "image: ImageIter aug": (
        lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER, aug_list=3),
        "ImageIter: aug_list must be a list or None; got 3",
    ),
    "image: ImageIter part": (
        lambda: mx.image.ImageIter(
            2, (3, 4, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER, num_parts=2, part_index=5
        ),
        "ImageIter: part_index must be >= 0 and < num_parts, 2; got 5",
    ),
    "image: ImageIter lbh": (
        lambda: mx.image.ImageIter(
            2, (3, 4, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER, last_batch_handle="padd"
        ),
        "ImageIter: last_batch_handle must be one of 'pad', 'discard', 'roll_over'; got 'padd'",
    ),
    "rec: flag": (
        lambda: mx.recordio.MXRecordIO(FOLDER + "/a.rec", "x"),
        "MXRecordIO: flag must be 'r' or 'w'; got 'x'",
    ),
    "rec: flag rb": (
        lambda: mx.recordio.MXRecordIO(FOLDER + "/a.rec", "rb"),
        "MXRecordIO: flag must be 'r' or 'w'; got 'rb'",
    ),
    "rec: uri": (lambda: mx.recordio.MXRecordIO(3, "w"), "MXRecordIO: uri must be a path; got 3"),
    "rec: write text": (
        lambda: mx.recordio.MXRecordIO(FOLDER + "/b.rec", "w").write("text"),
        "write: a record must be bytes; got str. Encode text with .encode(), and an array with",
    ),
    "rec: write number": (
        lambda: mx.recordio.MXRecordIO(FOLDER + "/b.rec", "w").write(3),
        "write: a record must be bytes; got int. Encode text with .encode(), and an array with",
    ),
    "rec: write None": (
        lambda: mx.recordio.MXRecordIO(FOLDER + "/b.rec", "w").write(None),
        "write: a record must be bytes; got NoneType. Encode text with .encode(), and an array with",
    ),
    "rec: read writer": (
        lambda: mx.recordio.MXRecordIO(FOLDER + "/b.rec", "w").read(),
        "MXRecordIO:  ...  must be open for reading; it is being written",
    ),
    "rec: write_idx key": (
        lambda: mx.recordio.MXIndexedRecordIO(FOLDER + "/c.idx", FOLDER + "/c.rec", "w").write_idx("a", b"x"),
        "MXIndexedRecordIO: idx must be a key of type int; got 'a'",
    ),
    "rec: write_idx buf": (
        lambda: mx.recordio.MXIndexedRecordIO(FOLDER + "/c.idx", FOLDER + "/c.rec", "w").write_idx(1, 5),
        "write: a record must be bytes; got int. Encode text with .encode(), and an array with",
    ),
    "rec: read_idx missing": (
        lambda: (
            mx.recordio.MXIndexedRecordIO(FOLDER + "/d.idx", FOLDER + "/d.rec", "w").close(),
            mx.recordio.MXIndexedRecordIO(FOLDER + "/d.idx", FOLDER + "/d.rec", "r").read_idx(9),
        ),
        '"MXIndexedRecordIO:  ...  has no key 9."',
    ),
    "rec: key_type": (
        lambda: mx.recordio.MXIndexedRecordIO(FOLDER + "/c.idx", FOLDER + "/c.rec", "w", key_type="int"),
        "MXIndexedRecordIO: key_type must be a function; got the text 'int'",
    ),
    "rec: pack header": (
        lambda: mx.recordio.pack("x", b"a"),
        "recordio.pack: header must be an IRHeader: flag, label, id and id2; got the text 'x'",
    ),
    "rec: pack short header": (
        lambda: mx.recordio.pack((0, 1.0), b"a"),
        "recordio.pack: header must be an IRHeader: flag, label, id and id2; got (0, 1.0)",
    ),
    "rec: pack label text": (
        lambda: mx.recordio.pack(mx.recordio.IRHeader(0, "a", 0, 0), b"a"),
        "recordio.pack: header must have a label of numbers, and an id ... got (0, 'a', 0, 0)",
    ),
    "rec: pack s number": (
        lambda: mx.recordio.pack(mx.recordio.IRHeader(0, 1.0, 0, 0), 3),
        "recordio.pack: s must be bytes; got int. Pack a picture that is an array with pack_img.",
    ),
    "rec: pack s text": (
        lambda: mx.recordio.pack(mx.recordio.IRHeader(0, 1.0, 0, 0), "a"),
        "recordio.pack: s must be bytes; got str. Pack a picture that is an array with pack_img.",
    ),
    "rec: unpack text": (
        lambda: mx.recordio.unpack("x" * 30),
        "recordio.unpack: s must be bytes; got the text 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'",
    ),
    "rec: unpack short": (
        lambda: mx.recordio.unpack(b"x"),
        "recordio.unpack: a packed record must have at least the 24 bytes of its header; got 1",
    ),
    "rec: pack_img quality": (
        lambda: mx.recordio.pack_img(
            mx.recordio.IRHeader(0, 1.0, 0, 0), np.zeros((4, 4, 3), "u1"), quality="high"
        ),
        "recordio.pack_img: quality must be a number; got the text 'high'",
    ),
    "rec: pack_img fmt": (
        lambda: mx.recordio.pack_img(
            mx.recordio.IRHeader(0, 1.0, 0, 0), np.zeros((4, 4, 3), "u1"), img_fmt=".xyz"
        ),
        "encode: the picture must be one that OpenCV can write as '.xyz'; got shape (4, 4, 3) of uint8",
    ),
    "rec: pack_img fmt None": (
        lambda: mx.recordio.pack_img(
            mx.recordio.IRHeader(0, 1.0, 0, 0), np.zeros((4, 4, 3), "u1"), img_fmt=None
        ),
        "recordio.pack_img: img_fmt must be text; got None",
    ),
    "rec: pack_img list": (
        lambda: mx.recordio.pack_img(mx.recordio.IRHeader(0, 1.0, 0, 0), [1, 2]),
        "recordio.pack_img: img must be an instance of ndarray; got [1, 2]",
    ),
    "rec: unpack_img": (lambda: mx.recordio.unpack_img(3), "recordio.unpack_img: s must be bytes; got 3"),
    "image: random_size_crop ratio": (
        lambda: mx.image.random_size_crop(picture(), (2, 2), 0.5, 1.5),
        "random_size_crop: ratio must be a range of two numbers; got 1.5",
    ),
    "image: imglist entries": (
        lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[3], path_root="."),
        "ImageIter: imglist must have [label, path] for each picture, or [label, ..., path]; got 3 at place 1",
    ),
    "image: ImageIter near": (
        lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER, rand_crp=True),
        "ImageIter: no argument 'rand_crp'; did you mean 'rand_crop'",
    ),
    "image: ImageIter near, of its own": (
        lambda: mx.image.ImageIter(2, (3, 4, 4), imglist=[[0, "a.jpg"]], path_root=FOLDER, shufle=True),
        "ImageIter: no argument 'shufle'; did you mean 'shuffle'",
    ),
    "image: ImageIter, a function that returns no picture": (
        lambda: mx.image.augmenter.augmented(picture().tensor, [lambda image: 3]),
        "<lambda> must return an NDArray, the picture; got int",
    ),
}
