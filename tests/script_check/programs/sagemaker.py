import argparse
import json
import os

import mxnet as mx
import numpy as np

os.environ["MXNET_CPU_WORKER_NTHREADS"] = "8"  # expect: environment


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-dir", default=os.environ.get("SM_MODEL_DIR"))
    parser.add_argument("--train", default=os.environ["SM_CHANNEL_TRAIN"])
    return parser.parse_args()


def model_fn(model_dir):
    with open(os.path.join(model_dir, "model-shapes.json")) as file:
        shapes = json.load(file)
    symbol, args, auxs = mx.model.load_checkpoint(os.path.join(model_dir, "model"), 0)
    mod = mx.mod.Module(symbol=symbol, label_names=None)
    mod.bind(for_training="False", data_shapes=[(s["name"], s["shape"]) for s in shapes])  # expect: value
    mod.set_params(args, auxs, allow_missing=True)
    return mod


def transform_fn(mod, data, input_type, output_type):
    array = mx.nd.array(json.loads(data))
    mod.forward(mx.io.DataBatch([array]), is_train=False)
    return json.dumps(mod.get_outputs()[0].asnumpy().tolist()), output_type


def upload(mod):
    mod.save_checkpoint("/opt/ml/model/model", 0)
    mx.nd.save("s3://bucket/model.params", {"arg:w": mx.nd.zeros(3)})  # expect: file


if __name__ == "__main__":
    found = parse()
    iterator = mx.io.ImageRecordIter(path_imgrec=found.train, data_shape=(3, 224, 224), batch_size=8, randmirror=True)  # expect: keyword
    values = np.zeros(3, dtype=np.float)  # expect: numpy
