"""Arguments whose values rebind takes otherwise than MXNet: a part of docs/differences that a program shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = ["ROWS", "Row"]

#: By argument the values with which a row holds, or whether it does so with a value; no values: with any.
When: TypeAlias = "Mapping[str, Collection[object] | Callable[[Any], bool]]"


@dataclass(frozen=True)
class Row:
    """One difference.

    Parameters
    ----------
    path
        The function, below `mxnet`; other paths of the same function count too.
    sentence
        What is different.
    when
        The arguments with which it holds, all of them; without any: at each call.
    stops
        Whether the call is an error.
    """

    path: str
    sentence: str
    when: When = field(default_factory=dict)
    stops: bool = False


_ADAMAX = "elements that had no gradient yet are left as they are; MXNet makes them nan"
_LAMB = "multi_precision trains; MXNet makes no progress after the first step"
_AVERAGES = ("macro", "micro")
_BFLOAT16 = "as many operators as for float16 compute in it; MXNet leaves most in float32"
_SATURATION = "takes 0.299 R + 0.587 G + 0.114 B for grey; MXNet takes 0.114 of the blue"
_WHOLE_NUMBERS = ("int8", "uint8", "int32", "int64")
_CORRECTED = "MXNet's gradient is wrong and rebind's is right, so that the network trains differently"


def _is_fraction(size: object) -> bool:
    return isinstance(size, float)


def _in_both(name: str, sentence: str, when: When | None = None, stops: bool = False) -> tuple[Row, Row]:
    """Return the rows of an operator for symbols and for arrays."""
    return Row(f"sym.{name}", sentence, when or {}, stops), Row(f"nd.{name}", sentence, when or {}, stops)


ROWS: tuple[Row, ...] = (
    Row(
        "random.seed",
        "random numbers come from PyTorch's generators: the same in each run, but not MXNet's",
    ),
    *_in_both("LeakyReLU", f"selu: {_CORRECTED}", {"act_type": ("selu",)}),
    *_in_both("LeakyReLU", f"prelu between other operators: {_CORRECTED}", {"act_type": ("prelu",)}),
    *_in_both(
        "SoftmaxOutput",
        "out_grad multiplies the gradient by the output's gradient; MXNet multiplies it by the output",
        {"out_grad": (True,)},
    ),
    *_in_both("Dropout", "p=1 gives zeros in training; MXNet gives nan", {"p": (1,)}),
    *_in_both(
        "contrib.bipartite_matching",
        "takes topk pairs; MXNet takes one more",
        {"topk": ()},
    ),
    *_in_both(
        "contrib.MultiBoxTarget",
        "at least so many anchors of the background count in an image with objects; MXNet ignores it",
        {"minimum_negative_samples": ()},
    ),
    *_in_both(
        "contrib.while_loop",
        "outputs of steps that did not run are zeros; in MXNet they are what was in memory",
    ),
    *(
        row
        for name in ("uniform", "exponential", "gamma")
        for row in _in_both(
            f"random_pdf_{name}", "the density outside of its support is 0; MXNet applies the formula"
        )
    ),
    *_in_both(
        "Pooling",
        "at the border each gradient is that of the mean of what is there; MXNet divides by the whole window",
        {"pool_type": ("avg",), "pooling_convention": ("full",)},
    ),
    *(
        row
        for name in ("Cast", "cast")
        for row in _in_both(
            name,
            "no gradient passes to what is rounded; MXNet passes it unchanged",
            {"dtype": _WHOLE_NUMBERS},
        )
    ),
    *_in_both(
        "SoftmaxOutput",
        "smooth_alpha counts with multi_output too; MXNet leaves it out",
        {"multi_output": (True,), "smooth_alpha": lambda alpha: alpha != 0},
    ),
    *_in_both(
        "contrib.SyncBatchNorm",
        "means are over the processes of a torch.distributed group; MXNet's are over ndev devices of this process",
        {"ndev": lambda count: count != 1},
    ),
    *_in_both(
        "contrib.AdaptiveAvgPooling2D",
        "output_size has one or two numbers; of three MXNet makes the mean of the picture",
        {"output_size": lambda size: isinstance(size, tuple) and len(size) > 2},
        stops=True,
    ),
    *_in_both(
        "Correlation",
        "kernel_size must be odd; MXNet takes others",
        {"kernel_size": lambda size: size % 2 == 0},
        True,
    ),
    *_in_both("image.random_saturation", _SATURATION),
    *_in_both("image.random_color_jitter", _SATURATION, {"saturation": lambda amount: amount != 0}),
    Row("engine.set_bulk_size", "has no effect: a network is always lowered as a whole"),
    Row("engine.bulk", "has no effect: a network is always lowered as a whole"),
    Row("optimizer.Adamax", _ADAMAX),
    Row("optimizer.create", _ADAMAX, {"name": ("adamax", "Adamax")}),
    Row("optimizer.LAMB", _LAMB, {"multi_precision": (True,)}),
    Row(
        "metric.PearsonCorrelation",
        "the figure of an epoch is that of all its samples; MXNet's micro average gives 0 after reset_local",
        {"average": ("micro",)},
    ),
    Row(
        "optimizer.Nadam",
        "the schedule of momentum advances once for each update; MXNet's once for each weight too, which is wrong",
    ),
    Row(
        "optimizer.create",
        "the schedule of momentum advances once for each update; MXNet's once for each weight too, which is wrong",
        {"name": ("nadam", "Nadam")},
    ),
    Row(
        "optimizer.LBSGD",
        "an unknown warmup_strategy is an error; in MXNet there is no warm-up then",
        {"warmup_strategy": lambda name: name not in ("linear", "power2", "sqrt", "lars")},
        stops=True,
    ),
    Row(
        "optimizer.LARS",
        "the norm of a weight is that of its master copy; MXNet takes that of the rounded weight",
        {"multi_precision": (True,)},
    ),
    Row(
        "optimizer.LARS",
        "with momentum all weights follow the schedule's rate; in MXNet the first four do",
        {"lr_scheduler": (), "momentum": ()},
    ),
    *(
        Row(
            f"metric.{name}",
            f"average must be {' or '.join(map(repr, _AVERAGES))}; MXNet takes others for 'micro', or fails later",
            {"average": lambda name: name not in _AVERAGES},
            stops=True,
        )
        for name in ("F1", "MCC", "PearsonCorrelation")
    ),
    Row(
        "metric.PCC",
        "the figure of an epoch is that of the epoch; MXNet's is that since reset_local",
        {"has_global_stats": (False,)},
    ),
    Row(
        "rnn.encode_sentences",
        "unknown words have the number of unknown_token; in MXNet each has a new one",
        {"vocab": (), "unknown_token": ()},
    ),
    Row(
        "rnn.FusedRNNCell",
        "unfuse gives cells with this forget_bias; MXNet's have the default",
        {"forget_bias": ()},
    ),
    Row(
        "rnn.ConvGRUCell",
        "gates are split along the channels; MXNet splits them along the height",
        {"conv_layout": ("NHWC",)},
    ),
    Row("contrib.amp.init", _BFLOAT16, {"target_dtype": ("bfloat16",)}),
    Row("contrib.amp.convert_model", _BFLOAT16, {"target_dtype": ("bfloat16",)}),
    Row("runtime.Features", "shows what PyTorch has here, under MXNet's names"),
    Row(
        "io.ResizeIter",
        "size must be an int; with a fraction MXNet's epoch never ends",
        {"size": _is_fraction},
        True,
    ),
    Row(
        "image.ImageIter",
        "ends until reset is called; MXNet reads on into the next epoch",
        {"last_batch_handle": ("roll_over",)},
    ),
    Row("mod.Module.score", "each sample counts once; MXNet counts those that pad the last batch too"),
    Row(
        "model.FeedForward.score",
        "needs the labels of arrays (y=...), and counts each sample once; MXNet invents labels",
    ),
    Row(
        "mod.Module.fit",
        "several devices sum their gradients; MXNet trains each device alone",
        {"kvstore": (None,)},
    ),
    Row(
        "mod.Module.bind",
        "must be True or False; for MXNet each text is true",
        {"for_training": lambda value: isinstance(value, str)},
        stops=True,
    ),
    Row(
        "kvstore.create",
        "sums over the workers of the job by PyTorch's process groups; that package is not needed",
        {"name": ("horovod", "byteps")},
    ),
    Row(
        "contrib.svrg_optimization.SVRGModule",
        "each snapshot begins its full gradient at zero; MXNet adds it to the one before, which is too large",
    ),
)
