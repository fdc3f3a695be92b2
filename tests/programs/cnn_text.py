"""Sentences classified by convolutions over words: filters of three widths, simple_bind, gradients clipped by hand."""
from collections import namedtuple
import math

import mxnet as mx
import numpy as np

CNNModel = namedtuple('CNNModel', ['cnn_exec', 'symbol', 'data', 'label', 'param_blocks'])


def make_text_cnn(sentence_size, num_embed, batch_size, vocab_size, num_label=2, filter_list=[2, 3, 4], num_filter=8,
                  dropout=0.3):
    input_x = mx.sym.Variable('data')
    input_y = mx.sym.Variable('softmax_label')
    embed_layer = mx.sym.Embedding(data=input_x, input_dim=vocab_size, output_dim=num_embed, name='vocab_embed')
    conv_input = mx.sym.Reshape(data=embed_layer, target_shape=(batch_size, 1, sentence_size, num_embed))
    pooled_outputs = []
    for i, filter_size in enumerate(filter_list):
        convi = mx.sym.Convolution(data=conv_input, kernel=(filter_size, num_embed), num_filter=num_filter)
        relui = mx.sym.Activation(data=convi, act_type='relu')
        pooli = mx.sym.Pooling(data=relui, pool_type='max', kernel=(sentence_size - filter_size + 1, 1), stride=(1, 1))
        pooled_outputs.append(pooli)
    total_filters = num_filter * len(filter_list)
    concat = mx.sym.Concat(*pooled_outputs, dim=1)
    h_pool = mx.sym.Reshape(data=concat, target_shape=(batch_size, total_filters))
    h_drop = mx.sym.Dropout(data=h_pool, p=dropout) if dropout > 0.0 else h_pool
    cls_weight = mx.sym.Variable('cls_weight')
    cls_bias = mx.sym.Variable('cls_bias')
    fc = mx.sym.FullyConnected(data=h_drop, weight=cls_weight, bias=cls_bias, num_hidden=num_label)
    return mx.sym.SoftmaxOutput(data=fc, label=input_y, name='softmax')


def setup_cnn_model(ctx, batch_size, sentence_size, num_embed, vocab_size, initializer=mx.initializer.Uniform(0.1)):
    cnn = make_text_cnn(sentence_size, num_embed, batch_size=batch_size, vocab_size=vocab_size)
    arg_names = cnn.list_arguments()
    input_shapes = {'data': (batch_size, sentence_size)}
    arg_shape, out_shape, aux_shape = cnn.infer_shape(**input_shapes)
    arg_arrays = [mx.nd.zeros(s, ctx) for s in arg_shape]
    args_grad = {}
    for shape, name in zip(arg_shape, arg_names):
        if name in ['softmax_label', 'data']:
            continue
        args_grad[name] = mx.nd.zeros(shape, ctx)
    cnn_exec = cnn.bind(ctx=ctx, args=arg_arrays, args_grad=args_grad, grad_req='add')
    param_blocks = []
    arg_dict = dict(zip(arg_names, cnn_exec.arg_arrays))
    for i, name in enumerate(arg_names):
        if name in ['softmax_label', 'data']:
            continue
        initializer(mx.init.InitDesc(name), arg_dict[name])
        param_blocks.append((i, arg_dict[name], args_grad[name], name))
    return CNNModel(cnn_exec=cnn_exec, symbol=cnn, data=cnn_exec.arg_dict['data'],
                    label=cnn_exec.arg_dict['softmax_label'], param_blocks=param_blocks)


def sentences(count, size, vocab, seed):
    """Class 1 holds the words 1 2 next to each other, class 0 the same words in the other order."""
    rng = np.random.RandomState(seed)
    x, y = rng.randint(3, vocab, (count, size)), rng.randint(0, 2, count)
    for row, label, at in zip(x, y, rng.randint(0, size - 1, count)):
        row[at:at + 2] = [1, 2] if label else [2, 1]
    return x.astype('float32'), y.astype('float32')


def run(model, X, y, batch_size, train, updater=None, max_grad_norm=5.0):
    correct = total = 0
    for begin in range(0, X.shape[0] - batch_size + 1, batch_size):
        model.data[:] = X[begin:begin + batch_size]
        model.label[:] = y[begin:begin + batch_size]
        model.cnn_exec.forward(is_train=train)
        if train:
            model.cnn_exec.backward()
        correct += (y[begin:begin + batch_size] == np.argmax(model.cnn_exec.outputs[0].asnumpy(), axis=1)).sum()
        total += batch_size
        if not train:
            continue
        norm = 0
        for idx, weight, grad, name in model.param_blocks:
            grad /= batch_size
            l2_norm = mx.nd.norm(grad).asscalar()
            norm += l2_norm * l2_norm
        norm = math.sqrt(norm)
        for idx, weight, grad, name in model.param_blocks:
            if norm > max_grad_norm:
                grad *= (max_grad_norm / norm)
            updater(idx, grad, weight)
            # grad_req is 'add': the gradients of the next batch begin at 0
            grad[:] = 0.0
    return correct * 100 / float(total)


if __name__ == '__main__':
    mx.random.seed(6)
    np.random.seed(6)
    batch_size, size, vocab = 50, 12, 20
    model = setup_cnn_model(mx.cpu(0), batch_size, size, num_embed=12, vocab_size=vocab)
    opt = mx.optimizer.create('rmsprop')
    opt.lr = 0.005
    updater = mx.optimizer.get_updater(opt)
    X_train, y_train = sentences(600, size, vocab, 1)
    X_dev, y_dev = sentences(200, size, vocab, 2)
    for iteration in range(10):
        train_acc = run(model, X_train, y_train, batch_size, True, updater)
    print('Training accuracy %.1f development accuracy %.1f' % (train_acc, run(model, X_dev, y_dev, batch_size, False)))
