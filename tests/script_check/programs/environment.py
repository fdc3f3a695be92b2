import os
from os import environ, getenv

os.environ["MXNET_ENGINE_TYPE"] = "NaiveEngine"  # expect: environment
os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "0"
os.environ.setdefault("MXNET_GPU_MEM_POOL_TYPE", "Round")  # expect: environment
environ["MXNET_EXEC_BULK_EXEC_TRAIN"] = "1"  # expect: environment
getenv("MXNET_HOME")
getenv("MXNET_CPU_WORKER_NTHREADS", "1")  # expect: environment
os.environ["OMP_NUM_THREADS"] = "1"
import mxnet as mx
