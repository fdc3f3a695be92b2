"""What rebind does on GPUs, on GPUs that are simulated: every operator, with its gradients, is possible there."""

from __future__ import annotations

import pytest

from rebind.device import Device
from rebind.ops import OPERATORS

from ..ops.samples import SAMPLES
from .simulated import simulated_gpus
from .test_gpu import difference


@pytest.mark.parametrize("part", range(8))
def test_operators(part: int) -> None:
    wrong = []
    device = Device("gpu", 0)
    for sample in SAMPLES[part::8]:
        if "generator" in OPERATORS[sample.name].signature.modes:
            continue
        with simulated_gpus():
            try:
                wrong.append(difference(sample, device))
            except Exception as error:
                wrong.append(f"{sample}: {type(error).__name__}: {error}")
    assert not [each for each in wrong if each is not None]
