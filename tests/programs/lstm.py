"""An LSTM unrolled by hand, in the manner of 2015: it learns to say which of two symbols came first."""
from collections import namedtuple
import logging

import mxnet as mx
import numpy as np
from mxnet.base import string_types

LSTMState = namedtuple("LSTMState", ["c", "h"])
LSTMParam = namedtuple("LSTMParam", ["i2h_weight", "i2h_bias", "h2h_weight", "h2h_bias"])


def lstm(num_hidden, indata, prev_state, param, seqidx, layeridx):
    """One step of an LSTM."""
    i2h = mx.sym.FullyConnected(data=indata, weight=param.i2h_weight, bias=param.i2h_bias,
                                num_hidden=num_hidden * 4, name="t%d_l%d_i2h" % (seqidx, layeridx))
    h2h = mx.sym.FullyConnected(data=prev_state.h, weight=param.h2h_weight, bias=param.h2h_bias,
                                num_hidden=num_hidden * 4, name="t%d_l%d_h2h" % (seqidx, layeridx))
    gates = i2h + h2h
    slice_gates = mx.sym.SliceChannel(gates, num_outputs=4, name="t%d_l%d_slice" % (seqidx, layeridx))
    in_gate = mx.sym.Activation(slice_gates[0], act_type="sigmoid")
    in_transform = mx.sym.Activation(slice_gates[1], act_type="tanh")
    forget_gate = mx.sym.Activation(slice_gates[2], act_type="sigmoid")
    out_gate = mx.sym.Activation(slice_gates[3], act_type="sigmoid")
    next_c = (forget_gate * prev_state.c) + (in_gate * in_transform)
    next_h = out_gate * mx.sym.Activation(next_c, act_type="tanh")
    return LSTMState(c=next_c, h=next_h)


def lstm_unroll(num_layers, seq_len, input_size, num_hidden, num_embed, num_label):
    embed_weight = mx.sym.Variable("embed_weight")
    param_cells, last_states = [], []
    for i in range(num_layers):
        param_cells.append(LSTMParam(i2h_weight=mx.sym.Variable("l%d_i2h_weight" % i),
                                     i2h_bias=mx.sym.Variable("l%d_i2h_bias" % i),
                                     h2h_weight=mx.sym.Variable("l%d_h2h_weight" % i),
                                     h2h_bias=mx.sym.Variable("l%d_h2h_bias" % i)))
        last_states.append(LSTMState(c=mx.sym.Variable("l%d_init_c" % i), h=mx.sym.Variable("l%d_init_h" % i)))
    embed = mx.sym.Embedding(data=mx.sym.Variable('data'), input_dim=input_size, weight=embed_weight,
                             output_dim=num_embed, name='embed')
    wordvec = mx.sym.SliceChannel(data=embed, num_outputs=seq_len, squeeze_axis=1)
    for seqidx in range(seq_len):
        hidden = wordvec[seqidx]
        for i in range(num_layers):
            last_states[i] = lstm(num_hidden, hidden, last_states[i], param_cells[i], seqidx, i)
            hidden = last_states[i].h
    pred = mx.sym.FullyConnected(data=hidden, num_hidden=num_label, name='pred')
    return mx.sym.SoftmaxOutput(data=pred, name='softmax')


def main():
    logging.basicConfig(level=logging.INFO)
    mx.random.seed(3)
    np.random.seed(3)
    batch_size, seq_len, num_hidden = 32, 5, 16
    x = np.random.randint(0, 2, (640, seq_len)).astype('float32')
    y = x[:, 0].copy()
    init_states = {'l0_init_c': np.zeros((640, num_hidden)), 'l0_init_h': np.zeros((640, num_hidden))}
    data = dict(init_states, data=x)
    train = mx.io.NDArrayIter(data, {'softmax_label': y}, batch_size, shuffle=True)
    net = lstm_unroll(1, seq_len, 2, num_hidden, 8, 2)
    assert all(isinstance(name, string_types) for name in net.list_arguments())
    assert net.infer_shape(data=(32, seq_len), l0_init_c=(32, 16), l0_init_h=(32, 16))[1] == [(32, 2)]

    mod = mx.mod.Module(net, data_names=sorted(data), label_names=['softmax_label'])
    perplexity = mx.metric.Perplexity(ignore_label=None)
    mod.fit(train, num_epoch=4, eval_metric=perplexity, optimizer='Adam', optimizer_params={'learning_rate': 0.02},
            initializer=mx.initializer.Xavier(factor_type="in", magnitude=2.34))
    print('perplexity %.4f' % perplexity.get()[1])
    assert perplexity.get()[1] < 1.2


if __name__ == '__main__':
    main()
