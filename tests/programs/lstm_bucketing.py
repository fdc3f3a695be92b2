"""A language model in buckets, trained with the fused LSTM and tested with stacked cells, in the manner of 2017."""
import argparse
import logging
import random

import mxnet as mx
import numpy as np

parser = argparse.ArgumentParser(description="Train RNN on sentences of a small grammar")
parser.add_argument('--test', default=False, action='store_true', help='whether to test instead of train')
parser.add_argument('--model-prefix', type=str, default='lm', help='path to save/load model')
parser.add_argument('--num-layers', type=int, default=2, help='number of stacked RNN layers')
parser.add_argument('--num-hidden', type=int, default=24, help='hidden layer size')
parser.add_argument('--num-embed', type=int, default=16, help='embedding layer size')
parser.add_argument('--bidirectional', type=bool, default=False, help='whether to use bidirectional layers')
parser.add_argument('--num-epochs', type=int, default=5, help='max num of epochs')
parser.add_argument('--lr', type=float, default=0.02, help='initial learning rate')
parser.add_argument('--batch-size', type=int, default=16, help='the batch size')
parser.add_argument('--disp-batches', type=int, default=20, help='show progress for every n batches')

buckets = [6, 8, 10]
start_label = 1
invalid_label = 0


def tokenize_text(count, seed, vocab=None):
    """Sentences of a small grammar: each word is followed by one of two others."""
    words = ['the', 'a', 'cat', 'dog', 'sees', 'hears', 'that', 'bird', 'and', 'then', 'sings']
    rng = np.random.RandomState(seed)
    lines = []
    for _ in range(count):
        word, line = rng.randint(11), []
        for _ in range(rng.randint(4, 11)):
            line.append(words[word])
            word = (word * 3 + rng.randint(2)) % 11
        lines.append(line)
    return mx.rnn.encode_sentences(lines, vocab=vocab, invalid_label=invalid_label, start_label=start_label)


def get_data(layout, batch_size):
    train_sent, vocab = tokenize_text(600, 1)
    val_sent, _ = tokenize_text(150, 2, vocab=vocab)
    data_train = mx.rnn.BucketSentenceIter(train_sent, batch_size, buckets=buckets, invalid_label=invalid_label,
                                           layout=layout)
    data_val = mx.rnn.BucketSentenceIter(val_sent, batch_size, buckets=buckets, invalid_label=invalid_label,
                                         layout=layout)
    return data_train, data_val, vocab


def make_cell(args):
    cell = mx.rnn.SequentialRNNCell()
    for i in range(args.num_layers):
        cell.add(mx.rnn.FusedRNNCell(args.num_hidden, num_layers=1, mode='lstm', prefix='lstm_l%d' % i,
                                     bidirectional=args.bidirectional))
    return cell


def train(args):
    data_train, data_val, vocab = get_data('TN', args.batch_size)
    cell = make_cell(args)

    def sym_gen(seq_len):
        data = mx.sym.Variable('data')
        label = mx.sym.Variable('softmax_label')
        embed = mx.sym.Embedding(data=data, input_dim=len(vocab), output_dim=args.num_embed, name='embed')
        output, _ = cell.unroll(seq_len, inputs=embed, merge_outputs=True, layout='TNC')
        pred = mx.sym.Reshape(output, shape=(-1, args.num_hidden * (1 + args.bidirectional)))
        pred = mx.sym.FullyConnected(data=pred, num_hidden=len(vocab), name='pred')
        label = mx.sym.Reshape(label, shape=(-1,))
        pred = mx.sym.SoftmaxOutput(data=pred, label=label, use_ignore=True, ignore_label=invalid_label, name='softmax')
        return pred, ('data',), ('softmax_label',)

    model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=data_train.default_bucket_key, context=mx.cpu())
    model.fit(train_data=data_train, eval_data=data_val, eval_metric=mx.metric.Perplexity(invalid_label),
              optimizer='adam', optimizer_params={'learning_rate': args.lr},
              initializer=mx.init.Xavier(factor_type="in", magnitude=2.34), num_epoch=args.num_epochs,
              batch_end_callback=mx.callback.Speedometer(args.batch_size, args.disp_batches, auto_reset=False),
              epoch_end_callback=mx.rnn.do_rnn_checkpoint(cell, args.model_prefix, 5))


def test(args):
    _, data_val, vocab = get_data('NT', args.batch_size)
    stack = mx.rnn.SequentialRNNCell()
    for i in range(args.num_layers):
        cell = mx.rnn.LSTMCell(num_hidden=args.num_hidden, prefix='lstm_l%dl0_' % i)
        if args.bidirectional:
            cell = mx.rnn.BidirectionalCell(cell, mx.rnn.LSTMCell(num_hidden=args.num_hidden,
                                                                  prefix='lstm_l%dr0_' % i),
                                            output_prefix='bi_lstm_%d' % i)
        stack.add(cell)

    def sym_gen(seq_len):
        data = mx.sym.Variable('data')
        label = mx.sym.Variable('softmax_label')
        embed = mx.sym.Embedding(data=data, input_dim=len(vocab), output_dim=args.num_embed, name='embed')
        stack.reset()
        outputs, _ = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
        pred = mx.sym.Reshape(outputs, shape=(-1, args.num_hidden * (1 + args.bidirectional)))
        pred = mx.sym.FullyConnected(data=pred, num_hidden=len(vocab), name='pred')
        label = mx.sym.Reshape(label, shape=(-1,))
        pred = mx.sym.SoftmaxOutput(data=pred, label=label, use_ignore=True, ignore_label=invalid_label, name='softmax')
        return pred, ('data',), ('softmax_label',)

    model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=data_val.default_bucket_key, context=mx.cpu())
    model.bind(data_val.provide_data, data_val.provide_label, for_training=False)
    _, arg_params, aux_params = mx.rnn.load_rnn_checkpoint(stack, args.model_prefix, 5)
    model.set_params(arg_params, aux_params)
    (name, value), = model.score(data_val, mx.metric.Perplexity(invalid_label))
    print('%s %.3f' % (name, value))


if __name__ == '__main__':
    logging.basicConfig(level=logging.DEBUG, format='%(asctime)-15s %(message)s')
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    args = parser.parse_args()
    train(args)
    random.seed(0)
    np.random.seed(0)
    test(args)
