"""Training with autograd and attach_grad(stype='row_sparse'): word vectors by skip-gram, and a trainer's loop by hand."""
import mxnet as mx
import numpy as np
from mxnet import autograd, nd

rng = np.random.RandomState(2)
vocab, dim, batch = 200, 10, 32
centers = nd.array(rng.normal(0, 0.1, (vocab, dim)))
contexts = nd.array(rng.normal(0, 0.1, (vocab, dim)))
params = [centers, contexts]
for p in params:
    p.attach_grad(stype='row_sparse')
print([p.grad.stype for p in params])

opt = mx.optimizer.create('adam', learning_rate=0.02, lazy_update=True)
updater = mx.optimizer.get_updater(opt)
start = centers.asnumpy()
seen = set()
for step in range(60):
    word = rng.randint(0, vocab // 4, batch) * 2        # even words below 100 only
    near = (word + rng.randint(-2, 3, batch)) % vocab
    far = rng.randint(0, vocab, batch)
    seen |= set(word.tolist())
    w, c, n = nd.array(word), nd.array(near), nd.array(far)
    with autograd.record():
        e = nd.Embedding(w, centers, input_dim=vocab, output_dim=dim, sparse_grad=True)
        p = nd.Embedding(c, contexts, input_dim=vocab, output_dim=dim, sparse_grad=True)
        q = nd.Embedding(n, contexts, input_dim=vocab, output_dim=dim, sparse_grad=True)
        loss = nd.relu(1 - (e * p).sum(axis=1)) + nd.relu(1 + (e * q).sum(axis=1))
    loss.backward()
    for i, param in enumerate(params):
        grad = param.grad
        assert grad.stype == 'row_sparse'
        norm = grad.norm().asscalar()
        updater(i, grad, param)
    if step % 20 == 0:
        rows = len(set(word.tolist()))
        print('step %d loss %.5f norm %.5f rows %d' % (step, loss.mean().asscalar(), norm, rows))
        print('indices', centers.grad.indices.asnumpy().tolist() == sorted(set(word.tolist())))
moved = (centers.asnumpy() != start).any(axis=1)
print('moved %d seen %d' % (moved.sum(), len(seen)))
print('final %.5f %.5f' % (abs(centers.asnumpy()).sum(), abs(contexts.asnumpy()).sum()))

# a sparse input with autograd
x = nd.array(np.eye(4, 6) * 2).tostype('csr')
w = nd.ones((6, 3))
w.attach_grad(stype='row_sparse')
with autograd.record():
    z = nd.sparse.dot(x, w).sum()
z.backward()
print(w.grad.stype, w.grad.indices.asnumpy().tolist(), w.grad.data.asnumpy()[:, 0].tolist())
