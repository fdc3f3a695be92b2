"""A program as users write it, without annotations: type checkers must accept it as it is."""

import logging

import numpy as np

import rebind as mx

logging.basicConfig(level=logging.INFO)


def get_symbol(num_classes: int = 10) -> mx.sym.Symbol:
    data = mx.sym.Variable("data")
    conv1 = mx.sym.Convolution(data=data, kernel=(5, 5), num_filter=20, name="conv1")
    act1 = mx.sym.Activation(data=conv1, act_type="tanh")
    pool1 = mx.sym.Pooling(data=act1, pool_type="max", kernel=(2, 2), stride=(2, 2))
    fc1 = mx.sym.FullyConnected(data=mx.sym.flatten(pool1), num_hidden=num_classes, name="fc1")
    bn = mx.symbol.BatchNorm(fc1, fix_gamma=False, eps=2e-5)
    return mx.sym.SoftmaxOutput(data=bn, name="softmax")


x = np.random.rand(100, 1, 28, 28).astype(np.float32)
y = np.random.randint(0, 10, (100,)).astype(np.float32)
train = mx.io.NDArrayIter(x, y, batch_size=10, shuffle=True)
val = mx.io.NDArrayIter({"data": x}, {"softmax_label": y}, 10)

mod = mx.mod.Module(
    symbol=get_symbol(), context=[mx.cpu(0), mx.cpu(1)], data_names=["data"], label_names=["softmax_label"]
)
mod.fit(
    train,
    eval_data=val,
    eval_metric=["acc", mx.metric.TopKAccuracy(top_k=5)],
    optimizer="sgd",
    optimizer_params={
        "learning_rate": 0.1,
        "momentum": 0.9,
        "lr_scheduler": mx.lr_scheduler.FactorScheduler(step=10, factor=0.9),
    },
    initializer=mx.init.Xavier(magnitude=2.24),
    batch_end_callback=mx.callback.Speedometer(10, 5),
    epoch_end_callback=[mx.callback.do_checkpoint("m"), mx.callback.do_checkpoint("n", 2)],
    num_epoch=2,
)
prob = mod.predict(val).asnumpy()
assert prob.shape == (100, 10)
print(prob.argmax(axis=1))
score = mod.score(val, "acc")
print(dict(score)["accuracy"])
for preds, i_batch, batch in mod.iter_predict(val):
    print(preds[0].asnumpy().shape, i_batch, batch.pad)
each = mod.predict(val, merge_batches=False)
print(each[0][0].shape)
arg_params, aux_params = mod.get_params()
print({name: value.shape for name, value in arg_params.items()})
sym, arg_params, aux_params = mx.model.load_checkpoint("m", 2)
internals = sym.get_internals()
feat = internals["flatten0_output"]
fmod = mx.mod.Module(feat, label_names=None, context=mx.cpu())
fmod.bind(data_shapes=[("data", (1, 1, 28, 28))], for_training=False)
fmod.set_params(arg_params, aux_params, allow_missing=True)
fmod.forward(mx.io.DataBatch([mx.nd.array(x[:1])]), is_train=False)
print(fmod.get_outputs()[0].asnumpy().sum())
