"""Bag of words as SciPy's csr matrix: from scipy to csr_matrix, NDArrayIter, logistic regression by hand and by Module."""
import logging

import mxnet as mx
import numpy as np
import scipy.sparse as sp

logging.basicConfig(level=logging.INFO)
rng = np.random.RandomState(3)
docs, vocab, per_doc = 400, 500, 15
y = rng.randint(0, 3, docs)
cols = (vocab * rng.rand(docs, per_doc) ** 2).astype(int)
cols = np.where(rng.rand(docs, per_doc) < 0.6, cols // 3 * 3 + y[:, None], cols) % vocab
counts = sp.coo_matrix((np.ones(docs * per_doc, 'float32'), (np.repeat(np.arange(docs), per_doc), cols.ravel())),
                       shape=(docs, vocab)).tocsr()

X = mx.nd.sparse.csr_matrix(counts, dtype='float32')
print(X.stype, X.shape, X.dtype.__name__, X.data.shape[0], X.indptr.dtype.__name__)
idf = np.log(docs / (1.0 + np.asarray((counts > 0).sum(axis=0)).ravel())).astype('float32')
tfidf = mx.nd.sparse.csr_matrix(counts.multiply(idf[None]).tocsr().astype('float32'))
lengths = mx.nd.sum(mx.nd.square(tfidf), axis=1).asnumpy() ** 0.5
tfidf = mx.nd.sparse.csr_matrix(sp.diags(1 / lengths).dot(tfidf.asscipy()).tocsr().astype('float32'))
print('mean length %.4f' % np.sqrt((tfidf.asnumpy() ** 2).sum(axis=1)).mean())

cut = 320
train = mx.io.NDArrayIter(tfidf[:cut], y[:cut].astype('float32'), 32, last_batch_handle='discard')
test = mx.io.NDArrayIter(tfidf[cut:], y[cut:].astype('float32'), 32, last_batch_handle='discard')


def model():
    data = mx.sym.Variable('data', stype='csr')
    weight = mx.sym.Variable('weight', shape=(vocab, 3))
    bias = mx.sym.Variable('bias', shape=(3,))
    pred = mx.sym.broadcast_add(mx.sym.sparse.dot(data, weight), bias)
    return mx.sym.SoftmaxOutput(pred, name='softmax')


mod = mx.mod.Module(model())
mod.fit(train, eval_data=test, optimizer='sgd', optimizer_params={'learning_rate': 2.0, 'momentum': 0.9},
        initializer=mx.init.Zero(), num_epoch=8)
print('module accuracy %.4f' % mod.score(test, 'acc')[0][1])

# the same by hand: one full batch
W = mx.nd.zeros((vocab, 3))
onehot = mx.nd.one_hot(mx.nd.array(y[:cut]), 3)
Xtr = tfidf[0:cut]
for step in range(60):
    p = mx.nd.softmax(mx.nd.sparse.dot(Xtr, W))
    g = mx.nd.sparse.dot(Xtr, p - onehot, transpose_a=True)
    assert g.stype == 'row_sparse'
    mx.nd.sparse.sgd_update(W, g, lr=2.0, wd=0.0, rescale_grad=1.0 / 32, out=W)
pred = mx.nd.sparse.dot(tfidf[cut:docs], W).asnumpy().argmax(axis=1)
print('by hand accuracy %.4f norm %.4f' % ((pred == y[cut:]).mean(), mx.nd.norm(W).asscalar()))
print(tfidf)
