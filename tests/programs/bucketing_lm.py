"""A language model on sentences of several lengths: BucketingModule, with an iterator of its own over the buckets."""
import logging
import random

import mxnet as mx
import numpy as np


def read_content(count, seed):
    """Sentences of a small grammar: each word is followed by one of two others."""
    rng = np.random.RandomState(seed)
    sentences = []
    for _ in range(count):
        word, sentence = rng.randint(1, 12), []
        for _ in range(rng.randint(4, 11)):
            sentence.append(word)
            word = 1 + (word * 3 + rng.randint(2)) % 11
        sentences.append(sentence)
    return sentences


class BucketSentenceIter(mx.io.DataIter):
    def __init__(self, sentences, batch_size, buckets, init_states, invalid_label=0):
        super(BucketSentenceIter, self).__init__(batch_size)
        self.data = [[] for _ in buckets]
        for sentence in sentences:
            buck = np.searchsorted(buckets, len(sentence))
            padded = np.full((buckets[buck],), invalid_label, dtype='float32')
            padded[:len(sentence)] = sentence
            self.data[buck].append(padded)
        self.data = [np.asarray(i, dtype='float32') for i in self.data]
        self.buckets, self.invalid_label = buckets, invalid_label
        self.default_bucket_key = max(buckets)
        self.init_states = init_states
        self.init_state_arrays = [mx.nd.zeros(x[1]) for x in init_states]
        self.provide_data = [('data', (batch_size, self.default_bucket_key))] + init_states
        self.provide_label = [('softmax_label', (batch_size, self.default_bucket_key))]
        self.idx = []
        for i, buck in enumerate(self.data):
            self.idx.extend([(i, j) for j in range(0, len(buck) - batch_size + 1, batch_size)])
        self.reset()

    def reset(self):
        self.curr_idx = 0
        random.shuffle(self.idx)
        for buck in self.data:
            np.random.shuffle(buck)

    def next(self):
        if self.curr_idx == len(self.idx):
            raise StopIteration
        i, j = self.idx[self.curr_idx]
        self.curr_idx += 1
        data = self.data[i][j:j + self.batch_size]
        label = np.full_like(data, self.invalid_label)
        label[:, :-1] = data[:, 1:]
        shape = (self.batch_size, self.buckets[i])
        return mx.io.DataBatch([mx.nd.array(data)] + self.init_state_arrays, [mx.nd.array(label)], pad=0,
                               bucket_key=self.buckets[i],
                               provide_data=[('data', shape)] + self.init_states,
                               provide_label=[('softmax_label', shape)])


if __name__ == '__main__':
    logging.basicConfig(level=logging.DEBUG, format='%(asctime)-15s %(message)s')
    random.seed(0)
    np.random.seed(0)
    mx.random.seed(0)
    batch_size, num_hidden, num_embed, vocab = 16, 32, 16, 12
    buckets = [5, 7, 10]
    init_states = [('lstm_state', (batch_size, num_hidden)), ('lstm_state_cell', (batch_size, num_hidden))]
    data_train = BucketSentenceIter(read_content(500, 1), batch_size, buckets, init_states)
    data_val = BucketSentenceIter(read_content(150, 2), batch_size, buckets, init_states)

    def sym_gen(seq_len):
        data = mx.sym.Variable('data')
        label = mx.sym.Variable('softmax_label')
        embed = mx.sym.Embedding(data=data, input_dim=vocab, output_dim=num_embed, name='embed')
        time_major = mx.sym.SwapAxis(embed, dim1=0, dim2=1)
        output = mx.sym.RNN(data=time_major, parameters=mx.sym.Variable('lstm_parameters', init=mx.init.Uniform(0.1)),
                            state=mx.sym.expand_dims(mx.sym.Variable('lstm_state'), axis=0),
                            state_cell=mx.sym.expand_dims(mx.sym.Variable('lstm_state_cell'), axis=0),
                            state_size=num_hidden, num_layers=1, mode='lstm', name='lstm')
        output = mx.sym.SwapAxis(output, dim1=0, dim2=1)
        pred = mx.sym.Reshape(output, shape=(-1, num_hidden))
        pred = mx.sym.FullyConnected(data=pred, num_hidden=vocab, name='pred')
        label = mx.sym.Reshape(label, shape=(-1,))
        pred = mx.sym.SoftmaxOutput(data=pred, label=label, use_ignore=True, ignore_label=0, name='softmax')
        return pred, ('data', 'lstm_state', 'lstm_state_cell'), ('softmax_label',)

    model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=data_train.default_bucket_key,
                                   context=mx.cpu())
    model.fit(train_data=data_train, eval_data=data_val, eval_metric=mx.metric.Perplexity(0), kvstore='local',
              optimizer='adam', optimizer_params={'learning_rate': 0.02, 'wd': 0.00001},
              initializer=mx.init.Xavier(),
              num_epoch=4, batch_end_callback=mx.callback.Speedometer(batch_size, 10))
    (name, value), = model.score(data_val, mx.metric.Perplexity(0))
    print('%s %.3f' % (name, value))
