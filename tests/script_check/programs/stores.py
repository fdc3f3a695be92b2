import os

import mxnet as mx

os.environ["PS_RESEND"] = "1"  # expect: environment
kv = mx.kvstore.create("dist_sync")
other = mx.kv.create("dist_p3")  # expect: choice
print(kv.rank, kv.num_workers, kv.num_of_workers)
kv.set_gradient_compression({"type": "2bit", "threshold": 0.5})
kv.init("w", mx.nd.ones((2,)))
kv.push("w", mx.nd.ones((2,)))
train = mx.io.ImageRecordIter(  # expect: keyword
    path_imgrec="train.rec",
    data_shape=(3, 28, 28),
    batch_size=8,
    num_parts=kv.num_workers,
    part_index=kv.rank,
    mean_image="mean.bin",
)
