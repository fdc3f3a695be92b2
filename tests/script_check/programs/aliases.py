import importlib
import mxnet

mx = mxnet
S = mx.sym
conv = S.Convolution
FC = getattr(S, "FullyConnected")
lost = getattr(S, "FullyLost")  # expect: mistake
maybe = getattr(S, "FullyLost", None)
same = importlib.import_module("mxnet.ndarray")


def block(data, S2=None):
    data = conv(data, kernl=(3, 3), num_filter=2)  # expect: keyword
    local = mx.sym
    data = local.Poolin(data)  # expect: mistake
    same.onez(3)  # expect: mistake
    return FC(data, num_hidden=2, hidden=3)  # expect: keyword


def unknown(mx, S):
    """Arguments may be anything."""
    mx.nothing(1)
    S.Nothing(2)
    for FC in mx:
        FC(x=3)


class Holder:
    S = object()

    def use(self):
        self.sym.Nothing()
        return S.Nothing2()  # expect: mistake
