import cPickle as pickle  # expect: python2
import mxnet as mx

def load(path):
    words = pickle.load(open(path))  # expect: python2
    lengths = [len(x) for x in words]
    print "longest", max(lengths)  # expect: python2
    for key, value in sorted(words.iteritems()):  # expect: python2
        yield key, value

class Iter(mx.io.DataIter):
    def next(self):
        batches = len(self.data) / 32  # expect: python2
        if self.cursor >= batches:
            raise StopIteration, "end"  # expect: python2
        return mx.io.DataBatch(data=[mx.nd.array(self.data)], label=[], pad=0)

    def reset(self):
        self.cursor = 0L  # expect: python2

model = mx.mod.BucketingModule(lambda key: (mx.sym.var("data"), ("data",), None), default_bucket_key=10)
model.bind(data_shapes=[("data", (32, 10))], label_shape=None)  # expect: keyword
print "%f" % mx.nd.ones((1,)).asnumpy()  # expect: python2, number
