"""Fine-tuning: a network trained for five classes gets a new last layer for three others."""
import logging

import mxnet as mx
import numpy as np

logging.getLogger().setLevel(logging.DEBUG)
head = '%(asctime)-15s %(message)s'
logging.basicConfig(level=logging.DEBUG, format=head)


def patterns(classes, count, seed):
    basis = np.random.RandomState(99).normal(0, 1, (8, 1, 12, 12))
    rng = np.random.RandomState(seed)
    which = rng.randint(0, len(classes), count)
    x = basis[np.array(classes)[which]] + rng.normal(0, 0.7, (count, 1, 12, 12))
    return x.astype('float32'), which.astype('float32')


def convnet(num_classes):
    data = mx.symbol.Variable('data')
    net = mx.symbol.Convolution(data=data, kernel=(3, 3), num_filter=8, pad=(1, 1), no_bias=True, name='conv0')
    net = mx.symbol.BatchNorm(data=net, fix_gamma=False, eps=2e-5, momentum=0.9, name='bn0')
    net = mx.symbol.Activation(data=net, act_type='relu', name='relu0')
    net = mx.symbol.Pooling(data=net, kernel=(2, 2), stride=(2, 2), pool_type='max', name='pool0')
    net = mx.symbol.Convolution(data=net, kernel=(3, 3), num_filter=16, pad=(1, 1), name='conv1')
    net = mx.symbol.Activation(data=net, act_type='relu', name='relu1')
    net = mx.symbol.Pooling(data=net, kernel=(2, 2), global_pool=False, stride=(2, 2), pool_type='avg', name='pool1')
    net = mx.symbol.Flatten(data=net, name='flatten0')
    net = mx.symbol.FullyConnected(data=net, num_hidden=num_classes, name='fc1')
    return mx.symbol.SoftmaxOutput(data=net, name='softmax')


def get_fine_tune_model(symbol, arg_params, num_classes, layer_name='flatten0'):
    """Cut the network behind a layer, and put a new classifier there."""
    all_layers = symbol.get_internals()
    net = all_layers[layer_name + '_output']
    net = mx.symbol.FullyConnected(data=net, num_hidden=num_classes, name='fc_new')
    net = mx.symbol.SoftmaxOutput(data=net, name='softmax')
    new_args = dict({k: arg_params[k] for k in arg_params if 'fc1' not in k})
    return (net, new_args)


def fit(symbol, arg_params, aux_params, train, val, num_epoch, fixed=None, prefix=None):
    mod = mx.mod.Module(symbol=symbol, context=mx.cpu(), fixed_param_names=fixed)
    mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
    mod.init_params(initializer=mx.init.Xavier(rnd_type='gaussian', factor_type='in', magnitude=2))
    if arg_params is not None:
        # allow_missing: the new layer is in no file
        mod.set_params(arg_params, aux_params, allow_missing=True)
    mod.fit(train, val, num_epoch=num_epoch, kvstore='local', optimizer='sgd',
            batch_end_callback=mx.callback.Speedometer(16, 10),
            epoch_end_callback=mx.callback.do_checkpoint(prefix) if prefix else None,
            optimizer_params={'learning_rate': 0.02, 'momentum': 0.9, 'wd': 1e-4}, eval_metric='acc')
    return mod, mod.score(val, mx.metric.Accuracy())


if __name__ == '__main__':
    mx.random.seed(1)
    np.random.seed(1)
    old, new = [0, 1, 2, 3, 4], [5, 6, 7]
    train = mx.io.NDArrayIter(*patterns(old, 320, 1), batch_size=16, shuffle=True)
    val = mx.io.NDArrayIter(*patterns(old, 128, 2), batch_size=32)
    fit(convnet(5), None, None, train, val, 3, prefix='base')

    sym, arg_params, aux_params = mx.model.load_checkpoint('base', 3)
    new_sym, new_args = get_fine_tune_model(sym, arg_params, 3)
    fixed = [name for name in new_sym.list_arguments() if name.startswith('conv0')]
    train = mx.io.NDArrayIter(*patterns(new, 96, 3), batch_size=16, shuffle=True)
    val = mx.io.NDArrayIter(*patterns(new, 96, 4), batch_size=32)
    mod, score = fit(new_sym, new_args, aux_params, train, val, 8, fixed)
    trained, _ = mod.get_params()
    same = (trained['conv0_weight'].asnumpy() == arg_params['conv0_weight'].asnumpy()).all()
    moved = abs(trained['conv1_weight'].asnumpy() - arg_params['conv1_weight'].asnumpy()).max() > 0
    print('fixed layer unchanged: %s, others trained: %s' % (same, moved))
    print('accuracy on new classes %.4f' % score[0][1])
