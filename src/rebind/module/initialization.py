"""`bind`, `init_params`, `set_params`, `init_optimizer` of every kind of module: their arguments, read into records."""

from __future__ import annotations

from collections.abc import Mapping

from ..checks import DICT, FLAG, check_kind, or_none, refuses_unknown
from ..executor import GradReqs
from ..initializer import Uniform
from ..ndarray import NDArray
from ..optimizer import Optimizer
from .descs import Shapes, read_descs
from .settings import Binding, InitializerSpec, InitialValues, OptimizerParams, OptimizerSettings, StoreSpec
from .steps import Steps

__all__ = ["bind", "init_optimizer", "init_params", "set_params"]


@refuses_unknown
def bind(
    module: Steps,
    data_shapes: Shapes,
    label_shapes: Shapes | None = None,
    for_training: bool = True,
    inputs_need_grad: bool = False,
    force_rebind: bool = False,
    shared_module: Steps | None = None,
    grad_req: GradReqs = "write",
) -> None:
    """Fix the shapes and allocate memory; existing parameters and an existing optimizer are preserved.

    Parameters
    ----------
    data_shapes, label_shapes
        `DataDesc` records or pairs of name and shape; `label_shapes` may be None.
    for_training
        Whether gradients are computed.
    inputs_need_grad
        Whether the inputs get gradients too.
    force_rebind
        Bind again; otherwise a second `bind` changes nothing and warns.
    shared_module
        A bound module whose parameter arrays, and optimizer, are used.
    grad_req
        ``'write'``, ``'add'`` or ``'null'``: one word, a list or a dict.

    Examples
    --------
    >>> import rebind as mx
    >>> net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2, name="fc")
    >>> module = mx.mod.Module(net, label_names=None)
    >>> module.bind([("data", (8, 3))], for_training=False)
    >>> module.output_shapes
    [('fc_output', (8, 2))]
    """
    flags = {"for_training": for_training, "inputs_need_grad": inputs_need_grad}
    check_kind("Module.bind", FLAG, **flags, force_rebind=force_rebind)
    data, labels = read_descs(data_shapes, "data_shapes"), read_descs(label_shapes, "label_shapes")
    binding = Binding(data=data, labels=labels or None, **flags, grad_req=grad_req)
    module.bind_to(binding, force=force_rebind, shared=shared_module)


@refuses_unknown
def init_params(
    module: Steps,
    initializer: InitializerSpec = Uniform(0.01),  # noqa: B008  (MXNet's default; it has no state)
    arg_params: Mapping[str, NDArray] | None = None,
    aux_params: Mapping[str, NDArray] | None = None,
    allow_missing: bool = False,
    force_init: bool = False,
    allow_extra: bool = False,
) -> None:
    """Give parameters and auxiliary states their first values.

    Parameters
    ----------
    initializer
        Fills what is not given (a name will do); a variable's own initializer (``var(init=...)``) takes precedence.
    arg_params, aux_params
        Values to copy. Names that the module does not have are ignored: a checkpoint of a larger network
        can be given as it is.
    allow_missing
        Let the initializer fill what `arg_params` and `aux_params` lack.
    force_init
        Set the values again; otherwise a second call changes nothing and warns.
    allow_extra
        Do not log names that the module does not have; they are ignored either way.

    Raises
    ------
    ParameterError
        When a value is missing, without `allow_missing`; the module then stays as it was.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("scale"), label_names=None)
    >>> module.bind([("data", (2,))])
    >>> module.init_params(arg_params={"scale": mx.nd.array([3, 4])})
    >>> module.get_params()[0]["scale"].asnumpy().tolist()
    [3.0, 4.0]
    """
    check_kind("Module.init_params", or_none(DICT), arg_params=arg_params, aux_params=aux_params)
    flags = {"allow_missing": allow_missing, "force_init": force_init, "allow_extra": allow_extra}
    check_kind("Module.init_params", FLAG, **flags)
    module.init_from(
        InitialValues(initializer=initializer, arg_params=arg_params, aux_params=aux_params, **flags)
    )


@refuses_unknown
def set_params(
    module: Steps,
    arg_params: Mapping[str, NDArray] | None,
    aux_params: Mapping[str, NDArray] | None,
    allow_missing: bool = False,
    force_init: bool = True,
    allow_extra: bool = False,
) -> None:
    """Set parameters and auxiliary states from copies of the given arrays.

    Parameters
    ----------
    arg_params, aux_params
        Values by name.
    allow_missing
        Leave what is not given as it is; names that the module lacks are then an error unless `allow_extra`.
    force_init
        With False, parameters that have values stay, with a warning.
    allow_extra
        Ignore names that the module lacks.

    Examples
    --------
    >>> import rebind as mx
    >>> module = mx.mod.Module(mx.sym.var("data") * mx.sym.var("w", shape=(1,)), label_names=None)
    >>> module.bind([("data", (1,))])
    >>> module.set_params({"w": mx.nd.array([5])}, {})
    >>> module.get_params()[0]["w"].item()
    5.0
    """
    check_kind("Module.set_params", or_none(DICT), arg_params=arg_params, aux_params=aux_params)
    flags = {"allow_missing": allow_missing, "force_init": force_init, "allow_extra": allow_extra}
    check_kind("Module.set_params", FLAG, **flags)
    module.set_from(InitialValues(initializer=None, arg_params=arg_params, aux_params=aux_params, **flags))


@refuses_unknown
def init_optimizer(
    module: Steps,
    kvstore: StoreSpec = "local",
    optimizer: str | Optimizer = "sgd",
    optimizer_params: OptimizerParams = (("learning_rate", 0.01),),
    force_init: bool = False,
) -> None:
    """Set up the optimizer and the store.

    Parameters
    ----------
    kvstore
        None, a name or a store. One device on one machine needs none.
    optimizer, optimizer_params
        A name and its settings, or an optimizer. `rescale_grad` is 1 / batch size unless it is given.
    force_init
        Start over; otherwise a second call changes nothing and warns.
    """
    check_kind("Module.init_optimizer", FLAG, force_init=force_init)
    module.optimize_by(OptimizerSettings(kvstore, optimizer, optimizer_params, force_init))
