import sys
import string
import time
import pickle
import mxnet as mx

biggest = sys.maxint  # expect: python2
letters = string.letters  # expect: python2
begin = time.clock()  # expect: python2
name = raw_input("name")  # expect: python2
text = unicode(name)  # expect: python2
kind = isinstance(text, basestring)  # expect: python2
pairs = zip([1], [2])[0]  # expect: python2
first = {}.keys()[0]  # expect: python2
total = reduce(lambda a, b: a + b, [1, 2])  # expect: python2
with open("x.pkl", "rb") as file:
    pickle.load(file)
pickle.dump(1, open("x.pkl", "w"))  # expect: python2
pickle.dump(1, open("x.pkl", "wb"))
ok = len([1, 2]) / 2
it = mx.io.NDArrayIter([1])
batch = it.next()
