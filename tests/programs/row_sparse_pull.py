"""A key-value store used by hand: row_sparse_pull of a batch's rows, push of row_sparse gradients, an updater."""
import mxnet as mx
import numpy as np

rng = np.random.RandomState(0)
shape = (50, 4)
kv = mx.kv.create('local')
table = mx.nd.array(rng.randn(*shape)).tostype('row_sparse')
kv.init('embed', table)
kv.init('fc', mx.nd.array(rng.randn(4, 2)))
kv.set_optimizer(mx.optimizer.create('adagrad', learning_rate=0.1, rescale_grad=0.5))
devs = [mx.cpu(0), mx.cpu(1)]

fc = [mx.nd.zeros((4, 2), ctx=d) for d in devs]
for step in range(5):
    ids = [mx.nd.array(rng.randint(0, 50, 6), ctx=d) for d in devs]
    rows = [mx.nd.sparse.zeros('row_sparse', shape, ctx=d) for d in devs]
    kv.row_sparse_pull('embed', out=rows, row_ids=ids)
    kv.pull('fc', out=fc)
    grads, fc_grads, total = [], [], 0.0
    for i, w, f in zip(ids, rows, fc):
        e = mx.nd.take(mx.nd.sparse.retain(w, mx.nd.array(np.unique(i.asnumpy()))).tostype('default'), i)
        out = mx.nd.dot(e, f)
        total += (out ** 2).sum().asscalar()
        ge = mx.nd.dot(2 * out, f, transpose_b=True)
        order = np.unique(i.asnumpy())
        dense = mx.nd.zeros(shape)
        for k, row in zip(i.asnumpy().astype(int), ge):
            dense[k] += row
        grads.append(mx.nd.sparse.row_sparse_array((dense.asnumpy()[order.astype(int)], order), shape=shape))
        fc_grads.append(mx.nd.dot(e, 2 * out, transpose_a=True))
    kv.push('embed', grads)
    kv.push('fc', fc_grads)
    print('step %d loss %.5f rows %s' % (step, total, [len(r.indices) for r in rows]))

everything = mx.nd.sparse.zeros('row_sparse', shape)
kv.row_sparse_pull('embed', out=everything, row_ids=mx.nd.arange(50))
print('sum %.5f untouched %d' % (everything.asnumpy().sum(), int((everything.asnumpy() == table.asnumpy()).all(axis=1).sum())))
one = mx.nd.sparse.zeros('row_sparse', shape)
kv.row_sparse_pull('embed', out=one, row_ids=mx.nd.array([7, 3, 7], dtype='int64'))
print(one.indices.asnumpy().tolist(), one.data.shape, one.stype)
dense = mx.nd.zeros(shape)
kv.pull('embed', out=dense, ignore_sparse=False)
print('dense %.5f' % abs(dense.asnumpy() - everything.asnumpy()).max())
kv.save_optimizer_states('store.states')
kv.load_optimizer_states('store.states')
mx.nd.save('table.params', {'embed': one, 'fc': fc[0], 'batch': dense.tostype('csr')})
back = mx.nd.load('table.params')
print(sorted((k, v.stype, v.shape) for k, v in back.items()))
