"""The records of layers (``record.py``), and what rebind computes for the same inputs."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

import rebind.ops.loss
import rebind.ops.nn
import rebind.ops.sequence  # noqa: F401
from rebind.ops import find

#: By kind (``in``, ``infer``, ``train``, ``head``, ``grad``, ``aux``) and name, or number of the output.
Arrays = dict[str, dict[str, Any]]


def load() -> list[tuple[str, dict[str, str], Arrays]]:
    """Return operator, parameters and arrays of each case."""
    with np.load(Path(__file__).with_name("recorded.npz")) as file:
        arrays: dict[int, Arrays] = defaultdict(lambda: defaultdict(dict))
        for key in file.files:
            if key != "cases":
                number, kind, name = key.split("/")
                arrays[int(number)][kind][name] = file[key]
        return [(op, p, arrays[number]) for number, op, p in json.loads(str(file["cases"]))]


CASES = load()


def compute(name: str, given: dict[str, str], recorded: Arrays) -> Arrays:
    """Return what an operator gives for the inputs and head gradients of a case, as tensors by the same names."""
    op = find(name)
    p = op.parse(given)
    inputs = {k: torch.from_numpy(v.copy()) for k, v in recorded["in"].items()}
    for k in recorded["grad"]:
        inputs[k].requires_grad_()
    tensors = [inputs[k] for k in op.signature.inputs_for(p)]
    visible = op.record.visible_outputs(p)

    def run(training: bool) -> tuple[torch.Tensor | None, ...]:
        mode = {"training": training} if "training" in op.signature.modes else {}
        out = op(*tensors, **op.signature.keywords(p), **mode)
        return out if isinstance(out, tuple) else (out,)

    infer = run(False)[:visible]
    outs = run(True)
    heads = [torch.from_numpy(recorded["head"][str(i)]) for i in range(visible)]
    pairs = [(o, h) for o, h in zip(outs, heads, strict=False) if o is not None and o.requires_grad]
    if pairs:
        torch.autograd.backward([o for o, _ in pairs], [h for _, h in pairs])
    states = zip(op.signature.aux_names, outs[len(op.record.output_names(p)) :], strict=False)
    gradients = {k: inputs[k].grad for k in recorded["grad"]}
    return {
        "infer": {str(i): out for i, out in enumerate(infer)},
        "train": {str(i): out for i, out in enumerate(outs[:visible])},
        "grad": {k: torch.zeros_like(inputs[k]) if grad is None else grad for k, grad in gradients.items()},
        "aux": {k: inputs[k] if new is None else new for k, new in states},
    }
