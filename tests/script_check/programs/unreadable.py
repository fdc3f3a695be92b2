import mxnet as mx

mx.sym.Variable("a"  # expect: syntax
x = 3
