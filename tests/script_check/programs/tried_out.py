"""What is tried out first stops nothing."""
try:
    from mxnet import np as mnp
except ImportError:
    mnp = None
try:
    import cPickle as pickle
except ImportError:
    import pickle
import sys
import mxnet as mx

try:
    xrange
except NameError:
    xrange = range

if sys.version_info[0] < 3:
    text = unicode
else:
    text = str
if hasattr(mx, "rtc"):
    mx.rtc.CudaModule("x")
for i in xrange(3):
    pickle.dumps(i)
try:
    mx.nd.nothing_of_the_kind(1)
except AttributeError:
    pass
