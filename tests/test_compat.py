"""`import mxnet` gives rebind, under every path of MXNet's modules."""

from __future__ import annotations

import collections
import importlib
import operator
import pickle
import pkgutil
import pydoc
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.installed import installed
from tests.parity.snippets.names import INT32_RECORD

import rebind
from rebind import compat
from rebind.errors import AbsentFeatureError, MXNetError, StateError


@pytest.fixture
def mx() -> Iterator[Any]:
    """rebind as mxnet, in this process, for one test."""
    with installed() as found:
        yield found


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
        pytest.param(lambda mx: hasattr(mx, "np"), False, id="no-np"),
        pytest.param(lambda mx: hasattr(rebind, "np"), False, id="no-np-in-rebind"),
        pytest.param(lambda mx: mx.gluon.Block is rebind.gluon.Block, True, id="gluon"),
        pytest.param(
            lambda mx: [
                mx.test_utils.is_cd_run(),
                mx.test_utils.has_tvm_ops(),
                mx.test_utils.is_op_runnable(),
            ],
            [False, False, True],
            id="where-tests-run",
        ),
        pytest.param(lambda mx: mx.ndarray.ndarray.py_slice, slice, id="py_slice"),
        pytest.param(
            lambda mx: [mx.metric.OrderedDict, mx.model.logging.__name__, mx.lr_scheduler.pi > 3],
            [collections.OrderedDict, "logging", True],
            id="imported-from-python",
        ),
        pytest.param(
            lambda mx: [mx.optimizer.optimizer.sgd_update is mx.nd.sgd_update, mx.test_utils.mx.__name__],
            [True, "rebind"],
            id="imported-from-one-another",
        ),
        pytest.param(lambda mx: hasattr(mx, "logging"), False, id="not-at-the-top"),
        pytest.param(
            lambda mx: isinstance(mx.nd.ones(2), mx.ndarray.sparse.CSRNDArray), False, id="no-sparse-array"
        ),
        pytest.param(lambda mx: issubclass(mx.base.InternalError, MXNetError), True, id="an-error-to-catch"),
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


ABSENT = "np npx numpy numpy.linalg torch tvmop"


@pytest.mark.parametrize("path", ABSENT.split())
def test_absent_modules(mx: Any, path: str) -> None:
    with pytest.raises(ImportError, match=r"is not part of rebind\. \w.*\.$") as caught:
        importlib.import_module(f"mxnet.{path}")
    assert isinstance(caught.value, MXNetError)
    assert caught.value.name in (f"mxnet.{path}", f"mxnet.{path.partition('.')[0]}")


@pytest.mark.parametrize(
    ("look_up", "error", "says"),
    [
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
            lambda mx: rebind.contrib.amq,
            AttributeError,
            "'rebind.contrib' has no attribute 'amq'; did you mean 'amp'",
            id="unknown-name-of-contrib",
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


# Names that old programs import and do not always use.
BY_NAME = """
base:_LIB,check_call,c_str,c_array,c_array_buf,c_handle_array,NDArrayHandle,mx_uint,SymbolHandle,ExecutorHandle
base:with_metaclass,classproperty,mx_float_p,ctypes2buffer,py_str,_Null,mx_int64,NotSupportedForSparseNDArray
ndarray.ndarray:py_slice,NDArrayHandle,_DTYPE_NP_TO_MX,_DTYPE_MX_TO_NP,_GRAD_REQ_MAP,_STORAGE_TYPE_STR_TO_ID,_LIB
ndarray.sparse:BaseSparseNDArray,CSRNDArray,RowSparseNDArray,csr_matrix,row_sparse_array,array,empty,zeros,add,retain
ndarray:CSRNDArray,_DTYPE_NP_TO_MX symbol:element_mask symbol.symbol:SymbolHandle,_GRAD_REQ_MAP,NotImplementedForSymbol
test_utils:is_aarch64_run,is_cd_run,has_tvm_ops,is_op_runnable,get_mnist,download,rand_sparse_ndarray,create_sparse_array
io:CSVIter,MNISTIter,ImageRecordIter,LibSVMIter,MXDataIter io.io:DataIterHandle,check_call kvstore:KVStoreServer
_ctypes.ndarray:NDArrayBase _ctypes.symbol:SymbolBase _ctypes:_LIB
autograd:check_call,NDArrayHandle executor:ExecutorHandle operator:OpHandle,MXCallbackList callback:save_checkpoint
module.module:_create_kvstore,BaseModule,nd,ctx,load_checkpoint,InitDesc module.base_module:metric,ndarray
monitor:ndarray,NDArrayHandle model:nd,sym,io,metric,kvs initializer:load context:check_call
ndarray.contrib:dgl_subgraph,uniform symbol.contrib:dgl_subgraph,uniform contrib.amp:convert_hybrid_block
gluon:Block,HybridBlock,Parameter,ParameterDict,Trainer,SymbolBlock,nn,rnn,loss,data,utils,contrib,model_zoo
gluon.block:Block,HybridBlock gluon.nn:Dense,HybridBlock,Swish gluon.nn.basic_layers:Dense,Activation
gluon.parameter:Parameter,Constant gluon.utils:clip_global_norm,split_data,split_and_load,download
gluon.loss:Loss,SoftmaxCrossEntropyLoss gluon.rnn:LSTM,LSTMCell,HybridRecurrentCell gluon.rnn.rnn_cell:LSTMCell
gluon.data:Dataset,DataLoader,vision gluon.data.vision:MNIST,transforms gluon.data.vision.transforms:Compose,ToTensor
gluon.model_zoo.vision:resnet50_v1,get_model gluon.model_zoo.vision.resnet:ResNetV1 gluon.trainer:Trainer
gluon.contrib.nn:HybridConcurrent,Identity gluon.contrib.estimator:Estimator gluon.data.dataset:Dataset
"""


@pytest.mark.parametrize("line", BY_NAME.split())
def test_names_can_be_imported(mx: Any, line: str) -> None:
    path, _, names = line.partition(":")
    exec(f"from mxnet.{path} import {names}")


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda mx: mx.base.check_call(0), r"check_call is not part of rebind\. There is no C library"),
        (
            lambda mx: mx.base._LIB.MXGetVersion(),
            r"base\._LIB\.MXGetVersion is not part of rebind\. There is no C",
        ),
        (lambda mx: mx.base.NDArrayHandle(), r"NDArrayHandle is not part of rebind\. There is no C library"),
        (
            lambda mx: mx.io.MXDataIter(),
            r"io\.MXDataIter is not part of rebind\. mx\.io\.NDArrayIter takes arrays",
        ),
        (lambda mx: mx.sym.element_mask(1, 2), r"element_mask is not part of rebind\. Use broadcast_mul"),
        (
            lambda mx: mx.test_utils.get_im2rec_path(),
            r"get_im2rec_path is not part of rebind\. Load the data",
        ),
        (
            lambda mx: mx.gluon.Trainer(),
            r"gluon\.trainer\.Trainer is not part of rebind\. mx\.mod\.Module trains",
        ),
        (
            lambda mx: mx.gluon.loss.L2Loss(),
            r"gluon\.loss\.L2Loss is not part of rebind\. Use a loss of mx\.sym",
        ),
        (lambda mx: mx.gluon.data.vision.MNIST(), r"datasets\.MNIST is not part of rebind\. Use mx\.io"),
        (lambda mx: mx.gluon.model_zoo.vision.resnet18_v1(), r"resnet18_v1 is not part of rebind\. Build"),
        (
            lambda mx: type("Mine", (mx.gluon.data.Dataset,), {})(),
            r"Mine: gluon\.data\.dataset\.Dataset is not part of rebind\.",
        ),
        (lambda mx: mx.gluon.nn.Dense(2).summary(), r"Block\.summary is not part .*mx\.viz\.print_summary"),
        (lambda mx: mx.rtc.CudaModule(""), r"rtc\.CudaModule is not part of rebind\. Write CUDA kernels"),
        (lambda mx: mx.io._has_instance([], int), r"mxnet\.io\._has_instance .* private helper of MXNet"),
        (lambda mx: mx.nd.ones(2).as_np_ndarray(), r"NDArray\.as_np_ndarray .* Use asnumpy\(\)"),
        (lambda mx: mx.sym.var("x").as_np_ndarray(), r"Symbol\.as_np_ndarray .* Use mx\.sym"),
        (lambda mx: mx.metric.PearsonCorrelation().update_cov(1, 2), r"update_cov is not part .*Call update"),
        (lambda mx: mx.kv.create()._send_command_to_servers(0, ""), r"_send_command_to_servers is not"),
    ],
)
def test_use_of_a_name_says_what_to_use(mx: Any, use: Callable[[Any], object], says: str) -> None:
    with pytest.raises(AbsentFeatureError, match=says):
        use(mx)


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


PICKLES = Path(__file__).parent / "parity" / "data" / "pickles"  # MXNet 1.9.1 wrote them, with protocol 2


@pytest.mark.parametrize(
    ("file", "found", "expected"),
    [
        ("ndarray", lambda array: array.asnumpy().tolist(), [[1, 2, 3], [4, 5, 6]]),
        ("symbol", lambda symbol: symbol.list_arguments(), ["data", "fc_weight", "fc_bias"]),
        ("context", str, "cpu(0)"),
        ("batch", lambda batch: batch.data[0].shape, (2, 3)),
    ],
)
def test_pickles_of_mxnet(mx: Any, file: str, found: Callable[[Any], object], expected: object) -> None:
    assert found(pickle.loads((PICKLES / f"{file}.pkl").read_bytes())) == expected


def test_pickle_of_an_array_on_a_gpu(mx: Any) -> None:
    """MXNet's record names the device: kind 2 is a GPU. It is read wherever it is."""
    state = mx.nd.zeros((1,))
    record = bytearray.fromhex(INT32_RECORD)
    assert record[28] == 1  # the CPU
    record[28] = 2
    state.__setstate__({"handle": record})
    assert state.asnumpy().tolist() == [[1, 2, 3]]


def test_dir_of_the_package_lists_what_there_is() -> None:
    names = [name for name in dir(rebind) if not name.startswith("__")]
    assert {"contrib", "base", "engine", "log", "runtime", "rnd", "gluon", "sym", "np_shape"} <= set(names)
    assert not {"Any", "logging", "math", "np", "ops", "graph", "TYPE_CHECKING"} & set(names)
    assert all(hasattr(rebind, name) for name in names)


def test_every_public_module_has_all() -> None:
    import rebind.gluon

    modules = [found.name for found in pkgutil.walk_packages(rebind.__path__, "rebind.")]
    lacking = [
        name
        for name in modules
        if not any(part.startswith("_") for part in name.split("."))
        and not hasattr(importlib.import_module(name), "__all__")
    ]
    assert lacking == []


def test_help_shows_types_without_quotes() -> None:
    text = pydoc.render_doc(rebind.mod.Module.bind, renderer=pydoc.plaintext)
    # Python 3.13 writes each parameter into a line of its own.
    assert "data_shapes: Shapes, label_shapes: Shapes | None = None" in " ".join(text.split())


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: rebind.lr_scheduler.FactorScheduler(3), "FactorScheduler(step=3, factor=1, "),
        (lambda: rebind.lr_scheduler.PolyScheduler(9), "PolyScheduler(max_update=9, base_lr=0.01, power=2, "),
        (lambda: rebind.kv.create("device"), "<KVStore 'device'>"),
        (
            lambda: rebind.io.NDArrayIter(rebind.nd.ones((4, 2)), rebind.nd.ones((4,)), 2),
            "<NDArrayIter: data data (2, 2); labels softmax_label (2,); batches of 2>",
        ),
        (lambda: rebind.metric.create(["acc", "mse"]), "CompositeEvalMetric(Accuracy(axis=1), MSE())"),
        (lambda: rebind.mod.PythonLossModule(), "<PythonLossModule pyloss_output: not bound>"),
        (
            lambda: rebind.contrib.svrg_optimization.SVRGModule(
                rebind.sym.var("data"), label_names=None, update_freq=2
            ),
            "<SVRGModule data on cpu(0): not bound",
        ),
    ],
)
def test_representations_say_what_things_are(made: Callable[[], object], says: str) -> None:
    assert repr(made()).startswith(says)


def test_notebooks_show_pictures_and_tables() -> None:
    net = rebind.sym.FullyConnected(rebind.sym.var("data"), num_hidden=2, name="fc")
    assert net._repr_html_().startswith("<svg")
    assert "2×3 float32 on cpu(0)" in rebind.nd.ones((2, 3))._repr_html_()
    module = rebind.mod.Module(net, label_names=None)
    before = module._repr_html_()
    assert "bound: no" in before and "initialised: no" in before and "optimizer: none" in before
    module.bind([("data", (4, 3))])
    module.init_params()
    module.init_optimizer(optimizer="adam")
    after = module._repr_html_()
    assert "bound: data (4, 3)" in after and "initialised: yes" in after and "optimizer: Adam(" in after
    assert "<td>fc</td><td>FullyConnected</td><td>4×2</td><td>8</td>" in after


@pytest.mark.parametrize(
    ("before", "wanted"),
    [
        ("pass", "False True (700, 10, 10)"),
        pytest.param("import torch; gc.freeze()", "True True (700, 10, 10)", marks=pytest.mark.slow),
        ("gc.disable(); gc.set_threshold(9, 8, 7)", "False False (9, 8, 7)"),
        pytest.param("gc.set_threshold(0, 8, 7)", "False True (0, 8, 7)", marks=pytest.mark.slow),
    ],
)
def test_the_garbage_collector_is_as_before_the_import(before: str, wanted: str) -> None:
    first = "import gc; frozen = gc.get_freeze_count(); gc.set_threshold(700, 10, 10)"  # Python 3.12 has some
    asked = "print(gc.get_freeze_count() > frozen, gc.isenabled(), gc.get_threshold())"
    program = f"{first}; {before}; import rebind; {asked}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == wanted


ABSENT = """
    rtc library notebook kvstore_server np npx th
    contrib.io nd.np sym.np nd.contrib.dgl_subgraph io.MXDataIter model._train_multi_device kvstore.KVStoreServer
    gluon.Trainer.step gluon.data.DataLoader.lower base.check_call autograd.check_call
"""


@pytest.mark.parametrize("path", ABSENT.split())
def test_a_name_that_is_absent_says_so_and_is_no_attribute(path: str) -> None:
    *above, name = path.split(".")
    found = operator.attrgetter(".".join(above))(rebind) if above else rebind
    assert not hasattr(found, name)
    with pytest.raises(AttributeError, match=rf"{name}.*is not part of rebind( yet)?\. \S"):
        getattr(found, name)


@pytest.mark.parametrize(
    "statement",
    [
        "import rebind.rtc",
        "from rebind import rtc",
        "from rebind.kvstore_server import KVStoreServer",
        "from rebind.io import MXDataIter",
    ],
)
def test_an_import_of_what_is_absent_says_what_to_use(statement: str) -> None:
    with pytest.raises(ImportError, match=r"is not part of rebind( yet)?\. \S"):
        exec(statement)


#: What programs import from MXNet's modules, which have it as they are: private helpers, and what they import.
HELPERS = {
    "io": "_init_data",
    "model": "_create_kvstore _initialize_kvstore _update_params _update_params_on_kvstore BatchEndParam cpu DataDesc",
    "module.base_module": "_as_list _check_input_names _check_names_match _parse_data_desc BaseModule",
    "module.module": "_check_input_names _create_kvstore _initialize_kvstore _parse_data_desc _update_params "
    "_update_params_on_kvstore load_checkpoint DataParallelExecutorGroup",
    "module.bucketing_module": "_check_input_names BaseModule",
    "executor_manager": "_check_arguments _load_data _load_label _split_input_slice",
    "image": "copyMakeBorder imdecode",
    "rnn": "rnn_cell.LSTMCell",
    "ndarray": "_GRAD_REQ_MAP _DTYPE_NP_TO_MX",
    "registry": "get_register_func",
}


@pytest.mark.parametrize(("path", "names"), HELPERS.items())
def test_helpers_of_mxnet_are_where_they_were(path: str, names: str, mx: Any) -> None:
    for name in names.split():
        ours, theirs = (operator.attrgetter(f"{path}.{name}")(package) for package in (rebind, mx))
        assert ours is theirs and "private helper of MXNet" not in str(ours.__doc__)
