"""The table of checks: what each looks at, and what to do."""

from __future__ import annotations

import os
import platform

import numpy as np
import torch

from . import machine, packages, settings
from .findings import Check, Finding
from .gpu import architectures, gpu
from .installed import version_of

__all__ = ["CHECKS", "findings"]


def _installed_twins() -> set[str]:
    return {name for names in packages.TWINS.values() for name in names if version_of(name)}


def _gpus() -> dict[str, tuple[int, int]]:
    count = torch.cuda.device_count()
    return {torch.cuda.get_device_name(i): torch.cuda.get_device_capability(i) for i in range(count)}


CHECKS: tuple[Check, ...] = (
    Check(
        "twins",
        "packages that install the same module, such as opencv-python and opencv-python-headless",
        "uninstall all of them, then install one",
        lambda: packages.twins(_installed_twins()),
    ),
    Check(
        "mxnet",
        "whether MXNet itself is installed, and its NumPy",
        "start programs with rebind run",
        lambda: packages.mxnet_beside(packages.is_installed("mxnet", "mxnet"), np.__version__),
    ),
    Check(
        "requirements",
        "the NumPy and the PyTorch that installed packages were built for, such as numpy<2",
        "upgrade the package, or give it an environment of its own",
        lambda: packages.requirements(
            packages.needs(), {"numpy": np.__version__, "torch": torch.__version__}
        ),
    ),
    Check(
        "numpy",
        "whether PyTorch takes NumPy's arrays",
        "upgrade both",
        packages.numpy_of_torch,
    ),
    Check(
        "torch",
        "whether rebind is tested with this PyTorch",
        "install one of the versions that are named",
        lambda: packages.torch_range(torch.__version__, packages.own_requirements()),
    ),
    Check(
        "gpu",
        "whether there is a GPU, and PyTorch uses it; CUDA_VISIBLE_DEVICES",
        "install the build of PyTorch that fits, or a newer driver",
        lambda: gpu(
            os.path.exists("/proc/driver/nvidia/version"),
            torch.version.cuda,
            torch.cuda.is_available(),
            os.environ,
        ),
    ),
    Check(
        "architecture",
        "whether PyTorch has code for each GPU",
        "install another build of PyTorch",
        lambda: architectures(_gpus(), torch.cuda.get_arch_list(), torch.__version__),
    ),
    Check(
        "threads",
        "PyTorch's threads, and the cores that a container or a scheduler leaves this process",
        "set OMP_NUM_THREADS to the number of cores",
        lambda: machine.threads(torch.get_num_threads(), machine.usable_cores()),
    ),
    Check(
        "one thread",
        "OMP_NUM_THREADS=1 on a machine with several cores",
        "unset it",
        lambda: machine.one_thread(os.environ, machine.usable_cores()),
    ),
    Check(
        "openmp",
        "libraries of OpenMP from several sources, as when conda and pip are mixed; KMP_DUPLICATE_LIB_OK",
        "install PyTorch and NumPy from one source",
        lambda: settings.openmps(settings.loaded_libraries(), os.environ),
    ),
    Check(
        "processor",
        "whether PyTorch computes with AVX2",
        "unset ATEN_CPU_CAPABILITY, or have a virtual machine show its host's processor",
        lambda: machine.old_processor(platform.machine(), torch.backends.cpu.get_cpu_capability()),
    ),
    Check(
        "shared memory",
        "the size of /dev/shm, where workers pass batches",
        "start the container with --shm-size=2g",
        lambda: machine.shared_memory(machine.size_of_shared_memory()),
    ),
    Check(
        "open files",
        "how many files a process may have open",
        "ulimit -n 4096",
        lambda: machine.open_files(machine.soft_limit_of_files()),
    ),
    Check(
        "disk",
        "what is free on the disk of this folder",
        "make room",
        lambda: machine.disk(machine.free_bytes()),
    ),
    Check(
        "variables",
        "variables of MXNet's that have no effect here",
        "unset them",
        lambda: settings.variables(os.environ),
    ),
    Check(
        "files",
        "files in this folder that hide modules, such as queue.py or torch.py",
        "rename them",
        lambda: settings.hiding_files(os.listdir()),
    ),
)


def findings() -> list[Finding]:
    """Return the usual mistakes that are made here.

    >>> all(finding.what and finding.mend for finding in findings())
    True
    """
    return [finding for check in CHECKS for finding in check.find()]
