import mxnet as mx

x = mx.nd.ones((1,))
a = float(x.asnumpy())  # expect: number
b = int(x.sum().asnumpy())  # expect: number
print("loss %f" % x.asnumpy())  # expect: number
print("%s is %.3f" % ("loss", x.asnumpy()))  # expect: number
print("%s" % x.asnumpy())
c = float(x.asscalar()), float(x.asnumpy()[0]), float(x.asnumpy().mean())
print("%d %s" % (3, x.asnumpy()))
print("%(loss)f" % {"loss": 3})


def show(y):
    print(int(y.asnumpy()))  # expect: number
