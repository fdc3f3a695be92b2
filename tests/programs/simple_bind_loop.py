"""Everything by hand: simple_bind, copies of parameters, a loop over batches, the rule of SGD in NDArrays."""
from __future__ import print_function

import mxnet as mx
import numpy as np


def SGD(weight, grad, lr=0.1, grad_norm=1.0):
    weight[:] -= lr * grad / grad_norm


def CalAcc(pred_prob, label):
    pred = np.argmax(pred_prob, axis=1)
    return np.sum(pred == label) * 1.0


if __name__ == '__main__':
    rng = np.random.RandomState(0)
    num_classes, num_features, batch_size = 5, 12, 40
    centers = rng.normal(0, 1, (num_classes, num_features))
    label = rng.randint(0, num_classes, 400)
    train = (centers[label] + rng.normal(0, 0.7, (400, num_features))).astype('float32')
    label = label.astype('float32')

    data = mx.symbol.Variable('data')
    fc1 = mx.symbol.FullyConnected(data, num_hidden=16, name='fc1')
    bn1 = mx.symbol.BatchNorm(fc1, fix_gamma=False, name='bn1')
    act1 = mx.symbol.Activation(bn1, act_type='tanh', name='tanh1')
    fc2 = mx.symbol.FullyConnected(act1, num_hidden=num_classes, name='fc2')
    softmax = mx.symbol.SoftmaxOutput(fc2, name='sm')
    executor = softmax.simple_bind(ctx=mx.cpu(), data=(batch_size, num_features), grad_req='write')

    args, grads, aux_states = executor.arg_dict, executor.grad_dict, executor.aux_dict
    for name in sorted(args):
        if 'weight' in name:
            args[name][:] = rng.uniform(-0.3, 0.3, args[name].shape)
        elif 'gamma' in name:
            args[name][:] = 1
        elif 'bias' in name or 'beta' in name:
            args[name][:] = 0
    aux_states['bn1_moving_var'][:] = 1

    for epoch in range(6):
        train_acc, num = 0., 0
        for begin in range(0, len(train), batch_size):
            args['data'][:] = train[begin:begin + batch_size]
            args['sm_label'][:] = label[begin:begin + batch_size]
            executor.forward(is_train=True)
            executor.backward()
            for name in args:
                if name not in ('data', 'sm_label'):
                    SGD(args[name], grads[name], 0.2, batch_size)
            train_acc += CalAcc(executor.outputs[0].asnumpy(), label[begin:begin + batch_size])
            num += batch_size
    mean = aux_states['bn1_moving_mean'].asnumpy()
    print('weights %.5f moving mean %.5f' % (abs(args['fc2_weight'].asnumpy()).sum(), abs(mean).sum()))

    # a second executor of another batch size on the same arrays
    small = executor.reshape(data=(8, num_features), sm_label=(8,), partial_shaping=True)
    small.forward(is_train=False, data=mx.nd.array(train[:8]))
    print('probability of the right classes %.5f' % np.mean(small.outputs[0].asnumpy()[range(8), label[:8].astype(int)]))
    print('accuracy %.4f' % (train_acc / num))
