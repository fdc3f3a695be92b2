"""Every name of MXNet 1.9.1's modules and classes is there, by import and by attribute, but for a written few."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from tests.installed import installed

from rebind.absent import AbsentClass

NAMES = json.loads((Path(__file__).parent / "data" / "names.json").read_text(encoding="utf-8"))
MODULES: dict[str, dict[str, str]] = NAMES["modules"]
CLASSES: dict[str, str] = NAMES["classes"]

NUMPY = "the front end that follows NumPy is no part of rebind"
INSIDE = "of MXNet's own import; it means nothing here"
ONNX = "private: tables of the conversion"

#: Modules that cannot be imported.
NO_MODULE: dict[str, str] = {
    "_api_internal": INSIDE,
    "_ctypes.space": INSIDE,
    "_global_var": INSIDE,
    "api": INSIDE,
    "space": INSIDE,
    "ndarray.gen_random": INSIDE,
    "ndarray.register": INSIDE,
    "symbol.gen_random": INSIDE,
    "symbol.register": INSIDE,
    "ndarray_doc": INSIDE,
    "symbol_doc": INSIDE,
    "tvmop": INSIDE,
    "torch": "it called Lua's Torch by names that Lua gave",
    "contrib.onnx.onnx2mx._import_helper": ONNX,
    "contrib.onnx.onnx2mx._op_translations": ONNX,
    "contrib.onnx.onnx2mx._translation_utils": ONNX,
    "onnx.mx2onnx._export_helper": ONNX,
    "onnx.mx2onnx._export_onnx": ONNX,
    "onnx.mx2onnx._op_translations": ONNX,
    "onnx.mx2onnx._op_translations._op_translations_opset12": ONNX,
    "onnx.mx2onnx._op_translations._op_translations_opset13": ONNX,
    "contrib.text._constants": INSIDE,
    "gluon.contrib.data._constants": INSIDE,
    "gluon.contrib.estimator.utils": INSIDE,
}  # fmt: skip

#: Modules that are there to be imported: their public names only, beside what they define.
BY_NAME_ONLY = (
    "contrib.quantization", "contrib.tensorboard", "contrib.io", "kvstore.kvstore_server", "library",
    "notebook", "rtc",
)  # fmt: skip

_NOWHERE = {
    NUMPY: """
        np npx numpy numpy_extension np_symbol _numpy_op_doc numpy_dispatch_protocol numpy_op_fallback
        numpy_op_signature _mx_np _mx_npx
    """,
    INSIDE: "_api_internal _cy3 _ffi _global_var api cython ndarray_doc symbol_doc tvmop register",
    "it called Lua's Torch": "th torch",
    "a package that is not always there": "cv2 h5py requests spsp ss bfloat16 SKLEARN_INSTALLED",
    "what a missing package leaves": "Bokeh_Failed_To_Import Pandas_Failed_To_Import pd",
    "a gradient, as an operator": "_broadcast_backward _split_v2_backward",
    "an empty list": "BF16_USE_FP32_PARAMS",
    "a table of MXNet's C interface": "error_types",
}
#: Names that are nowhere, and why.
NO_NAME: dict[str, str] = {name: why for why, names in _NOWHERE.items() for name in names.split()}

#: Names that are not in one module.
NOT_IN: dict[tuple[str, str], str] = {
    ("contrib.text", "_constants"): INSIDE,
    ("contrib.text.embedding", "C"): INSIDE,
    ("contrib.text.vocab", "C"): INSIDE,
    ("gluon.contrib.data", "_constants"): INSIDE,
    ("gluon.contrib.data.sampler", "sampler"): INSIDE,
    ("gluon.contrib.data.text", "C"): INSIDE,
    ("gluon.contrib.data.text", "dataset"): INSIDE,
    ("gluon.contrib.estimator", "utils"): INSIDE,
    ("gluon.data.vision.datasets", "dataset"): INSIDE,
    ("contrib.autograd", "ctypes"): INSIDE,
    ("kvstore.kvstore_server", "create"): "kvstore.create has it",
    ("onnx.mx2onnx._export_model", "load_module"): ONNX,
    **dict.fromkeys([("contrib.quantization", name) for name in ("nd_load", "nd_save", "sym_load")], INSIDE),
    ("profiler", "profiler_kvstore_handle"): "a handle of MXNet's C library",
    ("contrib.autograd", "zeros_like"): "imported there, and used by nobody from there",
}


@pytest.fixture(scope="module")
def mx() -> Iterator[Any]:
    with installed() as found:
        yield found


#: What MXNet's converters to and from ONNX are made of.
_CONVERTERS = ("GraphProto", "MXNetGraph", "convert_map", "logging")


def is_excused(path: str, name: str, kind: str) -> bool:
    """Whether a name of a module need not be there."""
    if name in NO_NAME or (path, name) in NOT_IN:
        return True
    if name.startswith("_") and (kind == "values" or path.startswith("gluon")):
        return True  # constants of MXNet's insides, and the helpers of what is no part of rebind
    if path.startswith("gluon"):
        return kind == "values"  # tables of the model zoo
    if "onnx" in path.split(".") and (name in _CONVERTERS or name[0] == "_" or name[-1] == "_"):
        return True
    by_name = any(path == above or path.startswith(f"{above}.") for above in BY_NAME_ONLY)
    return by_name and (kind in ("others", "values", "modules") or name.startswith("_") or name[-1] == "_")


@pytest.mark.parametrize("path", [path for path in MODULES if path not in NO_MODULE])
def test_every_name_of_a_module(mx: Any, path: str) -> None:
    module = importlib.import_module(f"mxnet.{path}".rstrip("."))
    missing = [
        name
        for kind, names in MODULES[path].items()
        for name in names.split()
        if not is_excused(path, name, kind) and not hasattr(module, name)
    ]
    assert missing == []


#: Modules that a function of their name hides in the package, in MXNet too.
HIDDEN = ("gluon.model_zoo.vision.alexnet", "contrib.onnx.onnx2mx.import_model")


@pytest.mark.parametrize("path", [path for path in MODULES if path not in {*NO_MODULE, *HIDDEN, ""}])
def test_every_module_is_an_attribute(mx: Any, path: str) -> None:
    found = reduce(getattr, path.split("."), mx)
    assert found is importlib.import_module(f"mxnet.{path}")


#: Not classes of MXNet's, but what a package that is not there leaves.
NO_CLASS = (
    "contrib.onnx.onnx2mx.import_onnx.GraphProto",  # of the converter
    "notebook.Bokeh_Failed_To_Import", "notebook.callback.Pandas_Failed_To_Import", "notebook.callback.pd",
)  # fmt: skip

#: Public members that a class here lacks.
NO_MEMBER: dict[str, str] = {
    "_ctypes.ndarray.NDArrayBase": "handle writable",  # NDArray has them
    "_ctypes.symbol.SymbolBase": "handle",  # Symbol has it
    "base.mx_float_p": "contents",  # by name only
    "contrib.text.embedding.FastText": "pretrained_archive_name_sha1 pretrained_file_name_sha1",  # for downloads
    "contrib.text.embedding.GloVe": "pretrained_archive_name_sha1 pretrained_file_name_sha1",  # likewise
    "gluon.utils.HookHandle": "attach",  # it is made attached
    "metric.PCC": "global_sum_metric sum_metric",  # its constructor sets them
    "module.executor_group.DataParallelExecutorGroup": "decide_slices",  # a step of MXNet's constructor
}


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in CLASSES
        if name.rpartition(".")[0] not in NO_MODULE and "._" not in name and name not in NO_CLASS
    ],
)
def test_every_public_member_of_a_class(mx: Any, name: str) -> None:
    path, _, last = name.rpartition(".")
    found = getattr(importlib.import_module(f"mxnet.{path}".rstrip(".")), last)
    if isinstance(found, type) and issubclass(found, AbsentClass):
        return  # it cannot be made
    lacking = {member for member in CLASSES[name].split() if not hasattr(found, member)}
    assert lacking == set(NO_MEMBER.get(name, "").split())


@pytest.mark.parametrize("path", [path for path, why in NO_MODULE.items() if why != INSIDE and why != ONNX])
def test_no_module_is_excused_that_is_there(mx: Any, path: str) -> None:
    with pytest.raises(ImportError):
        importlib.import_module(f"mxnet.{path}")
