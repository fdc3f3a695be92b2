"""`import mxnet` gives rebind, under every path of MXNet's modules."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import rebind
from rebind import compat
from rebind.errors import AbsentModuleError, AbsentNameError, MXNetError, StateError


@pytest.fixture
def mx() -> Iterator[Any]:
    """rebind as mxnet, in this process, for one test."""
    saved = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "mxnet"}
    finders = list(sys.meta_path)
    for name in saved:
        del sys.modules[name]
    rebind.install_as_mxnet()
    try:
        yield importlib.import_module("mxnet")
    finally:
        sys.meta_path[:] = finders
        for name in [name for name in sys.modules if name.partition(".")[0] == "mxnet"]:
            del sys.modules[name]
        sys.modules.update(saved)


# The paths under which MXNet 1.9.1 documents its modules, and those that its import loads, without what is generated.
PATHS = """
attribute autograd base callback context contrib.amp contrib.ndarray contrib.svrg_optimization.svrg_module
contrib.svrg_optimization.svrg_optimizer contrib.symbol engine executor executor_manager initializer io io.io io.utils
kvstore kvstore.base kvstore.kvstore libinfo log lr_scheduler metric misc mod model module module.base_module
module.bucketing_module module.executor_group module.module module.python_module module.sequential_module monitor name
nd nd.contrib nd.image nd.linalg nd.random nd.sparse ndarray ndarray._internal ndarray.ndarray ndarray.op
ndarray.utils operator optimizer optimizer.contrib optimizer.optimizer random registry runtime sym sym.contrib
sym.image sym.linalg sym.random sym.sparse symbol symbol._internal symbol.op symbol.symbol test_utils util
visualization _ndarray_internal _symbol_internal
"""

# What programs import. (Of Module's insides and of FeedForward more is tested there.)
NAMES = """
base._Null base.string_types base.numeric_types base.integer_types base.py_str base.mx_uint base.mx_real_t
base.MXNetError base._as_list base.c_str base.data_dir
context.Context context.current_context context.gpu_memory_info
executor.Executor executor.NDArray executor_manager.DataDesc
initializer.Xavier initializer.InitDesc io.DataBatch io.io.DataDesc io.io.NDArrayIter io.utils.DataDesc
kvstore.KVStore kvstore.create log.get_logger lr_scheduler.FactorScheduler metric.EvalMetric metric.np
misc.FactorScheduler misc.LearningRateScheduler
model.BatchEndParam model.save_checkpoint model.load_checkpoint model.cpu model.get_updater
module.BaseModule module.Module module.base_module.BaseModule module.base_module._as_list
module.base_module._check_input_names module.base_module._parse_data_desc
module.executor_group.DataParallelExecutorGroup module.module.Module
module.bucketing_module.BucketingModule module.python_module.PythonLossModule module.sequential_module.SequentialModule
contrib.svrg_optimization.svrg_module.SVRGModule contrib.svrg_optimization.SVRGModule contrib.amp.init
executor_manager._split_input_slice executor_manager.DataParallelExecutorManager model.FeedForward
model._create_kvstore model._initialize_kvstore model._update_params model._update_params_on_kvstore
model.DataParallelExecutorManager model.LogValidationMetricsCallback monitor.Monitor mon.Monitor
name.NameManager name.Prefix attribute.AttrScope operator.CustomOp operator.register optimizer.Optimizer
optimizer.optimizer.SGD optimizer.optimizer.Updater optimizer.get_updater
registry.get_register_func runtime.Features engine.bulk util.is_np_array util.np_shape
nd.NDArray nd.uniform nd.argmax_channel ndarray.ndarray.NDArray ndarray.utils.load ndarray.ndarray.array
sym.sum_axis sym.min_axis sym.broadcast_plus sym.stop_gradient symbol.symbol.Symbol symbol.symbol.Variable
contrib.sym.MultiBoxPrior contrib.symbol.box_nms contrib.nd.quadratic contrib.ndarray.quadratic
sym._internal._plus sym._internal._mul _symbol_internal._plus _ndarray_internal._cvimresize nd._internal._plus_scalar
sym.linalg.gemm2 nd.image.normalize sym.random.uniform visualization.plot_network viz.print_summary mod.Module rnd.seed
np_shape is_np_array set_np_shape AttrScope MXNetError cpu gpu num_gpus current_context
"""


@pytest.mark.parametrize("path", PATHS.split())
def test_paths(mx: Any, path: str) -> None:
    module = importlib.import_module(f"mxnet.{path}")
    assert isinstance(module, ModuleType)
    found = mx
    for part in path.split("."):
        found = getattr(found, part)  # without an import too
    assert found is module


@pytest.mark.parametrize("name", NAMES.split())
def test_names(mx: Any, name: str) -> None:
    path, _, last = name.rpartition(".")
    holder = importlib.import_module(f"mxnet.{path}" if path else "mxnet")
    assert getattr(holder, last) is not None
    assert last in dir(holder) or last in compat.SHARED or last in vars(holder)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("module.Module", lambda: rebind.mod.Module),
        ("ndarray.ndarray.NDArray", lambda: rebind.nd.NDArray),
        ("symbol.symbol.Symbol", lambda: rebind.sym.Symbol),
        ("io.NDArrayIter", lambda: rebind.io.NDArrayIter),
        ("base.MXNetError", lambda: rebind.MXNetError),
        ("nd", lambda: importlib.import_module("mxnet.ndarray")),
        ("ndarray", lambda: importlib.import_module("mxnet.ndarray")),
        ("viz", lambda: importlib.import_module("mxnet.visualization")),
    ],
)
def test_what_is_found_is_rebinds_own(mx: Any, name: str, found: Callable[[], object]) -> None:
    holder, _, last = f"mxnet.{name}".rpartition(".")
    assert getattr(importlib.import_module(holder), last) is found()


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(lambda mx: mx.__version__, "1.9.1", id="version"),
        pytest.param(lambda mx: mx.libinfo.__version__, "1.9.1", id="version-of-libinfo"),
        pytest.param(lambda mx: rebind.libinfo.__version__, "1.9.1", id="version-of-rebinds-libinfo"),
        pytest.param(lambda mx: compat.MXNET_VERSION, "1.9.1", id="version-that-is-followed"),
        pytest.param(lambda mx: rebind.__version__ == "1.9.1", False, id="rebind-has-its-own-version"),
        pytest.param(lambda mx: rebind.base.string_types, (str,), id="string_types"),
        pytest.param(
            lambda mx: pickle.loads(pickle.dumps(mx.base._Null)) is mx.base._Null, True, id="one-null"
        ),
        pytest.param(lambda mx: hasattr(mx, "gluon"), False, id="no-gluon"),
        pytest.param(lambda mx: hasattr(rebind, "gluon"), False, id="no-gluon-in-rebind"),
    ],
)
def test_values(mx: Any, found: Callable[[Any], object], expected: object) -> None:
    assert found(mx) == expected


def test_star_import(mx: Any) -> None:
    names: dict[str, Any] = {}
    exec("from mxnet.initializer import *\nfrom mxnet import *", names)
    assert names["Xavier"] is rebind.init.Xavier
    assert names["nd"] is mx.nd


def test_importing_again_changes_nothing(mx: Any) -> None:
    finders = list(sys.meta_path)
    rebind.install_as_mxnet()
    assert sys.meta_path == finders
    assert importlib.import_module("mxnet") is mx


ABSENT = "gluon gluon.nn gluon.model_zoo.vision np npx numpy numpy.linalg rtc contrib.text.vocab"


@pytest.mark.parametrize("path", ABSENT.split())
def test_absent_modules(mx: Any, path: str) -> None:
    with pytest.raises(ImportError, match=r"is not part of rebind\. \w.*\.$") as caught:
        importlib.import_module(f"mxnet.{path}")
    assert isinstance(caught.value, MXNetError)
    assert caught.value.name in (f"mxnet.{path}", f"mxnet.{path.partition('.')[0]}", "mxnet.contrib.text")


GLUON = r"mxnet\.gluon is not part of rebind\. .*mx\.mod\.Module"


@pytest.mark.parametrize(
    ("look_up", "error", "says"),
    [
        pytest.param(lambda mx: mx.gluon, AbsentNameError, GLUON, id="gluon"),
        pytest.param(
            lambda mx: importlib.import_module("mxnet.gluon"), AbsentModuleError, GLUON, id="import-gluon"
        ),
        pytest.param(
            lambda mx: exec("from mxnet import gluon"), AbsentModuleError, GLUON, id="from-import-gluon"
        ),
        pytest.param(
            lambda mx: exec("from mxnet.module import Modul"), ImportError, "Modul", id="from-import-name"
        ),
        pytest.param(
            lambda mx: mx.np,
            AttributeError,
            r"mxnet\.(numpy|np).* is not part of rebind\. Use mx\.nd",
            id="np",
        ),
        pytest.param(
            lambda mx: mx.npx,
            AttributeError,
            r"mxnet\.(numpy|npx).* is not part of rebind\. Use mx\.nd",
            id="npx",
        ),
        pytest.param(
            lambda mx: rebind.np, AttributeError, r"is not part of rebind\. Use mx\.nd", id="np-of-rebind"
        ),
        pytest.param(
            lambda mx: rebind.npx, AttributeError, r"is not part of rebind\. Use mx\.nd", id="npx-of-rebind"
        ),
        pytest.param(
            lambda mx: importlib.import_module("mxnet.rokcet"),
            ModuleNotFoundError,
            r"mxnet\.rokcet",
            id="unknown-module",
        ),
        pytest.param(
            lambda mx: mx.module.Modul,
            AttributeError,
            r"mxnet\.module: rebind has no 'Modul' there; did you mean 'Module'",
            id="unknown-name",
        ),
        pytest.param(
            lambda mx: mx.base.check_call,
            AttributeError,
            r"mxnet\.base\.check_call is not part of rebind\. There is no C library",
            id="library",
        ),
        pytest.param(
            lambda mx: mx.libinfo.find_lib_path(),
            StateError,
            "there is no libmxnet",
            id="path-of-the-library",
        ),
        pytest.param(
            lambda mx: rebind.modul,
            AttributeError,
            "no attribute 'modul'; did you mean 'module'",
            id="unknown-name-of-rebind",
        ),
    ],
)
def test_what_is_absent_says_what_to_use(mx: Any, look_up, error, says) -> None:
    with pytest.raises(error, match=says):
        look_up(mx)


@pytest.mark.parametrize(
    ("row", "look_up", "error", "says"),
    [
        pytest.param(
            compat.Later("rocket", "Walk."),
            lambda mx: importlib.import_module("mxnet.rocket"),
            ImportError,
            r"mxnet\.rocket is not part of rebind yet\. Walk\.",
            id="import",
        ),
        pytest.param(
            compat.Later("rocket", "Walk."),
            lambda mx: mx.rocket,
            AttributeError,
            r"mxnet\.rocket is not part of rebind yet\. Walk\.",
            id="attribute",
        ),
        pytest.param(
            ("rocket",),
            lambda mx: importlib.import_module("mxnet.rocket"),
            ImportError,
            r"mxnet\.rocket is not part of rebind yet\.",
            id="a-module-that-is-not-written",
        ),
    ],
)
def test_modules_still_to_come(mx: Any, monkeypatch: pytest.MonkeyPatch, row, look_up, error, says) -> None:
    monkeypatch.setitem(compat.TABLE, "rocket", row)
    with pytest.raises(error, match=says):
        look_up(mx)


def test_an_import_that_a_module_needs_is_not_hidden(mx: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def needs_more(name: str) -> None:
        raise ModuleNotFoundError("No module named 'cv9'", name="cv9")

    monkeypatch.setitem(compat.TABLE, "rocket", ("rocket",))
    monkeypatch.setattr(importlib, "import_module", needs_more)
    with pytest.raises(ModuleNotFoundError, match="cv9"):
        compat.module_at("rocket")


def test_another_mxnet_that_is_imported_already(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Any = SimpleNamespace(__version__="1.9.1", __file__="site-packages/mxnet/__init__.py")
    monkeypatch.setitem(sys.modules, "mxnet", real)
    with pytest.raises(
        StateError, match=r"before the first import of mxnet; got mxnet 1\.9\.1 from site-packages/"
    ):
        rebind.install_as_mxnet()


@pytest.mark.parametrize(("path", "row"), compat.TABLE.items(), ids=compat.TABLE)
def test_rows_lead_somewhere(path: str, row: object) -> None:
    if isinstance(row, str):
        assert row in compat.TABLE
    if isinstance(row, (compat.Absent, compat.Later)):
        assert row.instead.endswith(".")
    assert path.rpartition(".")[0] in compat.TABLE


# `import rebind as mx` gives what MXNet has at its top; modules that few programs use come when they are used.
# `import rebind as mx` gives what MXNet has at its top; modules that few programs use are imported on first use.
@pytest.mark.parametrize(
    ("short", "found"),
    [
        pytest.param(lambda: rebind.rnd, lambda: rebind.random, id="rnd"),
        pytest.param(lambda: rebind.engine, lambda: importlib.import_module("rebind.engine"), id="engine"),
        pytest.param(lambda: rebind.np_shape, lambda: rebind.util.np_shape, id="np_shape"),
        pytest.param(
            lambda: rebind.contrib.sym.MultiBoxPrior,
            lambda: rebind.sym.contrib.MultiBoxPrior,
            id="contrib.sym",
        ),
    ],
)
def test_short_names_of_rebind(short, found) -> None:
    assert short() is found()


LEGACY = sorted(path for path in compat.TABLE if compat.legacy_module(path))


def test_every_module_of_legacy_has_an_old_path() -> None:
    import rebind.legacy

    modules = {f"legacy.{found.name}" for found in pkgutil.iter_modules(rebind.legacy.__path__)}
    assert modules == {compat.legacy_module(path) for path in LEGACY}


@pytest.mark.parametrize("path", LEGACY)
def test_old_paths_lead_to_legacy(mx: Any, path: str) -> None:
    module = importlib.import_module(f"rebind.{path}")
    assert module is importlib.import_module(f"rebind.{compat.legacy_module(path)}")
    found: Any = rebind
    for part in path.split("."):
        found = getattr(found, part)  # without an import too
    assert found is module
    old = importlib.import_module(f"mxnet.{path}")
    for name in getattr(module, "__all__", ()):
        assert getattr(old, name) is getattr(module, name)


@pytest.mark.parametrize("module", ["rebind.legacy.misc", "rebind.misc"], ids=["today", "at-mxnets-path"])
def test_pickles_of_legacy(module: str) -> None:
    """Those of today, and those from when the modules were at MXNet's paths."""
    made = rebind.misc.FactorScheduler(5, 0.5)
    text = pickle.dumps(made, protocol=0).replace(b"rebind.legacy.misc", module.encode())
    assert type(pickle.loads(text)) is rebind.misc.FactorScheduler
    assert pickle.loads(text)(10) == made(10)


IMPORTS_OLD_PATHS = """
from rebind.base import MXNetError; import rebind.context, rebind.module.executor_group, rebind
from rebind import engine, util
print(MXNetError.__module__, rebind.context.cpu(), rebind.mod.executor_group.__name__, rebind.util is util)
try: import rebind.bases
except ModuleNotFoundError as error: print(error.name)
"""
IMPORTS_REBIND = """
import sys, rebind
print([m for m in ('compat', 'cli', 'runtime', 'misc', 'legacy.base') if f'rebind.{m}' in sys.modules])
import mxnet; print(mxnet.__version__)
"""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # The first import is an old path; where there is nothing, nothing is found.
        pytest.param(
            IMPORTS_OLD_PATHS,
            ["rebind.errors", "cpu(0)", "rebind.legacy.executor_group", "True", "rebind.bases"],
            id="old-paths",
        ),
        pytest.param(IMPORTS_REBIND, ["[]", "real"], id="stays-lean-and-leaves-mxnet-alone"),
    ],
)
def test_imports_of_another_process(tmp_path: Path, code: str, expected: list[str]) -> None:
    (tmp_path / "mxnet.py").write_text("__version__ = 'real'\n")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == expected
