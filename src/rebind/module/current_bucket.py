"""`CurrentBucket`: the half of `BucketingModule` that passes its steps on to the current bucket's module."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping, Sequence

from ..errors import StateError
from ..executor import DataParallelExecutorGroup, GradReqs
from ..initializer import Uniform
from ..io import DataDesc
from ..kvstore import KVStoreBase
from ..metric import EvalMetric
from ..ndarray import NDArray
from ..optimizer import Optimizer
from ..protocols import ArrayDict, Logger
from ..symbol import Symbol
from .base_module import BaseModule
from .buckets import Buckets
from .module import Module
from .old_names import MODULE_NAMES, with_old_names
from .parameters import Parameters
from .settings import Binding, InitializerSpec
from .steps import Arrays, HeadGrads, Labels
from .update_policy import UpdatePolicy

__all__ = ["CurrentBucket"]


@with_old_names(MODULE_NAMES)
class CurrentBucket(BaseModule):
    """A module that is, at each moment, one of several.

    What concerns a batch goes to the current bucket's module; parameters and optimizer are the default one's. Most
    methods only pass a call on; those are described in `BaseModule`.

    Parameters
    ----------
    buckets
        The modules.
    logger
        Where messages go.

    Examples
    --------
    >>> import rebind as mx
    >>> def network(length):
    ...     return mx.sym.sum(mx.sym.var("data"), axis=1, name=f"sum_of_{length}"), ["data"], None
    >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
    >>> module.bind([("data", (2, 8))], for_training=False)
    >>> module.init_params()
    >>> module.output_names
    ['sum_of_8_output']
    >>> module.forward(mx.io.DataBatch([mx.nd.ones((2, 5))], bucket_key=5))
    >>> module.output_names
    ['sum_of_5_output']
    """

    def __init__(self, buckets: Buckets, logger: Logger = logging) -> None:
        super().__init__(logger)
        self._all = buckets

    @property
    def buckets(self) -> Buckets:
        """The modules of the buckets.

        >>> import rebind as mx
        >>> def network(length):
        ...     return mx.sym.sum(mx.sym.var("data"), axis=1), ["data"], None
        >>> mx.mod.BucketingModule(network, default_bucket_key=8).buckets.default_key
        8
        """
        return self._all

    @property
    def parameters(self) -> Parameters:
        return self._all.default.parameters

    @property
    def executors(self) -> DataParallelExecutorGroup | None:
        return self._all.current.executors

    @property
    def policy(self) -> UpdatePolicy | None:
        return self._all.default.policy

    @property
    def binding(self) -> Binding | None:
        """What the default bucket is bound to."""
        return self._all.default.binding

    # Names that MXNet's programs reach for, beside those of `OldNames`.

    @property
    def _state_names(self) -> list[str]:
        return list(self._all.settings["state_names"] or ())

    @property
    def _buckets(self) -> dict[Hashable, Module]:
        return self._all.modules

    @property
    def _curr_module(self) -> Module:
        return self._all.current

    @property
    def _curr_bucket_key(self) -> Hashable:
        return self._all.current_key

    @property
    def binded(self) -> bool:
        """Whether the default bucket is bound."""
        return self._all.default.binded

    @binded.setter
    def binded(self, value: bool) -> None:
        self._all.default.binded = value
        if not value:  # the others work on the arrays that are free now
            self._all.forget()

    @property
    def params_initialized(self) -> bool:
        return self._all.default.params_initialized

    @params_initialized.setter
    def params_initialized(self, value: bool) -> None:
        for module in self._all.bound():  # all use the same values, and each has the flag
            module.params_initialized = value

    @property
    def optimizer_initialized(self) -> bool:
        return self._all.default.optimizer_initialized

    @optimizer_initialized.setter
    def optimizer_initialized(self, value: bool) -> None:
        for module in self._all.bound():
            module.optimizer_initialized = value

    @property
    def symbol(self) -> Symbol:
        return self._all.current.symbol

    @property
    def networks(self) -> list[Symbol]:
        """The network of the default bucket only: which others there are depends on the batches so far."""
        return self._all.default.networks

    @property
    def data_names(self) -> list[str]:
        return self._all.current.data_names

    @property
    def label_names(self) -> list[str]:
        return self._all.current.label_names

    @property
    def output_names(self) -> list[str]:
        return self._all.current.output_names

    @property
    def data_shapes(self) -> list[DataDesc]:
        return self._bound("data_shapes").data_shapes

    @property
    def label_shapes(self) -> list[DataDesc] | None:
        return self._bound("label_shapes").label_shapes

    @property
    def output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        return self._bound("output_shapes").output_shapes

    def output_descs(self) -> list[DataDesc]:
        return self._all.current.output_descs()

    def output_axes(self) -> list[int]:
        return self._all.current.output_axes()

    def parameter_names(self) -> list[str]:
        return self._all.default.parameter_names()

    def __repr__(self) -> str:
        bound = [key for key, module in self._all.modules.items() if module.binded]
        return f"<{type(self).__name__}: bound for {bound}, now {self._all.current_key!r}: {self._all.current!r}>"

    def _bound(self, who: str) -> Module:
        """Return the current bucket's module, which must be bound."""
        if not self.binded:
            raise StateError(f"BucketingModule.{who} needs bind() first")
        return self._all.current

    def _ready(self, who: str) -> Module:
        """Return the current bucket's module, which must be bound and have parameters."""
        self._bound(who)
        if not self.params_initialized:
            raise StateError(f"BucketingModule.{who} needs init_params() first")
        return self._all.current

    # The steps of a batch that has found its bucket.

    def backward(self, out_grads: HeadGrads = None) -> None:
        self._ready("backward()").backward(out_grads)

    def get_outputs(self, merge_multi_context: bool = True) -> Arrays:
        return self._ready("get_outputs()").get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        return self._ready("get_input_grads()").get_input_grads(merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> Arrays:
        """Return the states of the current bucket; buckets with states of one shape share them.

        >>> import rebind as mx
        >>> def network(length):
        ...     memory = mx.sym.var("memory", shape=(2, 1))
        ...     return mx.sym.broadcast_add(mx.sym.var("data"), memory), ["data"], None
        >>> module = mx.mod.BucketingModule(network, 8, state_names=["memory"])
        >>> module.bind([("data", (2, 8))], for_training=False)
        >>> module.init_params()
        >>> module.set_states(value=7)
        >>> module.switch_bucket(5, [("data", (2, 5))])
        >>> module.get_states()[0].asnumpy().tolist()
        [[7.0], [7.0]]
        """
        return self._ready("get_states()").get_states(merge_multi_context)

    def set_states(self, states: Sequence[NDArray] | None = None, value: float | None = None) -> None:
        self._ready("set_states()").set_states(states, value)

    def update_metric(self, eval_metric: EvalMetric, labels: Labels, pre_sliced: bool = False) -> None:
        self._ready("update_metric()").update_metric(eval_metric, labels, pre_sliced)

    # Parameters and optimizer, which are the default bucket's.

    def get_params(self) -> tuple[ArrayDict, ArrayDict]:
        if not self.params_initialized:
            raise StateError("BucketingModule.get_params() needs init_params() first")
        return self._all.default.get_params()

    def trained_params(self) -> ArrayDict:
        return self._all.default.trained_params()

    def init_params(
        self,
        initializer: InitializerSpec = Uniform(0.01),  # noqa: B008  (MXNet's default; it has no state)
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        self._bound("init_params()")
        self._all.default.init_params(
            initializer, arg_params, aux_params, allow_missing, force_init, allow_extra
        )
        self.params_initialized = True  # of the other buckets, too

    def set_params(
        self,
        arg_params: Mapping[str, NDArray] | None,
        aux_params: Mapping[str, NDArray] | None,
        allow_missing: bool = False,
        force_init: bool = True,
        allow_extra: bool = False,
    ) -> None:
        self._bound("set_params()")
        self._all.default.set_params(arg_params, aux_params, allow_missing, force_init, allow_extra)
        self.params_initialized = True

    def grad_req_of_parameters(self, grad_req: GradReqs) -> GradReqs:
        return self._all.default.grad_req_of_parameters(grad_req)

    def unify_devices(self) -> None:
        self._all.default.unify_devices()

    def auxiliary_arrays(self) -> list[Sequence[NDArray]]:
        return self._all.default.auxiliary_arrays()

    def stores(self) -> list[KVStoreBase]:
        return self._all.default.stores()

    def take_no_batch(self) -> None:
        self._all.default.take_no_batch()

    def optimizers(self) -> list[Optimizer]:
        return self._all.default.optimizers()

    def number_parameters(self, first_index: int) -> int:
        return self._all.default.number_parameters(first_index)

    def save_optimizer_states(self, fname: str) -> None:
        """Write the optimizer's states to a file, which appears whole or not at all."""
        self._need_optimizer("save_optimizer_states()")
        self._all.default.save_optimizer_states(fname)

    def load_optimizer_states(self, fname: str) -> None:
        """Read the optimizer's states from a file.

        >>> import tempfile, rebind as mx
        >>> def network(length):
        ...     return mx.sym.sum(mx.sym.var("data"), axis=1) * mx.sym.var("w", shape=(1,)), ["data"], None
        >>> module = mx.mod.BucketingModule(network, default_bucket_key=8)
        >>> module.bind([("data", (1, 8))])
        >>> module.set_params({"w": mx.nd.ones((1,))}, {})
        >>> module.init_optimizer(optimizer="adam")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     module.save_optimizer_states(f"{folder}/net.states")
        ...     module.load_optimizer_states(f"{folder}/net.states")
        >>> type(module.optimizers()[0]).__name__
        'Adam'
        """
        self._need_optimizer("load_optimizer_states()")
        self._all.default.load_optimizer_states(fname)

    def _need_optimizer(self, who: str) -> None:
        if not self.optimizer_initialized:
            raise StateError(f"BucketingModule.{who} needs init_optimizer() first")
