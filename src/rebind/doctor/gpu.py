"""GPUs, and whether PyTorch uses them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from .findings import Finding

__all__ = ["architectures", "gpu"]

_ARCHITECTURE = re.compile(r"(sm|compute)_(\d+)")


def gpu(driver: bool, cuda: str | None, available: bool, environment: Mapping[str, str]) -> Iterator[Finding]:
    """Yield that there is a GPU which PyTorch does not use.

    >>> [finding.what for finding in gpu(driver=True, cuda=None, available=False, environment={})]
    ['there is a GPU here, and this PyTorch is built for CPUs only']
    """
    if cuda is not None and not driver and not available:
        yield Finding(
            f"PyTorch is built for CUDA {cuda}, and there is no GPU here: a build for CPUs takes some 5 GB less",
            "pip install torch --index-url https://download.pytorch.org/whl/cpu",
        )
    hidden = environment.get("CUDA_VISIBLE_DEVICES")
    if driver and cuda is not None and not available and hidden in ("", "-1"):
        yield Finding(
            f"CUDA_VISIBLE_DEVICES={hidden} hides the GPUs of this machine", "unset CUDA_VISIBLE_DEVICES"
        )
    elif driver and cuda is None:
        yield Finding(
            "there is a GPU here, and this PyTorch is built for CPUs only",
            "install a build for CUDA: pytorch.org says which",
        )
    elif driver and not available:
        yield Finding(
            f"there is a GPU here, and PyTorch's CUDA {cuda} cannot use it",
            "update the driver (nvidia-smi says which CUDA it takes), or install PyTorch for an older CUDA",
        )


def architectures(
    gpus: Mapping[str, tuple[int, int]], built: Collection[str], torch_version: str
) -> Iterator[Finding]:
    """Yield the GPUs for which PyTorch has no code, by their names and compute capabilities.

    Code runs on GPUs of the same major number and a minor one that is not lower; what is for
    ``compute_`` on all later ones.

    >>> [
    ...     finding.what
    ...     for finding in architectures({"P100": (6, 0), "H100": (9, 0)}, ["sm_75", "sm_90"], "2.13.0")
    ... ]
    ['PyTorch 2.13.0 has no code for P100, of compute capability 6.0']
    """
    known = [
        (kind, int(number[:-1]), int(number[-1]))
        for kind, number in (match.groups() for match in map(_ARCHITECTURE.match, built) if match)
    ]
    for name, (major, minor) in gpus.items():
        if not any(
            (kind == "sm" and major == own and minor >= least)
            or (kind == "compute" and (own, least) <= (major, minor))
            for kind, own, least in known
        ):
            yield Finding(
                f"PyTorch {torch_version} has no code for {name}, of compute capability {major}.{minor}",
                "install another build of PyTorch: pytorch.org says which GPUs each has code for",
            )
