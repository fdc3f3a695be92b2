from mxnet.symbol import *
from common import *

net = FullyConnected(Variable("data"), num_hidden=3)
for i in xrange(3):
    anything(i)
