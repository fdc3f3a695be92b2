import os

import mxnet as mx

BUCKET = "s3://my-bucket"
net, args, auxs = mx.model.load_checkpoint(f"{BUCKET}/resnet-50", 3)  # expect: file
if os.path.exists("resnet-50-symbol.json"):
    net, args, auxs = mx.model.load_checkpoint("resnet-50", 3)
weights = mx.nd.load("file:///data/net.params")  # expect: file
mx.nd.save("hdfs://host/%s.params" % "net", weights)  # expect: file
mx.nd.save("net.params", weights)

train = mx.io.ImageRecordIter(
    path_imgrec="https://host/train.rec",  # expect: file
    path_imgidx="train.idx",
    data_shape=(3, 224, 224),
    batch_size=32,
)
parts = mx.io.ImageRecordIter(  # expect: file
    path_imgrec="train.rec", mean_img="mean.bin", num_parts=4, part_index=1, data_shape=(3, 224, 224), batch_size=32
)
whole = mx.io.ImageRecordIter(path_imgrec="train.rec", mean_img="mean.bin", data_shape=(3, 8, 8), batch_size=32)
reader = mx.recordio.MXIndexedRecordIO("train.idx", "train.rec", "r")
header, picture = mx.recordio.unpack_img(reader.read_idx(1))  # expect: file

table = mx.io.CSVIter(data_csv="train.csv", data_shape=(3,), batch_size=8)  # expect: file
cached = mx.io.LibSVMIter(  # expect: file
    data_libsvm="train.t#cache", data_shape=(3,), batch_size=8  # expect: file
)  # fmt: skip
digits = mx.io.MNISTIter(image="images", label="labels", dtype="uint8")  # expect: file
mnist = mx.test_utils.get_mnist()  # expect: file
vectors = mx.contrib.text.embedding.create("glove", pretrained_file_name="glove.6B.50d.txt")  # expect: file
own = mx.contrib.text.embedding.CustomEmbedding("vectors.txt")
mx.contrib.onnx.export_model(net, weights, [(1, 3, 224, 224)], "float32", "net.onnx")  # expect: file
address = mx.sym.var("https://host/data")
try:
    mx.nd.load(BUCKET)
except Exception:
    pass
