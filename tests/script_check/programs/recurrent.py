import mxnet as mx
from mxnet import rnn
from mxnet.gluon import rnn as gluon_rnn

stack = rnn.SequentialRNNCell()
stack.add(rnn.LSTMCell(num_hidden=20, prefix="l0_"))
stack.add(rnn.LSTMCell(hidden=20))  # expect: keyword
fused = rnn.FusedRNNCell(20, num_layers=2, mode="lstm")
cell = gluon_rnn.LSTM(20)  # expect: absent
mx.rnn.BucketSentenceIter([[1, 2]], 2, buckets=[3])
