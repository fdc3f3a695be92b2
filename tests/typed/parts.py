"""A program as users write it, without annotations: type checkers must accept it as it is."""

# pyright: reportMissingTypeArgument=error

import numpy as np

import rebind as mx


class Softmax(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        x = in_data[0].asnumpy()
        y = np.exp(x - x.max(axis=1).reshape((x.shape[0], 1)))
        y /= y.sum(axis=1).reshape((x.shape[0], 1))
        self.assign(out_data[0], req[0], mx.nd.array(y))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        label = in_data[1].asnumpy().ravel().astype(int)
        y = out_data[0].asnumpy()
        y[np.arange(label.shape[0]), label] -= 1.0
        self.assign(in_grad[0], req[0], mx.nd.array(y))


@mx.operator.register("softmax")
class SoftmaxProp(mx.operator.CustomOpProp):
    def __init__(self):
        super().__init__(need_top_grad=False)

    def list_arguments(self):
        return ["data", "label"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


stack = mx.rnn.SequentialRNNCell()
for i in range(2):
    stack.add(mx.rnn.LSTMCell(num_hidden=20, prefix=f"lstm_l{i}_"))


def sym_gen(seq_len):
    data = mx.sym.Variable("data")
    label = mx.sym.Variable("softmax_label")
    embed = mx.sym.Embedding(data=data, input_dim=100, output_dim=20, name="embed")
    stack.reset()
    outputs, _ = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
    pred = mx.sym.Reshape(outputs, shape=(-1, 20))
    pred = mx.sym.FullyConnected(data=pred, num_hidden=100, name="pred")
    label = mx.sym.Reshape(label, shape=(-1,))
    pred = mx.sym.SoftmaxOutput(data=pred, label=label, name="softmax")
    return pred, ("data",), ("softmax_label",)


it = mx.rnn.BucketSentenceIter([[1, 2, 3]] * 10, 2, buckets=[4], invalid_label=0)
model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=it.default_bucket_key, context=mx.cpu())
model.fit(train_data=it, eval_metric=mx.metric.Perplexity(0), kvstore="local", optimizer="adam", num_epoch=1)


class Iter(mx.io.DataIter):
    def __init__(self):
        super().__init__()
        self.batch_size = 1
        self.provide_data = [mx.io.DataDesc("data", (1, 2))]
        self.provide_label = [("softmax_label", (1,))]

    def next(self):
        raise StopIteration


class SimpleIter(mx.io.DataIter):
    def __init__(self, data_names, data_shapes, data_gen, num_batches=10):
        self._provide_data = list(zip(data_names, data_shapes))
        self.data_gen = data_gen
        self.num_batches = num_batches
        self.cur_batch = 0

    def __iter__(self):
        return self

    def reset(self):
        self.cur_batch = 0

    def __next__(self):
        return self.next()

    @property
    def provide_data(self):
        return self._provide_data

    @property
    def provide_label(self):
        return []

    def next(self):
        if self.cur_batch < self.num_batches:
            self.cur_batch += 1
            data = [mx.nd.array(g(d[1])) for d, g in zip(self._provide_data, self.data_gen)]
            return mx.io.DataBatch(data, [])
        else:
            raise StopIteration


class Metric(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("mine")

    def update(self, labels, preds):
        for label, pred in zip(labels, preds):
            self.sum_metric += float((label.asnumpy() - pred.asnumpy()).sum())
            self.num_inst += 1


class Init(mx.init.Initializer):
    def _init_weight(self, name, arr):
        arr[:] = 1


@mx.optimizer.register
class Heavy(mx.optimizer.Optimizer):
    def __init__(self, momentum=0.9, **kwargs):
        super().__init__(**kwargs)
        self.momentum = momentum

    def create_state(self, index, weight):
        return mx.nd.zeros(weight.shape, ctx=weight.context, dtype=weight.dtype)

    def update(self, index, weight, grad, state):
        self._update_count(index)
        lr, wd = self._get_lr(index), self._get_wd(index)
        state[:] = self.momentum * state - lr * (grad * self.rescale_grad + wd * weight)
        weight[:] = weight + state


class Progress(mx.callback.Speedometer):
    def __call__(self, param):
        print(param.epoch, param.nbatch, dict(param.eval_metric.get_name_value()))


def print_metric(param):
    if param.nbatch % 10 == 0 and param.eval_metric is not None:
        name, value = param.eval_metric.get()
        print(name, value)
        param.eval_metric.reset()


model.fit(it, optimizer="heavy", batch_end_callback=[Progress(4, 2), print_metric], num_epoch=1)


net = mx.sym.Custom(mx.sym.var("data"), mx.sym.var("label"), op_type="softmax", name="softmax")
group = mx.sym.Group([net, mx.sym.BlockGrad(net)])
mx.viz.print_summary(group, shape={"data": (1, 3)})
mon = mx.mon.Monitor(1, pattern=".*weight")
record = mx.recordio.MXIndexedRecordIO("a.idx", "a.rec", "w")
record.write_idx(0, mx.recordio.pack(mx.recordio.IRHeader(0, 1.0, 0, 0), b"x"))
record.close()
rec = mx.io.ImageRecordIter(
    path_imgrec="a.rec", data_shape=(3, 224, 224), batch_size=4, rand_crop=True, mean_r=123.68
)
for batch in rec:
    print(batch.data[0].shape, batch.label[0].asnumpy())
