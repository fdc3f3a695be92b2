from mxnet.module.base_module import BaseModule
from mxnet.base import check_call, _LIB, MXNetError
from mxnet.io.io import DataDesc
import mxnet.executor_manager
import mxnet.rtc
import mxnet.tvmop  # expect: absent
from mxnet.glue import thing  # expect: mistake
from mxnet.module.base_module import BasicModule  # expect: mistake

check_call(1)  # expect: absent
kernel = mxnet.rtc.CudaModule("source")  # expect: absent
mxnet.th.tanh(1)  # expect: absent
_ = mxnet.executor_manager._split_input_slice
