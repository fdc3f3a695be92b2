"""Train a multi-layer perceptron on made-up digits, in the manner of 2016."""
import argparse
import logging
import os
import sys

import mxnet as mx
import numpy as np
from mxnet.io import NDArrayIter


def make_digits(count, seed):
    """Ten fixed patterns of 8 x 8 with noise."""
    rng = np.random.RandomState(7)
    patterns = rng.uniform(0, 1, (10, 1, 8, 8))
    rng = np.random.RandomState(seed)
    label = rng.randint(0, 10, count)
    return (patterns[label] + rng.normal(0, 0.2, (count, 1, 8, 8))).astype(np.float32), label.astype(np.float32)


def get_mlp():
    data = mx.symbol.Variable('data')
    data = mx.symbol.Flatten(data=data)
    fc1 = mx.symbol.FullyConnected(data=data, name='fc1', num_hidden=32)
    act1 = mx.symbol.Activation(data=fc1, name='relu1', act_type="relu")
    fc2 = mx.symbol.FullyConnected(data=act1, name='fc2', num_hidden=10)
    return mx.symbol.SoftmaxOutput(data=fc2, name='softmax')


def parse_args():
    parser = argparse.ArgumentParser(description='train on made-up digits')
    parser.add_argument('--gpus', type=str, help='the gpus will be used, e.g "0,1,2,3"')
    parser.add_argument('--devices', type=int, default=1, help='how many cpu devices')
    parser.add_argument('--batch-size', type=int, default=50)
    parser.add_argument('--lr', type=float, default=.1)
    parser.add_argument('--lr-factor', type=float, default=0.5)
    parser.add_argument('--lr-factor-epoch', type=float, default=1)
    parser.add_argument('--model-prefix', type=str)
    parser.add_argument('--load-epoch', type=int)
    parser.add_argument('--num-epochs', type=int, default=2)
    parser.add_argument('--kv-store', type=str, default='local')
    parser.add_argument('--old-scheduler', action='store_true')
    return parser.parse_args()


def fit(args, network):
    kv = mx.kvstore.create(args.kv_store)
    logging.basicConfig(level=logging.INFO, format='%(asctime)-15s Node[' + str(kv.rank) + '] %(message)s')
    logging.info('start with arguments %s', args)
    mx.random.seed(1)
    np.random.seed(1)

    train = NDArrayIter(*make_digits(500, 1), batch_size=args.batch_size, shuffle=True)
    val = NDArrayIter(*make_digits(120, 2), batch_size=args.batch_size)
    if args.gpus:
        devs = [mx.gpu(int(i)) for i in args.gpus.split(',')]
    else:
        devs = [mx.Context('cpu', i) for i in range(args.devices)]

    arg_params = aux_params = None
    begin_epoch = 0
    if args.load_epoch is not None:
        network, arg_params, aux_params = mx.model.load_checkpoint(args.model_prefix, args.load_epoch)
        begin_epoch = args.load_epoch

    step = max(int(500 / args.batch_size * args.lr_factor_epoch), 1)
    if args.old_scheduler:
        from mxnet.misc import FactorScheduler
        scheduler = FactorScheduler(step=step, factor=args.lr_factor)
    else:
        scheduler = mx.lr_scheduler.FactorScheduler(step=step, factor=args.lr_factor, base_lr=args.lr)

    checkpoint = None if args.model_prefix is None else [mx.callback.do_checkpoint(args.model_prefix)]
    model = mx.mod.Module(context=devs, symbol=network, data_names=('data',), label_names=('softmax_label',))
    model.fit(train, eval_data=val, eval_metric=['accuracy', 'ce'], kvstore=kv, optimizer='sgd',
              optimizer_params={'learning_rate': args.lr, 'momentum': 0.9, 'wd': 0.00001, 'lr_scheduler': scheduler},
              initializer=mx.init.Xavier(factor_type="in", magnitude=2.34),
              arg_params=arg_params, aux_params=aux_params, begin_epoch=begin_epoch, num_epoch=args.num_epochs,
              batch_end_callback=[mx.callback.Speedometer(args.batch_size, 5)],
              epoch_end_callback=checkpoint)
    score = dict(model.score(val, mx.metric.create('acc')))
    print('accuracy %.4f' % score['accuracy'])
    return 0 if score['accuracy'] > 0.9 else 1


if __name__ == '__main__':
    logging.getLogger().setLevel(logging.DEBUG)
    print('mxnet', mx.__version__, os.path.basename(sys.argv[0]))
    sys.exit(fit(parse_args(), get_mlp()))
