"""`Chain`: modules that feed each other; the half of `SequentialModule` that connects them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from ..checks import warn_user
from ..errors import ParameterError, StateError
from ..io import DataBatch, DataDesc
from ..ndarray import NDArray
from ..protocols import Batch
from .base_module import BaseModule
from .batches import AnyBatch
from .loss_scaling import LossScaling
from .settings import Binding
from .steps import HeadGrads

__all__ = ["Chain", "Link"]


class Link(NamedTuple):
    """A module of the chain, and how it is connected."""

    module: BaseModule
    takes_labels: bool
    is_wired: bool


class Chain:
    """Modules, each with the outputs of the one before as its inputs.

    Attributes
    ----------
    links
        The modules, and how they are connected.
    scaler
        What scales the losses of all; None for no scaling.
    scales_outputs
        Whether gradients begin at the outputs of the last module; otherwise they are scaled before they arrive.

    Examples
    --------
    >>> import rebind as mx
    >>> double = mx.mod.Module(2 * mx.sym.var("data"), label_names=None)
    >>> chain = Chain()
    >>> chain.links = [Link(double, takes_labels=False, is_wired=True)]
    >>> chain.first is chain.last is double
    True
    """

    def __init__(self) -> None:
        self.links: list[Link] = []
        self.scaler: LossScaling | None = None
        self.scales_outputs = True

    @property
    def modules(self) -> list[BaseModule]:
        """The modules, first to last."""
        return [link.module for link in self.links]

    @property
    def first(self) -> BaseModule:
        """The first module, which takes the batch.

        >>> import rebind as mx
        >>> chain = Chain()
        >>> chain.links = [Link(mx.mod.PythonLossModule(name), False, True) for name in ("one", "two")]
        >>> chain.first.output_names, chain.last.output_names
        (['one_output'], ['two_output'])
        """
        return self.links[0].module

    @property
    def last(self) -> BaseModule:
        """The last module, whose outputs are the chain's."""
        return self.links[-1].module

    def check_names(self) -> None:
        """Check that no two modules have a parameter of the same name, as far as names are known before `init_params`.

        >>> import rebind as mx
        >>> chain, net = Chain(), mx.sym.var("data") * mx.sym.var("w")
        >>> modules = [mx.mod.Module(net, label_names=None), mx.mod.Module(net, label_names=None)]
        >>> chain.links = [Link(module, takes_labels=False, is_wired=True) for module in modules]
        >>> chain.check_names()
        Traceback (most recent call last):
        rebind.errors.ParameterError: ...names of parameters must differ; 'w' is in module 0 and in module 1
        """
        owners: dict[str, int] = {}
        for i, module in enumerate(self.modules):
            for name in module.parameter_names():
                other = owners.setdefault(name, i)
                if other != i:
                    raise ParameterError(
                        f"SequentialModule.init_params: names of parameters must differ; {name!r} is in module {other} "
                        f"and in module {i}"
                    )

    # Shapes.

    def bind(self, binding: Binding) -> None:
        """Bind all modules, each to the shapes of the outputs of the one before.

        >>> import rebind as mx
        >>> net = mx.sym.sum(mx.sym.var("data"), axis=0)
        >>> chain = Chain()
        >>> for _ in range(2):
        ...     module = mx.mod.Module(net, label_names=None)
        ...     chain.links.append(Link(module, takes_labels=False, is_wired=True))
        >>> chain.bind(Binding(data=[DataDesc("data", (2, 3, 4))], labels=None))
        >>> [module.data_shapes[0].shape for module in chain.modules]
        [(2, 3, 4), (3, 4)]
        """
        self._share_loss_scaler()
        for i in range(len(self.links)):
            given = self.links[i - 1].module.output_descs() if i else binding.data
            self._bind_link(i, self._wired(i, given), binding)

    def _bind_link(self, i: int, data: list[DataDesc], binding: Binding) -> None:
        link = self.links[i]
        if binding.labels and binding.for_training and not link.takes_labels:
            self._warn_of_labels(i)
        names, given = list(link.module.data_names), [desc.name for desc in data]
        if i and sorted(names) != sorted(given):
            raise ParameterError(
                f"SequentialModule.bind: module {i} has the inputs {names}; the outputs before it are {given}. Add it "
                "with auto_wiring=True to take them by their order."
            )
        # Gradients that a module hands to the one before are never added up.
        grad_req = binding.grad_req
        if i or not link.module.parameter_names():
            grad_req = link.module.grad_req_of_parameters(grad_req)
        link.module.bind(
            data,
            binding.labels if link.takes_labels else None,
            for_training=binding.for_training,
            # The first module's inputs are the chain's; the others' gradients are for the module before.
            inputs_need_grad=binding.for_training and (binding.inputs_need_grad or i > 0),
            force_rebind=True,  # the module before may have new shapes
            grad_req=grad_req,
        )

    def _warn_of_labels(self, i: int) -> None:
        """Warn about the labels of a module that does not take any: they stay zero."""
        module = self.links[i].module
        arguments = [] if module.symbol is None else module.symbol.list_arguments()
        if unread := [name for name in getattr(module, "label_names", None) or () if name in arguments]:
            warn_user(
                f"SequentialModule.bind: module {i} has the labels {unread}, which stay zero. Add it with "
                "take_labels=True."
            )

    def _wired(self, i: int, given: list[DataDesc]) -> list[DataDesc]:
        """Return descriptions of a module's inputs, under its own names."""
        link = self.links[i]
        if not link.is_wired:
            return given
        names = link.module.data_names
        if len(names) != len(given):
            raise ParameterError(
                f"SequentialModule.bind: module {i} has the inputs {list(names)}; got {len(given)} arrays for them, "
                f"{[desc.name for desc in given]}"
            )
        return [
            DataDesc(name, desc.shape, desc.dtype, desc.layout)
            for name, desc in zip(names, given, strict=True)
        ]

    def _share_loss_scaler(self) -> None:
        """Let all modules use the chain's scaler: a module's gradients contain the scale of those that it was given."""
        last = len(self.links) - 1
        for i, module in enumerate(self.modules):
            if self.scaler is not None and module.networks:
                module.use_loss_scaler(self.scaler, outputs=i == last and self.scales_outputs)
            elif self.scaler is None and module.loss_scaler is not None:
                raise StateError(
                    f"SequentialModule.bind: module {i} scales its own losses, unknown to the others. "
                    "Pass the whole chain to amp.init_trainer() instead."
                )

    # A batch.

    def forward(self, batch: Batch, is_train: bool) -> None:
        """Compute the outputs of a batch, module by module.

        >>> import rebind as mx
        >>> chain = Chain()
        >>> for _ in range(2):
        ...     module = mx.mod.Module(mx.sym.square(mx.sym.var("data")), label_names=None)
        ...     chain.links.append(Link(module, takes_labels=False, is_wired=True))
        >>> chain.bind(Binding(data=[DataDesc("data", (1,))], labels=None, for_training=False))
        >>> for module in chain.modules:
        ...     module.init_params()
        >>> chain.forward(DataBatch([mx.nd.array([3])]), is_train=False)
        >>> chain.last.get_outputs()[0].item()
        81.0
        """
        of_module: AnyBatch = batch
        for i, module in enumerate(self.modules):
            if i:  # the rest of the batch goes along: a user's module may read it
                of_module = DataBatch(
                    cast(list[NDArray], self.modules[i - 1].get_outputs()),
                    getattr(batch, "label", None),
                    pad=getattr(batch, "pad", None),
                    index=getattr(batch, "index", None),
                    bucket_key=getattr(batch, "bucket_key", None),
                    provide_label=getattr(batch, "provide_label", None),
                )
            module.forward(of_module, is_train=is_train)

    def backward(self, out_grads: HeadGrads) -> None:
        """Compute the gradients for the last batch, from the last module to the first.

        >>> import rebind as mx
        >>> net = mx.sym.square(mx.sym.var("data"))
        >>> chain = Chain()
        >>> for _ in range(2):
        ...     module = mx.mod.Module(net, label_names=None)
        ...     chain.links.append(Link(module, takes_labels=False, is_wired=True))
        >>> chain.bind(Binding(data=[DataDesc("data", (1,))], labels=None, inputs_need_grad=True))
        >>> for module in chain.modules:
        ...     module.init_params()
        >>> chain.forward(DataBatch([mx.nd.array([2])]), is_train=True)
        >>> chain.backward(mx.nd.array([1]))
        >>> chain.first.get_input_grads()[0].item()  # of x**4 at 2
        32.0
        """
        for i in reversed(range(len(self.links))):
            module = self.links[i].module
            module.backward(out_grads=out_grads)
            if i:
                gradients = cast(list[NDArray], module.get_input_grads())
                # A loss in Python is where gradients begin; a network puts the scale in by itself.
                begins = module is self.last and not module.networks and self.scales_outputs
                out_grads = self._scaled(gradients) if begins else gradients

    def _scaled(self, gradients: Sequence[NDArray]) -> Sequence[NDArray]:
        """Return gradients, multiplied by the scale, that begin in a loss in Python, which does not know of it."""
        if self.scaler is None:
            return gradients
        return [gradient * self.scaler.loss_scale for gradient in gradients]
