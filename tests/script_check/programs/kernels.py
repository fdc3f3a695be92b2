import mxnet as mx

module = mx.rtc.CudaModule(r"__global__ void f() {}")  # expect: absent
mx.library.load("custom.so")  # expect: absent
it = mx.io.MXDataIter(None)  # expect: absent
