"""A program as users write it, without annotations: type checkers must accept it as it is."""

from collections import namedtuple

import numpy as np

import rebind as mx
from rebind import autograd, nd

Batch = namedtuple("Batch", ["data"])

a = nd.array([[1, 2], [3, 4]], dtype="float32", ctx=mx.cpu())
b = nd.ones((2, 2)) * 2 + a / 3 - 1
b[:] = a
b[0, 1] = 5
c = nd.dot(a, b.T).sum().asscalar()
d = nd.concat(a, b, dim=0).reshape((-1,)).asnumpy()
e = (a > b).astype("int32")
print(c + 1, d.mean(), e.shape, a.size, a.context, a.dtype)
mx.nd.save("x.params", {"a": a})
loaded = mx.nd.load("x.params")
print(loaded["a"].shape, [name for name, array in loaded.items() if array.size])
mx.nd.save("x.list", [a, b])
print(mx.nd.load("x.list")[0].asnumpy())
a.attach_grad()
with autograd.record():
    z = (a * a).sum()
z.backward()
print(a.grad.asnumpy())

data = mx.sym.var("data")
w = mx.sym.var("w", shape=(3, 2), init=mx.init.Normal(0.1), lr_mult=2.0)
out = mx.sym.FullyConnected(data, weight=w, num_hidden=3, no_bias=True)
loss = mx.sym.MakeLoss(mx.sym.mean(mx.sym.square(out)))
arg_shapes, out_shapes, aux_shapes = loss.infer_shape(data=(2, 2))
print(dict(zip(loss.list_arguments(), arg_shapes)), out_shapes[0][1:], len(aux_shapes))
if arg_shapes is None:
    print("some shapes are unknown")
args = {
    name: mx.nd.zeros(shape) for name, shape in zip(loss.list_arguments(), loss.infer_shape(data=(2, 2))[0])
}
print(args["w"].shape, dict(zip(loss.list_arguments(), loss.infer_type(data="float32")[0])))
partly = loss.infer_shape_partial(data=(0, 2))[1]
print(partly[0])
exe = loss.simple_bind(ctx=mx.cpu(), grad_req="write", data=(2, 2))
exe.arg_dict["w"][:] = np.ones((3, 2))
outs = exe.forward(is_train=True, data=a)
exe.backward()
print(exe.grad_dict["w"].asnumpy(), outs[0].asnumpy())
opt = mx.optimizer.create("adam", learning_rate=0.1)
updater = mx.optimizer.get_updater(opt)
for i, name in enumerate(loss.list_arguments()):
    updater(i, exe.grad_dict[name], exe.arg_dict[name])
exe2 = loss.bind(mx.cpu(), {"data": a, "w": exe.arg_dict["w"]})
exe2.forward()
print(exe2.outputs[0].asnumpy())
mod = mx.mod.Module(loss, data_names=("data",), label_names=None)
mod.bind([("data", (2, 2))])
mod.init_params(mx.init.Uniform(0.01))
mod.init_optimizer(kvstore="local", optimizer="sgd", optimizer_params=(("learning_rate", 0.1),))
metric = mx.metric.create("mse")
for _ in range(2):
    mod.forward_backward(Batch([a]))
    mod.update()
print(mod.get_outputs()[0].asnumpy(), metric.get())
kv = mx.kv.create("local")
kv.init(3, mx.nd.ones((2, 3)))
kv.push(3, [mx.nd.ones((2, 3))] * 2)
o = mx.nd.zeros((2, 3))
kv.pull(3, out=o)
print(o.asnumpy(), kv.rank, kv.num_workers)
sp = mx.nd.sparse.csr_matrix(([1.0, 2.0], [0, 1], [0, 1, 2]), shape=(2, 3))
print(sp.indptr.asnumpy(), sp.asscipy().shape, mx.nd.sparse.dot(sp, mx.nd.ones((3, 2))).asnumpy())
