"""A softmax in NumPy as an operator of one's own, between layers of the library."""
import logging
import multiprocessing

import mxnet as mx
import numpy as np


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
        super(SoftmaxProp, self).__init__(need_top_grad=False)

    def list_arguments(self):
        return ['data', 'label']

    def list_outputs(self):
        return ['output']

    def infer_shape(self, in_shape):
        return [in_shape[0], (in_shape[0][0],)], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return Softmax()


def make(seed):
    """Runs in processes of its own, which import this file anew."""
    rng = np.random.RandomState(seed)
    centres = np.random.RandomState(0).normal(0, 1, (4, 6))
    label = rng.randint(0, 4, 100)
    # mxnet is there in the child too
    return mx.nd.array(centres[label] + rng.normal(0, 0.1, (100, 6))).asnumpy(), label.astype('float32')


def main():
    logging.basicConfig(level=logging.INFO)
    mx.random.seed(5)
    pool = multiprocessing.get_context('spawn').Pool(1)
    (x1, y1), (x2, y2) = pool.map(make, [1, 2])
    pool.close()
    pool.join()
    data = mx.symbol.Variable('data')
    fc1 = mx.symbol.FullyConnected(data=data, name='fc1', num_hidden=16)
    act1 = mx.symbol.Activation(data=fc1, name='relu1', act_type="relu")
    fc2 = mx.symbol.FullyConnected(data=act1, name='fc2', num_hidden=4)
    mlp = mx.symbol.Custom(data=fc2, name='softmax', op_type='softmax')
    train = mx.io.NDArrayIter(x1, y1, 20, shuffle=True)
    val = mx.io.NDArrayIter(x2, y2, 20)
    mod = mx.mod.Module(mlp, context=mx.cpu(0))
    mod.fit(train_data=train, eval_data=val, optimizer='sgd', num_epoch=10,
            optimizer_params={'learning_rate': 0.1, 'momentum': 0.9, 'wd': 0.00001},
            batch_end_callback=mx.callback.Speedometer(20, 100))
    print('accuracy %.4f' % mod.score(val, 'acc')[0][1])


if __name__ == '__main__':
    main()
