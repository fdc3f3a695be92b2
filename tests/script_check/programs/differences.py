import mxnet as mx

data, label = mx.sym.var("data"), mx.sym.var("label")
x = mx.sym.Pooling(data, kernel=(3, 3), stride=(2, 2), pool_type="avg", pooling_convention="full")  # expect: value
x = mx.sym.Pooling(x, kernel=(3, 3), stride=(2, 2), pool_type="max", pooling_convention="full")
x = mx.sym.contrib.SyncBatchNorm(x, ndev=4, key="norm")  # expect: value
x = mx.sym.contrib.AdaptiveAvgPooling2D(x, output_size=(2, 2, 2))  # expect: value
x = mx.sym.cast(mx.sym.round(x), dtype="int32")  # expect: value
x = mx.sym.cast(x, dtype="float32")
out = mx.sym.SoftmaxOutput(x, label, multi_output=True, smooth_alpha=0.1)  # expect: value
out = mx.sym.SoftmaxOutput(x, label, smooth_alpha=0.1)
picture = mx.nd.image.random_color_jitter(mx.nd.ones((3, 3, 3)), 0.1, 0.1, 0.4, 0.1)  # expect: value
picture = mx.nd.image.random_color_jitter(mx.nd.ones((3, 3, 3)), 0.1, 0.1, 0, 0.1)

f1 = mx.metric.F1(average="weighted")  # expect: value
pcc = mx.metric.PCC(has_global_stats=False)  # expect: value
slow = mx.optimizer.LBSGD(momentum=0.9, warmup_strategy="linar")  # expect: value
lars = mx.optimizer.LARS(momentum=0.9, lr_scheduler=mx.lr_scheduler.PolyScheduler(100))  # expect: value
epoch = mx.io.ResizeIter(mx.io.NDArrayIter(picture), 7.5)  # expect: value
print(mx.runtime.Features())  # expect: value
