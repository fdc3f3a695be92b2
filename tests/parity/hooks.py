"""Schedules, initializers, metrics and callbacks of a program's own, for MXNet and for rebind: `mx` is either."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .overrides import call, described, recorded

#: The methods of `Initializer` that fill; a name as plain text leads through `_legacy_init`.
FILLING = (
    "__call__", "_legacy_init", "_init_weight", "_init_bias", "_init_gamma", "_init_beta", "_init_zero", "_init_one",
    "_init_default", "_init_bilinear", "_init_loc_bias",
)  # fmt: skip
#: Names, and the shapes of their arrays.
NAMES = {
    "a_weight": (2, 2), "a_bias": (2,), "a_gamma": (2,), "a_beta": (2,), "a_moving_mean": (2,), "a_moving_var": (2,),
    "moving_inv_var": (2,), "moving_avg": (2,), "upsampling_x": (1, 1, 2, 2), "stn_loc_weight": (2, 2),
    "stn_loc_bias": (6,), "a_min": (1,), "a_max": (1,), "a_quantized_weight": (2, 2),
}  # fmt: skip
MEASURING = ("update_dict", "update", "reset", "reset_local")
SCHEDULING = ("__call__", "get_warmup_lr")


def network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc0")
    net = mx.sym.BatchNorm(net, name="bn", fix_gamma=False)
    net = mx.sym.FullyConnected(net, mx.sym.var("a_weight", init=mx.init.One()), num_hidden=3, name="fc1")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def data(mx: Any) -> Any:
    samples = np.arange(24).reshape(8, 3) / 10.0
    return mx.io.NDArrayIter(samples, np.arange(8) % 3, 4, label_name="softmax_label")


def drawing(mx: Any) -> type:
    """Return an initializer that draws each weight from NumPy's generator."""

    class Drawing(mx.init.Initializer):
        def _init_weight(self, name: str, arr: Any) -> None:
            arr[:] = np.random.uniform(-1, 1, arr.shape)

        _init_bias = _init_gamma = _init_weight

    return Drawing


def initialized(mx: Any) -> dict[str, Any]:
    """Return the calls of a module's initializer, and the parameters that it draws."""
    calls: list[str] = []
    module = mx.mod.Module(network(mx))
    module.bind([("data", (4, 3))], [("softmax_label", (4,))])
    np.random.seed(2)
    module.init_params(recorded(drawing(mx), FILLING, calls)())
    found = {**module.get_params()[0], **module.get_params()[1]}
    return {
        "calls": calls,
        "parameters": {name: found[name].asnumpy().round(5).tolist() for name in sorted(found)},
    }


def filled(mx: Any, name: str, form: str) -> list[str]:
    """Return the calls of an initializer for a name: as text, as `InitDesc`, or with an initializer of its own."""
    calls: list[str] = []
    attributes = {"__init__": mx.init.One().dumps()} if form == "own" else {}
    desc = name if form == "text" else mx.init.InitDesc(name, attributes)
    recorded(drawing(mx), FILLING, calls)()(desc, mx.nd.zeros(NAMES[name]))
    return calls


def scheduled(mx: Any, optimizer: str) -> list[str]:
    """Return the calls of a schedule while a module is trained."""
    calls: list[str] = []
    schedule = recorded(mx.lr_scheduler.FactorScheduler, SCHEDULING, calls)(
        step=1, factor=0.5, base_lr=0.1, warmup_steps=3
    )
    mx.mod.Module(network(mx)).fit(
        data(mx),
        num_epoch=2,
        optimizer=optimizer,
        optimizer_params={"lr_scheduler": schedule, "learning_rate": 0.1},
    )
    return calls


class Sum:
    """What a metric of a program's own does; it is mixed into `EvalMetric`."""

    def update(self: Any, labels: Any, preds: Any) -> None:
        self.sum_metric += float(preds[0].asnumpy().sum())
        self.num_inst += 1


def measured(mx: Any, devices: int) -> list[str]:
    """Return the calls of a metric of a program's own while a module is trained and scored."""
    calls: list[str] = []
    kind = type(
        "Own", (Sum, mx.metric.EvalMetric), {"__init__": lambda self: kind.__mro__[2].__init__(self, "own")}
    )
    metric = recorded(kind, MEASURING, calls)()
    module = mx.mod.Module(network(mx), context=[mx.cpu(k) for k in range(devices)])
    speed = mx.callback.Speedometer(4, 1)
    module.fit(data(mx), eval_data=data(mx), num_epoch=2, eval_metric=metric, batch_end_callback=speed)
    module.score(data(mx), metric)
    return calls


def called_back(mx: Any) -> list[str]:
    """Return what callbacks are called with."""
    calls: list[str] = []

    def noted(kind: str) -> Any:
        def callback(param: Any) -> None:
            fields = (param.epoch, param.nbatch, param.eval_metric.name, isinstance(param.locals, dict))
            calls.append(f"{kind}{described(fields)} {list(param._fields)}")

        return callback

    def epoch_end(*arguments: Any) -> None:
        given: Sequence[Any] = [sorted(each) if isinstance(each, dict) else each for each in arguments]
        calls.append(call("epoch_end", given))

    module = mx.mod.Module(network(mx))
    module.fit(
        data(mx), eval_data=data(mx), num_epoch=2, batch_end_callback=[noted("batch")],
        epoch_end_callback=epoch_end, eval_end_callback=noted("eval"), eval_batch_end_callback=noted("eval batch"),
    )  # fmt: skip
    module.score(
        data(mx), "acc", batch_end_callback=noted("score batch"), score_end_callback=noted("score"), epoch=7
    )
    return calls


FORMS = ("text", "desc", "own")
#: In these MXNet finds no rule for the end of the name, and raises: rebind has rules (docs/differences.md).
WITHOUT_RULE = tuple(
    (name, "desc")
    for name in ("a_moving_mean", "a_moving_var", "moving_inv_var", "moving_avg", "upsampling_x")
)


def fillings() -> list[tuple[str, str]]:
    """Return the names with the forms in which they are given."""
    return [(name, form) for name in NAMES for form in FORMS if (name, form) not in WITHOUT_RULE]
