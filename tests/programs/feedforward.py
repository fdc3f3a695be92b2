"""The interface before Module: FeedForward on arrays, as in a notebook of 2016; saved, loaded and used again."""

import mxnet as mx
import numpy as np

mx.random.seed(1)
np.random.seed(1)


def spiral(count, seed):
    rng = np.random.RandomState(seed)
    which = rng.randint(0, 2, count)
    r = rng.uniform(0.2, 1, count)
    angle = r * 3 + which * np.pi + rng.normal(0, 0.1, count)
    return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1).astype('float32'), which.astype('float32')


data = mx.symbol.Variable('data')
net = mx.symbol.FullyConnected(data, name='fc1', num_hidden=64)
net = mx.symbol.Activation(net, name='tanh1', act_type='tanh')
net = mx.symbol.FullyConnected(net, name='fc2', num_hidden=2)
net = mx.symbol.SoftmaxOutput(net, name='softmax')

X, Y = spiral(800, 1)
X_val, Y_val = spiral(200, 2)
model = mx.model.FeedForward(ctx=mx.cpu(), symbol=net, num_epoch=10, optimizer='adam', learning_rate=0.05, wd=0.0001,
                             numpy_batch_size=40, initializer=mx.init.Xavier())
model.fit(X=X, y=Y, eval_data=(X_val, Y_val), batch_end_callback=mx.callback.Speedometer(40, 10))
val_iter = mx.io.NDArrayIter(X_val, Y_val, batch_size=40)
print('score', round(model.score(val_iter), 2) > 0.9)

prefix = 'spiral'
model.save(prefix)
model2 = mx.model.FeedForward.load(prefix, 10, ctx=mx.cpu())
prob = model2.predict(X_val)
print(prob.shape, bool(np.allclose(prob, model.predict(X_val), atol=1e-6)))

feature = net.get_internals()['tanh1_output']
extractor = mx.model.FeedForward(feature, ctx=mx.cpu(), arg_params=model2.arg_params, aux_params=model2.aux_params,
                                 allow_extra_params=True)
print(extractor.predict(X_val).shape)
print('accuracy %.4f' % np.mean(np.argmax(prob, axis=1) == Y_val))
