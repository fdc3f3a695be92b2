import mxnet as mx
import urllib2  # expect: python2
import cPickle as pickle  # expect: python2
from itertools import izip  # expect: python2


def train(epochs, batch):
    print "begin"  # expect: python2
    print "epochs: %d %s" % (epochs,  # expect: python2
                             batch)
    for i in xrange(epochs):  # expect: python2
        try:
            if i <> 3:  # expect: python2
                raise ValueError, "no"  # expect: python2
        except ValueError, e:  # expect: python2
            print >>out, e  # expect: python2
        half = len(batch) / 2  # expect: python2
        share = half / 3
    d = {}
    if d.has_key("a"): print "a", `d`  # expect: python2, python2, python2
    for k, v in d.iteritems():  # expect: python2
        print  # expect: python2
    mode = 0644  # expect: python2
    many = 10L  # expect: python2
    text = "print it, except X, e: 0644"  # print this
    data = pickle.load(open("data.pkl"))  # expect: python2
    mx.sym.Nothing()  # expect: mistake
