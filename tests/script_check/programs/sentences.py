import mxnet as mx
from mxnet import rnn

words = [line.split() for line in open("train.txt")]
sentences, vocab = rnn.encode_sentences(words, invalid_label=0, start_label=1)
test, _ = rnn.encode_sentences(words, vocab=vocab, unknown_token="<unk>", start_label=1)  # expect: value
train = rnn.BucketSentenceIter(sentences, 32, buckets=[10, 20], invalid_label=0)
stack = rnn.SequentialRNNCell()
stack.add(rnn.LSTMCell(num_hidden=200, prefix="l0_"))
stack.ad(rnn.DropoutCell(0.5))  # expect: mistake
fused = rnn.FusedRNNCell(200, num_layers=2, mode="lstm", forget_bias=2.0)  # expect: value
fused.unfus()  # expect: mistake
conv = rnn.ConvGRUCell((1, 5, 5, 2), num_hidden=4, conv_layout="NHWC")  # expect: value


def sym_gen(seq_len):
    data, label = mx.sym.var("data"), mx.sym.var("softmax_label")
    embed = mx.sym.Embedding(data=data, input_dim=len(vocab), output_dim=200, name="embed")
    stack.reset()
    outputs, states = stack.unroll(seq_len, inputs=embed, merge_outputs=True)
    pred = mx.sym.FullyConnected(data=mx.sym.Reshape(outputs, shape=(-1, 200)), num_hidden=len(vocab))
    return mx.sym.SoftmaxOutput(data=pred, label=label, name="softmax"), ("data",), ("softmax_label",)


model = mx.mod.BucketingModule(sym_gen=sym_gen, default_bucket_key=train.default_bucket_key, context=mx.gpu(0))
model.fit(train_data=train, eval_metric=mx.metric.Perplexity(0), kvstore="dist_device_sink")  # expect: choice
