"""What rebind does not have of gluon: classes and functions that can be named, and say so when they are used."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ..absent import absent_class, absent_function

__all__ = ["NAMES", "contrib", "data", "loss", "model_zoo", "named", "rnn", "trainer"]

_BLOCKS = "Write it as a HybridBlock, with the operators of mx.sym and mx.nd."
_DATA = "Use mx.io.NDArrayIter, or any iterable of mx.io.DataBatch."
_LOSS = "Use a loss of mx.sym: SoftmaxOutput, LinearRegressionOutput, MakeLoss, ..."
_RNN = "Use mx.sym.RNN, or cells written with mx.sym.FullyConnected."
_ZOO = "Build the network with mx.sym, or load it with mx.model.load_checkpoint."

# By module below `gluon`: what to use instead, and its names. Those that end in `()` are functions.
NAMES: dict[str, tuple[str, str]] = {
    "contrib.cnn.conv_layers": (_BLOCKS, "DeformableConvolution ModulatedDeformableConvolution"),
    "contrib.data.sampler": (_DATA, "IntervalSampler"),
    "contrib.data.text": (_DATA, "WikiText103 WikiText2"),
    "contrib.estimator.batch_processor": ("Use Module.fit.", "BatchProcessor"),
    "contrib.estimator.estimator": ("Use Module.fit.", "Estimator"),
    "contrib.estimator.event_handler": (
        "Use mx.callback with Module.fit.",
        "BatchBegin BatchEnd CheckpointHandler EarlyStoppingHandler EpochBegin EpochEnd EventHandler "
        "GradientUpdateHandler LoggingHandler MetricHandler StoppingHandler TrainBegin TrainEnd ValidationHandler",
    ),
    "contrib.nn.basic_layers": (
        _BLOCKS,
        "Concurrent HybridConcurrent Identity PixelShuffle1D PixelShuffle2D PixelShuffle3D SparseEmbedding "
        "SyncBatchNorm",
    ),
    "contrib.rnn.conv_rnn_cell": (
        _RNN,
        "Conv1DGRUCell Conv1DLSTMCell Conv1DRNNCell Conv2DGRUCell Conv2DLSTMCell Conv2DRNNCell Conv3DGRUCell "
        "Conv3DLSTMCell Conv3DRNNCell",
    ),
    "contrib.rnn.rnn_cell": (_RNN, "LSTMPCell VariationalDropoutCell dynamic_unroll()"),
    "data.dataloader": (
        _DATA, "DataLoader DataLoaderV1 default_batchify_fn() default_mp_batchify_fn()",
    ),
    "data.dataset": (_DATA, "ArrayDataset Dataset RecordFileDataset SimpleDataset"),
    "data.sampler": (_DATA, "BatchSampler FilterSampler RandomSampler Sampler SequentialSampler"),
    "data.vision.datasets": (
        _DATA, "CIFAR10 CIFAR100 FashionMNIST ImageFolderDataset ImageRecordDataset MNIST",
    ),
    "data.vision.transforms": (
        "Use the operators of mx.nd.image.",
        "Cast CenterCrop Compose CropResize Normalize RandomApply RandomBrightness RandomColorJitter RandomContrast "
        "RandomFlipLeftRight RandomFlipTopBottom RandomHue RandomLighting RandomResizedCrop RandomRotation "
        "RandomSaturation Resize Rotate ToTensor",
    ),
    "loss": (
        _LOSS,
        "CTCLoss CosineEmbeddingLoss HingeLoss HuberLoss KLDivLoss L1Loss L2Loss LogisticLoss Loss PoissonNLLLoss "
        "SDMLLoss SigmoidBCELoss SigmoidBinaryCrossEntropyLoss SoftmaxCELoss SoftmaxCrossEntropyLoss "
        "SquaredHingeLoss TripletLoss",
    ),
    "model_zoo.model_store": (_ZOO, "get_model_file() purge() short_hash()"),
    "model_zoo.vision": (_ZOO, "get_model()"),
    "model_zoo.vision.alexnet": (_ZOO, "AlexNet alexnet()"),
    "model_zoo.vision.densenet": (
        _ZOO, "DenseNet densenet121() densenet161() densenet169() densenet201() get_densenet()",
    ),
    "model_zoo.vision.inception": (_ZOO, "Inception3 inception_v3() make_aux()"),
    "model_zoo.vision.mobilenet": (
        _ZOO,
        "LinearBottleneck MobileNet MobileNetV2 RELU6 get_mobilenet() get_mobilenet_v2() mobilenet0_25() "
        "mobilenet0_5() mobilenet0_75() mobilenet1_0() mobilenet_v2_0_25() mobilenet_v2_0_5() mobilenet_v2_0_75() "
        "mobilenet_v2_1_0()",
    ),
    "model_zoo.vision.resnet": (
        _ZOO,
        "BasicBlockV1 BasicBlockV2 BottleneckV1 BottleneckV2 ResNetV1 ResNetV2 get_resnet() resnet101_v1() "
        "resnet101_v2() resnet152_v1() resnet152_v2() resnet18_v1() resnet18_v2() resnet34_v1() resnet34_v2() "
        "resnet50_v1() resnet50_v2()",
    ),
    "model_zoo.vision.squeezenet": (_ZOO, "SqueezeNet get_squeezenet() squeezenet1_0() squeezenet1_1()"),
    "model_zoo.vision.vgg": (
        _ZOO, "VGG get_vgg() vgg11() vgg11_bn() vgg13() vgg13_bn() vgg16() vgg16_bn() vgg19() vgg19_bn()",
    ),
    "rnn.rnn_cell": (
        _RNN,
        "BidirectionalCell DropoutCell GRUCell HybridRecurrentCell HybridSequentialRNNCell LSTMCell ModifierCell "
        "RNNCell RecurrentCell ResidualCell SequentialRNNCell ZoneoutCell",
    ),
    "rnn.rnn_layer": (_RNN, "GRU LSTM RNN"),
    "trainer": ("mx.mod.Module trains symbols; an optimizer is mx.optimizer.create(...).", "Trainer"),
}  # fmt: skip


def named(whole: str) -> Any:
    """Return what stands for a class or a function of gluon, by its path: the same at every call.

    >>> named("trainer.Trainer").__name__
    'Trainer'
    """
    path, _, name = whole.rpartition(".")
    return getattr(_modules[path], name)


def _module(path: str) -> ModuleType:
    """Return the module for a path below `gluon`, which is made with those above it if there is none."""
    if path not in _modules:
        above, _, name = path.rpartition(".")
        found = _modules[path] = ModuleType(
            f"rebind.gluon.{path}", f"`gluon.{path}`, which rebind does not have."
        )
        found.__all__ = []  # type: ignore[attr-defined]  # modules may have it
        # ``gluon.data.vision`` is an attribute of ``gluon.data``.
        if above:
            setattr(_module(above), name, found)
    return _modules[path]


def _made(path: str, name: str, instead: str) -> object:
    """Return the class or function that stands for a name of `NAMES`."""
    whole = ".".join(filter(None, ("gluon", path, name.removesuffix("()"))))
    if name.endswith("()"):
        return absent_function(whole, instead)
    return absent_class(whole, instead, f"rebind.{whole.rpartition('.')[0]}")


def _fill() -> None:
    """Make the modules of `NAMES`. A package has the names of its modules too, as in MXNet."""
    for path, (instead, names) in NAMES.items():
        above = path.rpartition(".")[0]
        modules = [_module(path), *([_module(above)] if above else [])]
        for name in names.split():
            made = _made(path, name, instead)
            for module in modules:
                setattr(module, name.removesuffix("()"), made)
                module.__all__.append(name.removesuffix("()"))


_modules: dict[str, ModuleType] = {}
_fill()
contrib, data, loss, model_zoo, rnn, trainer = (
    _modules[path] for path in ("contrib", "data", "loss", "model_zoo", "rnn", "trainer")
)
