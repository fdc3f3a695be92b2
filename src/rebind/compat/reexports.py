"""Names that MXNet's modules import from Python, NumPy or one another, by module: data, which `old_modules` reads."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["REEXPORTS"]

_ZOO = "alexnet densenet inception mobilenet resnet squeezenet vgg"
_ZOO_MODULES = " ".join(f"gluon.model_zoo.vision.{name}" for name in _ZOO.split())
_BLOCKS = "gluon.contrib.nn.basic_layers gluon.data.vision.transforms"
_ESTIMATOR = "gluon.contrib.estimator.estimator gluon.contrib.estimator.event_handler"

# A module; names in it (``norm=NDnorm`` for one under another name, ``=np`` for the module itself); and MXNet's modules
# that have them. `optimizer` is `optimizer.optimizer` too, as in the table of paths.
_ROWS: tuple[tuple[str, str, str], ...] = (
    ("array", "array=native_array", "ndarray.ndarray ndarray.sparse"),
    ("array", "array=py_array", "executor"),
    ("atexit", "=atexit", "base"),
    ("builtins", "object=BASE_ESTIMATOR", "model"),
    ("builtins", "sum=py_sum", "ndarray.sparse"),
    ("bisect", "=bisect", "rnn"),
    ("bz2", "=bz2", "test_utils"),
    ("collections", "=collections", "contrib.text.utils contrib.text.vocab gluon.utils operator runtime"),
    ("collections", "OrderedDict", "gluon.block gluon.parameter io io.utils metric module.executor_group test_utils"),
    ("collections", "defaultdict", "attribute gluon.block gluon.parameter name notebook.callback"),
    ("collections", "namedtuple", "io model recordio"),
    ("contextlib", "=contextlib", "contrib.amp.amp"),
    ("contextlib", "contextmanager", "test_utils"),
    (
        "copy", "=copy",
        "executor gluon.block gluon.contrib.estimator.estimator module.sequential_module symbol.contrib visualization",
    ),
    (
        "ctypes", "=ctypes",
        "_ctypes _ctypes.ndarray _ctypes.symbol autograd context contrib.amp.amp engine executor io kvstore "
        "kvstore.base monitor ndarray ndarray.ndarray ndarray.sparse operator profiler random recordio runtime "
        "symbol.contrib symbol.symbol util",
    ),
    ("ctypes", "CFUNCTYPE POINTER c_int c_void_p cast", "autograd operator"),
    ("ctypes", "Structure c_bool c_char c_char_p pointer", "operator"),
    ("errno", "=errno", "test_utils"),
    ("functools", "=functools", "rnn"),
    ("functools", "reduce", "ndarray.ndarray"),
    ("gzip", "=gzip", "gluon.data.vision.datasets test_utils"),
    ("inspect", "=inspect", "base util"),
    ("json", "=json", "gluon.block image image.detection image.image initializer test_utils visualization"),
    (
        "logging", "=logging",
        "callback contrib.amp.amp contrib.amp.loss_scaler contrib.text.embedding executor_manager "
        "gluon.contrib.estimator.estimator gluon.model_zoo.model_store image image.detection image.image initializer "
        "io libinfo lr_scheduler misc model monitor module.base_module module.executor_group "
        "module.module optimizer test_utils",
    ),
    ("math", "=math", "callback metric misc ndarray.contrib optimizer symbol.contrib"),
    ("math", "cos pi", "lr_scheduler"),
    ("math", "floor", "gluon.contrib.rnn.conv_rnn_cell"),
    ("math", "sqrt", "initializer monitor"),
    ("multiprocessing", "=multiprocessing", "gluon.data.dataloader"),
    ("multiprocessing", "current_process", "recordio"),
    ("multiprocessing.pool", "ThreadPool", "gluon.data.dataloader"),
    ("multiprocessing.queues", "Queue SimpleQueue", "gluon.data.dataloader"),
    ("multiprocessing.reduction", "ForkingPickler", "gluon.data.dataloader"),
    ("numbers", "=numbers", "recordio test_utils"),
    ("numbers", "Number", "image image.image symbol.symbol"),
    ("numpy", "=numpy", "metric optimizer"),
    ("numpy", "=_np", "base"),
    ("numpy", "=_numpy", "symbol.symbol"),
    (
        "numpy", "=np",
        "contrib.amp.amp executor executor_manager gluon.contrib.data.text gluon.contrib.estimator.event_handler "
        "gluon.data.dataloader gluon.data.sampler gluon.data.vision.datasets gluon.data.vision.transforms gluon.loss "
        "initializer io model module.base_module module.bucketing_module ndarray.contrib ndarray.sparse "
        "image image.detection image.image recordio rnn test_utils",
    ),
    ("numpy.random", "=rnd", "test_utils"),
    ("numpy.testing", "=npt", "test_utils"),
    ("operator", "=operator", "ndarray.ndarray ndarray.sparse"),
    (
        "os", "=os",
        "base gluon.contrib.data.text gluon.contrib.estimator.event_handler gluon.data.dataset "
        "gluon.data.vision.datasets image image.image "
        f"gluon.model_zoo.model_store gluon.utils kvstore libinfo model optimizer test_utils {_ZOO_MODULES}",
    ),
    ("os", "=_os", "ndarray._internal symbol._internal"),
    ("pickle", "=pickle", "gluon.data.dataloader kvstore optimizer"),
    ("platform", "=platform", "base libinfo test_utils"),
    ("random", "=random", "gluon.data.vision.transforms image image.detection image.image rnn"),
    ("re", "=re", "base gluon.block gluon.rnn.rnn_layer initializer visualization"),
    ("shutil", "=shutil", "gluon.contrib.data.text gluon.model_zoo.model_store"),
    ("signal", "=signal", "gluon.data.dataloader"),
    ("struct", "=struct", "gluon.data.vision.datasets recordio test_utils"),
    (
        "sys", "=sys",
        "base gluon.contrib.estimator.estimator gluon.data.dataloader gluon.utils image image.image io test_utils",
    ),
    ("sys", "=_sys", "ndarray._internal symbol._internal"),
    ("tarfile", "=tarfile", "contrib.text.embedding gluon.data.vision.datasets"),
    ("tempfile", "=tempfile", "gluon.model_zoo.model_store"),
    ("threading", "=threading", "context gluon.block gluon.data.dataloader io util"),
    ("threading", "Lock", "autograd operator"),
    (
        "time", "=time",
        "callback contrib.svrg_optimization.svrg_module gluon.contrib.estimator.estimator "
        "gluon.contrib.estimator.event_handler model module.base_module test_utils",
    ),
    ("traceback", "=traceback", "autograd operator test_utils"),
    ("uuid", "=uuid", "gluon.model_zoo.model_store gluon.utils"),
    (
        "warnings", "=warnings",
        f"attribute context contrib.text.embedding image image.detection image.image rnn gluon.block "
        f"{_ESTIMATOR} gluon.contrib.nn.basic_layers gluon.data.vision.datasets "
        "gluon.nn.basic_layers gluon.parameter gluon.rnn.rnn_cell gluon.trainer gluon.utils initializer kvstore.base "
        "model module.base_module module.bucketing_module module.module name ndarray.ndarray ndarray.sparse operator "
        "optimizer profiler registry symbol.symbol visualization",
    ),
    ("weakref", "=weakref", "gluon.utils"),
    ("zipfile", "=zipfile", "gluon.contrib.data.text gluon.model_zoo.model_store test_utils"),
    (
        "rebind", "=mx",
        "contrib.svrg_optimization.svrg_module contrib.svrg_optimization.svrg_optimizer ndarray.contrib test_utils",
    ),
    ("rebind.autograd", "=ag", "contrib.amp.loss_scaler"),
    ("rebind.autograd", "=autograd", "gluon.contrib.estimator.batch_processor gluon.parameter"),
    (
        "rebind.legacy.base", "=base",
        "contrib.amp.amp contrib.text.embedding gluon.contrib.data.text gluon.data.vision.datasets "
        "gluon.model_zoo.model_store "
        f"{_ZOO_MODULES}",
    ),
    ("rebind.legacy.io", "init_data=_init_data", "io io.utils"),
    ("rebind.legacy.libinfo", "=libinfo", "base"),
    ("rebind.device", "num_gpus", "gluon.contrib.estimator.estimator"),
    ("rebind.executor", "CachedOp", "ndarray._internal"),
    ("rebind.gluon.absent", "loss.Loss=gluon_loss", "gluon.contrib.estimator.estimator"),
    ("rebind.gluon", "Block", f"{_BLOCKS} gluon.rnn.rnn_cell"),
    (
        "rebind.gluon", "HybridBlock",
        f"{_BLOCKS} gluon.contrib.cnn.conv_layers gluon.loss gluon.rnn.rnn_cell gluon.rnn.rnn_layer {_ZOO_MODULES}",
    ),
    ("rebind.gluon", "Parameter ParameterDict", "gluon.trainer"),
    ("rebind.gluon.absent", "contrib.nn.HybridConcurrent contrib.nn.Identity", _ZOO_MODULES),
    ("rebind.gluon.absent", "data.DataLoader trainer.Trainer", "gluon.contrib.estimator.estimator"),
    (
        "rebind.gluon.absent",
        "contrib.estimator.batch_processor.BatchProcessor contrib.estimator.event_handler.BatchBegin "
        "contrib.estimator.event_handler.BatchEnd contrib.estimator.event_handler.EpochBegin "
        "contrib.estimator.event_handler.EpochEnd contrib.estimator.event_handler.GradientUpdateHandler "
        "contrib.estimator.event_handler.LoggingHandler contrib.estimator.event_handler.MetricHandler "
        "contrib.estimator.event_handler.StoppingHandler contrib.estimator.event_handler.TrainBegin "
        "contrib.estimator.event_handler.TrainEnd contrib.estimator.event_handler.ValidationHandler",
        "gluon.contrib.estimator.estimator",
    ),
    (
        "rebind.gluon.absent",
        "rnn.rnn_cell.BidirectionalCell rnn.rnn_cell.ModifierCell rnn.rnn_cell.SequentialRNNCell",
        "gluon.contrib.rnn.rnn_cell",
    ),
    (
        "rebind.gluon.absent", "rnn.rnn_cell.HybridRecurrentCell",
        "gluon.contrib.rnn.conv_rnn_cell gluon.contrib.rnn.rnn_cell",
    ),
    # In the package `vision` the function hides the module of its name, in MXNet too.
    ("rebind.gluon.absent", "model_zoo.vision.AlexNet model_zoo.vision.alexnet", "gluon.model_zoo.vision.alexnet"),
    ("rebind.gluon.absent", "rnn.rnn_cell", "gluon.rnn.rnn_layer"),
    ("rebind.gluon.absent", "trainer", "contrib.amp.amp"),
    ("rebind.image", "=image", "gluon.data.vision.datasets gluon.data.vision.transforms"),
    ("rebind.contrib.text", "=text", "gluon.contrib.data.text"),
    ("rebind.contrib.text", "vocab", "contrib.text.embedding"),
    ("rebind.gluon.nn", "=nn", _ZOO_MODULES),
    ("rebind.gluon.nn", "Activation", "gluon.contrib.cnn.conv_layers"),
    ("rebind.gluon.nn", "BatchNorm", "gluon.contrib.nn.basic_layers"),
    ("rebind.gluon.nn", "HybridSequential Sequential", _BLOCKS),
    ("rebind.gluon.nn", "LeakyReLU", "gluon.rnn.rnn_cell"),
    (
        "rebind.gluon.utils", "check_sha1",
        "gluon.contrib.data.text gluon.data.vision.datasets gluon.model_zoo.model_store",
    ),
    ("rebind.gluon.utils", "shape_is_known", "gluon.parameter"),
    (
        "rebind.gluon.utils", "split_and_load",
        "gluon.contrib.estimator.batch_processor gluon.contrib.estimator.estimator",
    ),
    ("rebind.initializer", "=init", "rnn"),
    ("rebind.initializer", "=initializer", "gluon.block gluon.parameter"),
    ("rebind.initializer", "Xavier", "gluon.model_zoo.vision.vgg"),
    ("rebind.legacy.executor_manager", "_check_arguments _load_data _load_label _split_input_slice", "executor model"),
    ("rebind.legacy.util", "set_np", "gluon.data.dataloader"),
    ("rebind.metric", "CompositeEvalMetric EvalMetric", "gluon.contrib.estimator.event_handler"),
    ("rebind.metric", "Loss=metric_loss", _ESTIMATOR),
    ("rebind.model", "load_params", "module.bucketing_module"),
    ("rebind.ndarray", "CachedOp", "ndarray._internal"),
    ("rebind.ndarray", "_internal", "image.image ndarray.random ndarray.sparse"),
    (
        "rebind.ndarray", "NDArray=_ndarray_cls",
        "autograd executor io kvstore ndarray ndarray.sparse ndarray._internal operator symbol.symbol",
    ),
    (
        "rebind.ndarray",
        "abs=NDabs adam_update cast clip ftml_update ftrl_update lamb_update_phase1 lamb_update_phase2 maximum "
        "mp_lamb_update_phase1 mp_lamb_update_phase2 mp_nag_mom_update mp_sgd_mom_update mp_sgd_update multi_lars "
        "contrib.multi_lamb_update contrib.multi_mp_lamb_update multi_mp_sgd_mom_update multi_mp_sgd_update "
        "multi_sgd_mom_update multi_sgd_update multi_sum_sq multiply nag_mom_update norm=NDnorm normal "
        "preloaded_multi_mp_sgd_mom_update preloaded_multi_mp_sgd_update preloaded_multi_sgd_mom_update "
        "preloaded_multi_sgd_update rmsprop_update rmspropalex_update sgd_mom_update sgd_update signsgd_update "
        "signum_update sparse sqrt square zeros",
        "optimizer",
    ),
    ("rebind.ndarray", "clip mean sqrt square zeros", "optimizer.contrib"),
    ("rebind.ndarray", "concat tile", "io"),
    ("rebind.ndarray", "multi_all_finite", "contrib.amp.loss_scaler"),
    ("rebind.ndarray", "op", "ndarray.sparse"),
    ("rebind.ndarray", "zeros", "module.module"),
    (
        "rebind.ndarray.base", "ArrayBase=NDArrayBase",
        "ndarray._internal ndarray.contrib ndarray.image ndarray.linalg ndarray.ndarray ndarray.op ndarray.sparse",
    ),
    ("rebind.recordio", "=recordio", "gluon.data.dataset gluon.data.vision.datasets image image.image"),
    ("rebind.test_utils", "download", "gluon.contrib.data.text gluon.data.vision.datasets gluon.model_zoo.model_store"),
    ("rebind.scope", "=_name", "gluon.block"),
    ("rebind.scope", "NameManager", "symbol._internal"),
    ("rebind.symbol", "Symbol=_symbol_cls", "_ctypes.symbol"),
    ("rebind.symbol", "_internal", "symbol.random"),
    ("rebind.symbol", "contrib=symbol_contrib", "contrib.amp.amp"),
    ("rebind.symbol", "load_json", "gluon.block"),
    (
        "rebind.symbol.base", "SymbolBase",
        "symbol._internal symbol.contrib symbol.image symbol.linalg symbol.op symbol.sparse",
    ),
)  # fmt: skip


def _rows() -> Iterator[tuple[str, str]]:
    for module, names, paths in _ROWS:
        for spec in names.split():
            where, _, alias = spec.partition("=")
            for path in paths.split():
                yield f"{path}.{alias or where.rpartition('.')[2]}", f"{module}:{where}"


#: What a name of one of MXNet's modules is: a module and an attribute path in it, which may be empty.
REEXPORTS: dict[str, str] = dict(_rows())
