"""Linear regression by SVRG beside SGD: from the same rough guess."""
from __future__ import print_function
import logging

import mxnet as mx
import numpy as np
from mxnet.contrib.svrg_optimization.svrg_module import SVRGModule

logging.basicConfig(level=logging.INFO)


def create_network(data, label, batch_size, update_freq):
    di = mx.io.NDArrayIter(data, label, batch_size=batch_size, shuffle=False, data_name='data', label_name='lin_reg_label')
    X = mx.sym.Variable('data')
    Y = mx.symbol.Variable('lin_reg_label')
    fully_connected_layer = mx.sym.FullyConnected(data=X, name='fc1', num_hidden=1, no_bias=True)
    lro = mx.sym.LinearRegressionOutput(data=fully_connected_layer, label=Y, name='lro')
    if update_freq is None:
        mod = mx.mod.Module(lro, data_names=['data'], label_names=['lin_reg_label'])
    else:
        mod = SVRGModule(symbol=lro, data_names=['data'], label_names=['lin_reg_label'], update_freq=update_freq,
                         logger=logging)
    return di, mod


def train(data, label, guess, update_freq):
    di, mod = create_network(data, label, 10, update_freq)
    mod.bind(data_shapes=di.provide_data, label_shapes=di.provide_label)
    mod.init_params(initializer=mx.init.Zero(), arg_params={'fc1_weight': mx.nd.array([guess])}, aux_params={},
                    allow_missing=False, force_init=False, allow_extra=False)
    mod.init_optimizer(kvstore='local', optimizer='sgd', optimizer_params=(('learning_rate', 0.05),))
    metrics = mx.metric.create('mse')
    for e in range(4):
        metrics.reset()
        # one snapshot: later ones differ on purpose
        if update_freq is not None and e == 0:
            mod.update_full_grads(di)
        di.reset()
        for batch in di:
            mod.forward_backward(data_batch=batch)
            mod.update()
            mod.update_metric(metrics, batch.label)
        mod.logger.info('Epoch[%d] Train cost=%f', e, metrics.get()[1])
    return mod.get_params()[0]['fc1_weight'].asnumpy().ravel(), metrics.get()[1]


if __name__ == '__main__':
    rng = np.random.RandomState(1)
    x = rng.normal(0, 1, (200, 4)).astype('float32')
    y = (x.dot([1, -2, 3, 0.5]) + rng.normal(0, 1, 200)).astype('float32')
    solution = np.linalg.lstsq(x, y, rcond=None)[0]
    guess = np.linalg.lstsq(x[:20], y[:20], rcond=None)[0].astype('float32')
    for name, update_freq in [('SGD', None), ('SVRG', 10)]:
        weight, cost = train(x, y, guess, update_freq)
        print('%s distance %.5f cost %.5f' % (name, np.abs(weight - solution).max(), cost))
