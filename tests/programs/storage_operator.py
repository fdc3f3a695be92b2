"""A custom operator that takes csr and gives csr, with storage types of its own for the gradients; and infer_storage_type."""
import mxnet as mx
import numpy as np


class ScaleRows(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        inp, w = in_data
        if inp.stype == 'csr':
            counts = np.diff(inp.indptr.asnumpy())
            scaled = inp.data.asnumpy() * np.repeat(w.asnumpy(), counts)
            csr = mx.nd.sparse.csr_matrix((scaled, inp.indices, inp.indptr), shape=inp.shape)
            self.assign(out_data[0], req[0], csr)
        else:
            self.assign(out_data[0], req[0], inp * w.reshape((-1, 1)))

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        inp, w = in_data
        g = out_grad[0].asnumpy()
        self.assign(in_grad[0], req[0], mx.nd.array(g * w.asnumpy()[:, None]).tostype(in_grad[0].stype))
        self.assign(in_grad[1], req[1], mx.nd.array((g * inp.asnumpy()).sum(axis=1)))


@mx.operator.register('scale_rows')
class ScaleRowsProp(mx.operator.CustomOpProp):
    def __init__(self):
        super(ScaleRowsProp, self).__init__(need_top_grad=True)

    def list_arguments(self):
        return ['data', 'scale']

    def infer_shape(self, in_shape):
        return [in_shape[0], [in_shape[0][0]]], [in_shape[0]], []

    def infer_storage_type(self, in_stype):
        return [in_stype[0], 'default'], [in_stype[0]], []

    def infer_storage_type_backward(self, ograd_stype, in_stype, out_stype, igrad_stype, aux_stype):
        return ['default'], in_stype, out_stype, ['default', 'default'], aux_stype

    def create_operator(self, ctx, shapes, dtypes):
        return ScaleRows()


rng = np.random.RandomState(1)
dense = rng.rand(4, 6) * (rng.rand(4, 6) < 0.4)
x = mx.nd.array(dense).tostype('csr')
scale = mx.nd.array([1, 2, 3, 4])
y = mx.nd.Custom(x, scale, op_type='scale_rows')
print('nd', y.stype, '%.5f' % y.asnumpy().sum())

data = mx.sym.Variable('data', stype='csr')
net = mx.sym.Custom(data, mx.sym.Variable('scale'), op_type='scale_rows', name='custom')
w = mx.sym.Variable('w', shape=(6, 2))
out = mx.sym.sparse.dot(net, w)
exe = out.simple_bind(mx.cpu(), data=(4, 6), grad_req={'data': 'null', 'scale': 'write', 'w': 'write'})
exe.arg_dict['data'][:] = x
exe.arg_dict['scale'][:] = scale
exe.arg_dict['w'][:] = mx.nd.array(rng.rand(6, 2))
o = exe.forward(is_train=True)[0]
exe.backward(mx.nd.ones(o.shape))
print('arg', exe.arg_dict['data'].stype, 'out', o.stype, '%.5f' % o.asnumpy().sum())
print('grads', [(k, v.stype) for k, v in sorted(exe.grad_dict.items()) if v is not None])
print('w %.5f' % exe.grad_dict['w'].asnumpy().sum())
mx.nd.waitall()
