import os
from os import environ, getenv

os.environ["MXNET_ENGINE_TYPE"] = "NaiveEngine"  # expect: environment
os.environ["MXNET_CUDNN_AUTOTUNE_DEFAULT"] = "0"
os.environ.setdefault("MXNET_GPU_MEM_POOL_TYPE", "Round")  # expect: environment
environ["MXNET_EXEC_BULK_EXEC_TRAIN"] = "1"  # expect: environment
getenv("MXNET_HOME")
getenv("MXNET_CPU_WORKER_NTHREADS", "1")  # expect: environment
os.environ["MXNET_ENGNE_TYPE"] = "NaiveEngine"  # expect: environment
os.environ["REBIND_OF_MY_OWN"] = os.environ["MY_MXNET_HOME"]
os.environ["PS_VERBOSE"] = "2"  # expect: environment
os.environ.setdefault("MXNET_GLUON_REPO", "https://example.org")  # expect: environment
os.environ["DMLC_ROLE"] = "worker"
os.environ["PS_OF_MY_OWN"] = "1"
os.environ["OMP_NUM_THREADS"] = "1"
import mxnet as mx
