"""Matrix factorisation: users and items as embeddings, ratings as their products; with a metric from a function."""
import logging
import math

import mxnet as mx
import numpy as np


def plain_net(k, max_user, max_item):
    user = mx.symbol.Variable('user')
    item = mx.symbol.Variable('item')
    score = mx.symbol.Variable('score')
    user = mx.symbol.Embedding(data=user, input_dim=max_user, output_dim=k, name='user_embed')
    item = mx.symbol.Embedding(data=item, input_dim=max_item, output_dim=k, name='item_embed')
    pred = user * item
    pred = mx.symbol.sum_axis(data=pred, axis=1)
    pred = mx.symbol.Flatten(data=pred)
    return mx.symbol.LinearRegressionOutput(data=pred, label=score)


def RMSE(label, pred):
    ret = 0.0
    n = 0.0
    pred = pred.flatten()
    for i in range(len(label)):
        ret += (label[i] - pred[i]) * (label[i] - pred[i])
        n += 1.0
    return math.sqrt(ret / n)


def get_data(batch_size, max_user, max_item):
    rng = np.random.RandomState(11)
    users, items = rng.normal(0, 1, (max_user, 3)), rng.normal(0, 1, (max_item, 3))
    u, i = rng.randint(0, max_user, 3000), rng.randint(0, max_item, 3000)
    score = (users[u] * items[i]).sum(axis=1)
    make = lambda s: mx.io.NDArrayIter({'user': u[s].astype('float32'), 'item': i[s].astype('float32')},
                                       {'score': score[s].astype('float32')}, batch_size, shuffle=True)
    return make(slice(0, 2600)), make(slice(2600, 3000))


if __name__ == '__main__':
    logging.basicConfig(level=logging.DEBUG)
    mx.random.seed(8)
    np.random.seed(8)
    batch_size, max_user, max_item = 50, 40, 30
    train, test = get_data(batch_size, max_user, max_item)
    model = mx.mod.Module(symbol=plain_net(3, max_user, max_item), context=mx.cpu(), data_names=['user', 'item'],
                          label_names=['score'])
    model.fit(train, eval_data=test, eval_metric=RMSE, num_epoch=15, optimizer='adam',
              optimizer_params={'learning_rate': 0.02, 'wd': 1e-5}, initializer=mx.init.Normal(0.3),
              batch_end_callback=mx.callback.Speedometer(batch_size, 20))
    rmse = model.score(test, mx.metric.create(RMSE))[0][1]
    print('RMSE %.4f' % rmse)
