"""`mx.runtime`: the features of this installation, by MXNet's names."""

from __future__ import annotations

import importlib.util
import platform
from collections import OrderedDict
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch

from ..absent import old_names
from ..errors import NameLookupError, near_names

__all__ = ["Feature", "Features", "feature_list"]


class Feature(NamedTuple):
    """One feature, and whether it is available.

    >>> Feature("CUDA", False)
    ✖ CUDA
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """Return MXNet's features, and which of them hold with PyTorch as the engine.

    What has no counterpart (TVM operators, TensorRT, Caffe, ...) is off; sizes of arrays are always 64 bits.

    >>> [feature.name for feature in feature_list()][:2]
    ['CUDA', 'CUDNN']
    """
    cuda = torch.version.cuda is not None and torch.cuda.is_available()
    mkl = torch.backends.mkl.is_available()
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    avx2 = x86 and torch.backends.cpu.get_cpu_capability().startswith("AVX")  # AVX2, AVX512: what torch uses
    available = {
        "CUDA": cuda,
        "CUDNN": cuda and torch.backends.cudnn.is_available(),
        "NCCL": cuda and torch.distributed.is_available() and torch.distributed.is_nccl_available(),
        "CUDA_RTC": False,
        "TENSORRT": False,
        **dict.fromkeys(("CPU_SSE", "CPU_SSE2"), x86),
        **dict.fromkeys(("CPU_SSE3", "CPU_SSE4_1", "CPU_SSE4_2", "CPU_AVX", "CPU_AVX2"), avx2),
        "CPU_SSE4A": False,
        "OPENMP": torch.backends.openmp.is_available(),
        "SSE": False,
        "F16C": avx2,
        "JEMALLOC": False,
        "BLAS_OPEN": not mkl,
        "BLAS_ATLAS": False,
        "BLAS_MKL": mkl,
        "BLAS_APPLE": False,
        "LAPACK": "LAPACK is enabled" in torch.__config__.show(),
        "MKLDNN": torch.backends.mkldnn.is_available(),
        "OPENCV": importlib.util.find_spec("cv2") is not None,
        "CAFFE": False,
        "PROFILER": True,
        "DIST_KVSTORE": False,
        "CXX14": False,
        "INT64_TENSOR_SIZE": True,
        "SIGNAL_HANDLER": False,
        "DEBUG": False,
        "TVM_OP": False,
    }
    return [Feature(name, bool(enabled)) for name, enabled in available.items()]


class Features(OrderedDict):
    """The features by name; `Features.instance` is the one that was made last.

    >>> Features().is_enabled("int64_tensor_size"), Features.instance == Features()
    (True, True)
    """

    instance: ClassVar[Features | None] = None

    def __init__(self) -> None:
        super().__init__((feature.name, feature) for feature in feature_list())
        Features.instance = self

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Return whether a feature is available; its name in any case.

        >>> Features().is_enabled("Caffe")
        False
        """
        name = feature_name.upper()
        if name not in self:
            raise NameLookupError(
                f"Features.is_enabled: no feature {feature_name!r}{near_names(name, self)} Known: {', '.join(self)}."
            )
        return self[name].enabled


if not TYPE_CHECKING:  # a type checker would take every name for valid
    __getattr__ = old_names(__name__)
