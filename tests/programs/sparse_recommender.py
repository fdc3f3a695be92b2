"""A recommender with negative samples: row_sparse embeddings in a store, two devices, a checkpoint that is read again."""
import argparse

import mxnet as mx
import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument('--num-user', type=int, default=300)
parser.add_argument('--num-item', type=int, default=200)
parser.add_argument('--factor', type=int, default=8)
parser.add_argument('--batch-size', type=int, default=64)
parser.add_argument('--epochs', type=int, default=6)
args = parser.parse_args()


def implicit_mf(factor, num_user, num_item):
    user, item, y = mx.sym.Variable('user'), mx.sym.Variable('item'), mx.sym.Variable('softmax_label')
    user_weight = mx.sym.Variable('user_weight', stype='row_sparse')
    item_weight = mx.sym.Variable('item_weight', stype='row_sparse')
    item_bias = mx.sym.Variable('item_bias', stype='row_sparse', shape=(num_item, 1), init=mx.init.Zero())
    u = mx.sym.contrib.SparseEmbedding(data=user, weight=user_weight, input_dim=num_user, output_dim=factor)
    i = mx.sym.contrib.SparseEmbedding(data=item, weight=item_weight, input_dim=num_item, output_dim=factor)
    b = mx.sym.Embedding(data=item, weight=item_bias, input_dim=num_item, output_dim=1, sparse_grad=True)
    pred = mx.sym.sum(u * i, axis=1, keepdims=True) + b
    return mx.sym.LogisticRegressionOutput(pred, mx.sym.reshape(y, shape=(-1, 1)))


rng = np.random.RandomState(5)
n = 64 * 60
tastes, kinds = rng.randn(args.num_user, 2), rng.randn(args.num_item, 2)
users, items = rng.randint(0, args.num_user, n), rng.randint(0, args.num_item, n)
likes = ((tastes[users] * kinds[items]).sum(axis=1) > 0).astype('float32')
train = mx.io.NDArrayIter({'user': users.astype('float32'), 'item': items.astype('float32')},
                          {'softmax_label': likes}, args.batch_size)

start = {'user_weight': mx.nd.array(rng.normal(0, 0.3, (args.num_user, args.factor))),
         'item_weight': mx.nd.array(rng.normal(0, 0.3, (args.num_item, args.factor)))}

ctx = [mx.cpu(0), mx.cpu(1)]
kv = mx.kvstore.create('local')
mod = mx.module.Module(implicit_mf(args.factor, args.num_user, args.num_item), context=ctx,
                       data_names=['item', 'user'], label_names=['softmax_label'])
mod.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
mod.init_params(arg_params={k: v.tostype('row_sparse') for k, v in start.items()}, allow_missing=True,
                initializer=mx.init.Zero())
optim = mx.optimizer.create('adam', learning_rate=0.02, rescale_grad=1.0 / args.batch_size, wd=1e-4)
mod.init_optimizer(optimizer=optim, kvstore=kv)
metric = mx.metric.create(['mse', 'loss'])


def rows(batch):
    # NDArrayIter sorts its data by name
    return {'item_weight': batch.data[0], 'item_bias': batch.data[0], 'user_weight': batch.data[1]}


mse = mx.metric.MSE()
for epoch in range(args.epochs):
    train.reset()
    mse.reset()
    for batch in train:
        mod.prepare(batch, sparse_row_id_fn=rows)
        mod.forward_backward(batch)
        mod.update()
        mod.update_metric(mse, batch.label)
    print('epoch %d mse %.5f' % (epoch, mse.get()[1]))

mod.save_checkpoint('recommender', args.epochs, save_optimizer_states=True)
sym, arg_params, aux_params = mx.model.load_checkpoint('recommender', args.epochs)
print(sorted((k, v.stype, v.shape) for k, v in arg_params.items()))
print('norm %.4f %.4f %.4f' % tuple(arg_params[k].asnumpy().std() for k in ('user_weight', 'item_weight', 'item_bias')))

mod2 = mx.module.Module(sym, data_names=['item', 'user'], label_names=['softmax_label'])
mod2.bind(data_shapes=train.provide_data, label_shapes=train.provide_label, for_training=False)
mod2.set_params(arg_params, aux_params)
train.reset()
print('final mse %.5f' % mod2.score(train, 'mse')[0][1])
