"""What a monitor shows of an operator, for either package: names in order, and what hidden outputs hold."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .cases import CASES
from .cases.case import Case

GROUPS = ("layers", "tensors", "regions", "detection")
#: Hidden outputs whose values are compared.
HIDDEN = ("mean", "var", "std", "norm", "tmp_norm")
#: Memory that MXNet works in, or does not write at all; a monitor of rebind does not show it.
WORKSPACES = {
    "Pooling": ("workspace",),
    "Pooling_v1": ("workspace",),
    "sort": ("output1",),
    "topk": ("output1",),
    "CTCLoss": ("output1",),
    "_linalg_det": ("output1", "output2"),
    "_linalg_slogdet": ("output2", "output3"),
    "ROIPooling": ("maxidx",),
    "_contrib_DeformablePSROIPooling": ("top_count",),
    "Correlation": ("tmp1", "tmp2"),
    "SpatialTransformer": ("grid_dst", "grid_src"),
    "BilinearSampler": ("tmp",),
    "GridGenerator": ("grid_dst",),
}


def cases() -> Iterator[tuple[str, Case]]:
    """Yield the operator cases by name."""
    for group in GROUPS:
        for name, case in CASES[group].items():
            yield f"{group}: {name}", case


def shown(
    mx: Any, case: Case, training: bool, to_array: Callable[[Any], Any]
) -> tuple[list[str], dict[str, Any]]:
    """Run a case with a monitor of inputs and outputs; return the names, and the values of hidden outputs."""
    random = np.random.RandomState(zlib.crc32(case.description.encode()))
    symbol = case.symbol(mx)
    given = {name: spec.draw(random) for name, spec in case.inputs.items()}
    types = {name: value.dtype for name, value in given.items()}
    executor = symbol.simple_bind(
        mx.cpu(), grad_req="null", type_dict=types, **{name: value.shape for name, value in given.items()}
    )
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = given[name] if name in given else random.uniform(0.5, 1.5, array.shape)
    names: list[str] = []
    values: dict[str, Any] = {}

    def show(given_name: str | bytes, array: Any) -> None:
        name = given_name if isinstance(given_name, str) else given_name.decode()
        names.append(name)
        if name.startswith("op_") and name[3:] in HIDDEN and name not in symbol.list_outputs():
            found = to_array(array).asnumpy()
            values[name] = [
                str(found.dtype),
                list(found.shape),
                found.ravel()[:12].astype("float64").tolist(),
            ]

    executor.set_monitor_callback(show, True)
    executor.forward(is_train=training)
    for output in executor.outputs:
        output.wait_to_read()
    return names, values
