"""A program of MXNet's: it computes in several threads, and then starts processes that compute and read on.

Each answer of a process is what the program itself finds afterwards: see `test_forks`.
"""

import multiprocessing
import os
import sys

import mxnet as mx
import numpy as np
import torch

BATCH = 4
OLD_DATA = np.random.RandomState(0).rand(40, 400).astype("float32")


def network():
    layer = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=300)
    layer = mx.sym.FullyConnected(mx.sym.Activation(layer, act_type="relu"), num_hidden=4)
    return mx.sym.SoftmaxOutput(layer, name="softmax")


def train():
    mx.random.seed(1)
    module = mx.mod.Module(network())
    module.fit(mx.io.NDArrayIter(OLD_DATA, np.arange(40) % 4, 20), num_epoch=2, optimizer="adam")
    return module


def write_files(folder):
    record = mx.recordio.MXIndexedRecordIO(f"{folder}/a.idx", f"{folder}/a.rec", "w")
    for i in range(30):
        picture = np.random.RandomState(i).randint(0, 255, (16, 16, 3)).astype("uint8")
        header = mx.recordio.IRHeader(0, [2, 5, i % 4, 0.1, 0.1, 0.6, 0.7], i, 0)
        record.write_idx(i, mx.recordio.pack_img(header, picture, img_fmt=".png"))
    record.close()
    np.savetxt(f"{folder}/a.csv", OLD_DATA[:30, :6], delimiter=",")
    with open(f"{folder}/a.libsvm", "w") as file:
        file.writelines(f"{i} {i % 5}:1.5 7:{i}\n" for i in range(30))
    for name, shape in (("images", (30, 5, 5)), ("labels", (30,))):
        head = bytes([0, 0, 8, len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape)
        with open(f"{folder}/{name}", "wb") as file:
            file.write(head + bytes(i % 251 for i in range(int(np.prod(shape)))))


def iterators(folder, shuffle=True):
    pictures = {"path_imgrec": f"{folder}/a.rec", "data_shape": (3, 12, 12), "batch_size": BATCH}
    arrays = mx.io.NDArrayIter(OLD_DATA[:30], np.arange(30), BATCH, shuffle=shuffle)
    found = {
        "ImageRecordIter": mx.io.ImageRecordIter(**pictures, label_width=7, rand_crop=True, preprocess_threads=3),
        "ImageRecordIter unbuffered": mx.io.ImageRecordIter(**pictures, label_width=7, prefetch_buffer=0),
        "ImageDetRecordIter": mx.io.ImageDetRecordIter(**pictures, label_pad_width=10, label_pad_value=-1),
        "ImageIter": mx.image.ImageIter(**pictures, label_width=7, path_imgidx=f"{folder}/a.idx"),
        "CSVIter": mx.io.CSVIter(data_csv=f"{folder}/a.csv", data_shape=(6,), batch_size=BATCH),
        "LibSVMIter": mx.io.LibSVMIter(data_libsvm=f"{folder}/a.libsvm", data_shape=(9,), batch_size=BATCH),
        "MNISTIter": mx.io.MNISTIter(image=f"{folder}/images", label=f"{folder}/labels", batch_size=BATCH),
        "NDArrayIter": mx.io.NDArrayIter(OLD_DATA[:30], np.arange(30), BATCH),
        "ResizeIter": mx.io.ResizeIter(mx.io.NDArrayIter(OLD_DATA[:30], None, BATCH), 5),
        "PrefetchingIter": mx.io.PrefetchingIter(arrays),
        "PrefetchingIter of files": mx.io.PrefetchingIter(
            mx.io.CSVIter(data_csv=f"{folder}/a.csv", data_shape=(6,), batch_size=BATCH)
        ),
    }
    for each in found.values():
        each.next(), each.next()  # threads read ahead now
        str(sum(range(20000)))  # what makes it worth while
        each.next()
    return found


def rest(batches):
    """Return a number for each batch that is left in an epoch, and for each of the next epoch."""
    found = []
    for _ in range(2):
        found += [
            round(float(sum(array.asnumpy().astype("float64").sum() for array in batch.data + batch.label)), 3)
            for batch in batches
        ]
        batches.reset()
    return found


def answer(what):
    if what == "nd":
        ones = mx.nd.ones((600, 600))
        return float((mx.nd.dot(ones, ones) + mx.nd.exp(ones)).mean().asscalar())
    if what == "image":
        return list(mx.image.imresize(mx.nd.ones((1000, 900, 3)), 300, 200).shape)
    if what == "random":
        mx.random.seed(5)
        return round(float(mx.nd.random.normal(shape=(700, 700)).mean().asscalar()), 7)
    if what == "train":
        values = train().get_params()[0].values()
        return round(float(sum(value.asnumpy().sum() for value in values)), 3)
    if what == "predict":
        return round(float(MODULE.predict(mx.io.NDArrayIter(OLD_DATA, None, 20))[:, 0].asnumpy().sum()), 4)
    return rest(ITERATORS[what])


if __name__ == "__main__":
    method, folder = sys.argv[1:]
    torch.set_num_threads(2)
    mx.nd.dot(mx.nd.ones((700, 700)), mx.nd.ones((700, 700))).wait_to_read()
    questions = ["nd", "image", "random", "train"]
    if method == "fork":  # the others begin with nothing
        write_files(folder)
        MODULE, ITERATORS = train(), iterators(folder)
        questions += ["predict", *ITERATORS]
    pool = multiprocessing.get_context(method).Pool(2)
    found = pool.map(answer, questions, chunksize=1)
    pool.close()
    pool.join()
    for what, there in zip(questions, found):
        here = answer(what)
        print("equal" if here == there else f"DIFFERENT: here {here}, in a process {there}", what)
    if method == "fork" and os.fork() == 0:  # one that ends as programs do, with what is to be done at exit
        sys.exit(0)
    if method == "fork":
        print("ended with", os.wait()[1])
