"""Sources of batches that write down each call, and programs that read them; `mx` is MXNet or rebind."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

SIZE, BATCHES = 2, 3


class Counted:
    """What the sources have in common: three batches, which hold their own numbers, and a log of the calls."""

    def __init__(self, mx: Any, log: list[str], name: str) -> None:
        self.mx, self.log, self.name = mx, log, name
        self.batch_size, self.at = SIZE, 0
        self.default_bucket_key = 4
        self.provide_data = [mx.io.DataDesc("data", (SIZE, 4))]
        self.provide_label = [mx.io.DataDesc("softmax_label", (SIZE,))]

    def write(self, what: object) -> None:
        self.log.append(f"{self.name} {what}")

    def take(self) -> Any:
        """Return the next batch."""
        if self.at == BATCHES:
            self.write("end")
            raise StopIteration
        self.write(self.at)
        batch = self.mx.io.DataBatch(
            [self.mx.nd.full((SIZE, 4), self.at)],
            [self.mx.nd.array([0, 1])],
            pad=0,
            index=None,
            bucket_key=self.default_bucket_key,
            provide_data=self.provide_data,
            provide_label=self.provide_label,
        )
        self.at += 1
        return batch

    def start_over(self) -> None:
        self.write("reset")
        self.at = 0


def iterator(mx: Any, log: list[str], name: str) -> Any:
    """Return a usual iterator."""

    class Usual(Counted, mx.io.DataIter):
        def __iter__(self) -> Any:
            self.write("iter")
            return self

        def next(self) -> Any:
            return self.take()

        __next__ = next

        def reset(self) -> None:
            self.start_over()

    return Usual(mx, log, name)


def restarting(mx: Any, log: list[str], name: str) -> Any:
    """Return an iterator that starts over whenever it is iterated."""

    class Restarting(Counted, mx.io.DataIter):
        def __iter__(self) -> Any:
            self.write("iter")
            self.reset()
            return self

        def next(self) -> Any:
            return self.take()

        __next__ = next

        def reset(self) -> None:
            self.start_over()

    return Restarting(mx, log, name)


def stepping(mx: Any, log: list[str], name: str) -> Any:
    """Return an iterator of the oldest kind, which gives its arrays by getters."""

    class Stepping(Counted, mx.io.DataIter):
        def __iter__(self) -> Any:
            self.write("iter")
            self.reset()
            return self

        def iter_next(self) -> bool:
            try:
                self.batch = self.take()
            except StopIteration:
                return False
            return True

        def getdata(self) -> Any:
            return self.batch.data

        def getlabel(self) -> Any:
            return self.batch.label

        def getpad(self) -> int:
            return 0

        def getindex(self) -> Any:
            return None

        def reset(self) -> None:
            self.start_over()

    return Stepping(mx, log, name)


def generating(mx: Any, log: list[str], name: str) -> Any:
    """Return an object whose `__iter__` is a generator, which begins at the front; no `next` of its own."""

    class Generating(Counted, mx.io.DataIter):
        def __iter__(self) -> Iterator[Any]:
            self.write("iter")
            self.at = 0
            while True:
                try:
                    batch = self.take()
                except StopIteration:
                    return
                yield batch

        def reset(self) -> None:
            self.write("reset")

    return Generating(mx, log, name)


SOURCES = {"iterator": iterator, "restarting": restarting, "stepping": stepping, "generating": generating}


# The modules.


def network(mx: Any) -> Any:
    net = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def plain(mx: Any) -> Any:
    return mx.mod.Module(network(mx))


def buckets(mx: Any) -> Any:
    return mx.mod.BucketingModule(
        lambda key: (network(mx), ["data"], ["softmax_label"]), default_bucket_key=4
    )


def chain(mx: Any) -> Any:
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    loss = mx.sym.SoftmaxOutput(mx.sym.var("data"), name="softmax")
    last = mx.mod.Module(loss)
    chained = mx.mod.SequentialModule().add(mx.mod.Module(scores, label_names=[]))
    return chained.add(last, take_labels=True, auto_wiring=True)


def python(mx: Any) -> Any:
    scores = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    last = mx.mod.PythonLossModule(grad_func=lambda scores, labels: scores * 0 + 1)
    chained = mx.mod.SequentialModule().add(mx.mod.Module(scores, label_names=[]))
    return chained.add(last, take_labels=True, auto_wiring=True)


def svrg(mx: Any) -> Any:
    from importlib import import_module

    module = import_module(f"{mx.__name__}.contrib.svrg_optimization.svrg_module")
    return module.SVRGModule(network(mx), data_names=["data"], label_names=["softmax_label"], update_freq=2)


MODULES: dict[str, Callable[[Any], Any]] = {
    "Module": plain,
    "BucketingModule": buckets,
    "SequentialModule": chain,
    "PythonModule": python,
    "SVRGModule": svrg,
}


# What reads a source.


def trained_on(log: list[str]) -> Callable[[Any], None]:
    """Return a callback that writes down which batch was trained on."""

    def callback(param: Any) -> None:
        batch = param.locals["data_batch"]
        log.append(f"trained {int(batch.data[0].asnumpy()[0, 0])}")

    return callback


def fitted(mx: Any, make: Callable[[Any], Any], source: Any, epochs: int = 2, **settings: Any) -> Any:
    module = make(mx)
    module.fit(
        source,
        num_epoch=epochs,
        batch_end_callback=trained_on(source.log),
        initializer=mx.init.Zero(),
        **settings,
    )
    return module


def _validated(mx: Any, make: Any, source: Any, other: Any) -> None:
    fitted(mx, make, source, eval_data=other)


def _twice(mx: Any, make: Any, source: Any, other: Any) -> None:
    module = fitted(mx, make, source, 1)
    module.fit(source, num_epoch=1, batch_end_callback=trained_on(source.log))


def _lists(mx: Any, make: Any, source: Any, other: Any) -> None:
    fitted(mx, make, source, 1, eval_metric=["acc", "ce"])


def _after_a_batch(mx: Any, make: Any, source: Any, other: Any) -> None:
    """Train on a source of which a batch has been taken already."""
    with contextlib.suppress(NotImplementedError, StopIteration):
        source.next()
    fitted(mx, make, source, 1)


def _scored(**settings: Any) -> Callable[..., None]:
    def run(mx: Any, make: Any, source: Any, other: Any) -> None:
        module = fitted(mx, make, source, 1)
        source.log.append("-")
        module.score(other, "acc", **settings)
        module.score(other, "acc", **settings)

    return run


def _predicted(**settings: Any) -> Callable[..., None]:
    def run(mx: Any, make: Any, source: Any, other: Any) -> None:
        module = fitted(mx, make, source, 1)
        source.log.append("-")
        module.predict(other, **settings)
        module.predict(other, **settings)

    return run


def _iterated(**settings: Any) -> Callable[..., None]:
    def run(mx: Any, make: Any, source: Any, other: Any) -> None:
        module = fitted(mx, make, source, 1)
        source.log.append("-")
        for _, number, batch in module.iter_predict(other, **settings):
            source.log.append(f"predicted {number}: {int(batch.data[0].asnumpy()[0, 0])}")
        for _ in islice(module.iter_predict(other, **settings), 2):
            pass

    return run


PROGRAMS: dict[str, Callable[..., None]] = {
    "fit": _validated,
    "fit twice": _twice,
    "fit with two metrics": _lists,
    "fit after a batch": _after_a_batch,
    "score": _scored(),
    "score, no reset": _scored(reset=False),
    "score, two batches": _scored(num_batch=2),
    "predict": _predicted(),
    "predict, no reset": _predicted(reset=False),
    "predict, two batches": _predicted(num_batch=2),
    "iter_predict": _iterated(),
    "iter_predict, no reset": _iterated(reset=False),
    "iter_predict, two batches": _iterated(num_batch=2),
}


def feed_forward(mx: Any, source: Any, **settings: Any) -> Any:
    return mx.model.FeedForward(network(mx), mx.cpu(), num_epoch=2, initializer=mx.init.Zero(), **settings)


def _model_fitted(**settings: Any) -> Callable[..., None]:
    def run(mx: Any, source: Any, other: Any) -> None:
        model = feed_forward(mx, source, **settings)
        model.fit(source, eval_data=other, batch_end_callback=trained_on(source.log))
        source.log.append("-")
        model.predict(other)
        model.predict(other, num_batch=2)
        model.predict(other, reset=False, return_data=True)
        source.log.append("-")
        model.score(other)
        model.score(other, num_batch=2)
        model.score(other, reset=False)

    return run


MODELS = {"FeedForward": _model_fitted(), "FeedForward, epoch_size": _model_fitted(epoch_size=2)}


def cases() -> list[str]:
    """Return the names of all cases."""
    return [
        *(
            f"{module}: {program}: {source}"
            for module in MODULES
            for program in PROGRAMS
            for source in SOURCES
            # What `next` of MXNet's own base makes of the getters has no key of a bucket.
            if (module, source) != ("BucketingModule", "stepping")
        ),
        *(f"{model}: {source}" for model in MODELS for source in SOURCES),
    ]


def calls(mx: Any, case: str) -> list[str]:
    """Run a case, and return the calls of the sources, in order, and then which batches were computed.

    How both interleave is not compared: MXNet takes the next batch before the callbacks of the one it has trained on.
    """
    log: list[str] = []
    parts = case.split(": ")
    make = SOURCES[parts[-1]]
    source, other = make(mx, log, "train"), make(mx, log, "other")
    np.random.seed(0)
    try:
        if parts[0] in MODELS:
            MODELS[parts[0]](mx, source, other)
        else:
            PROGRAMS[parts[1]](mx, MODULES[parts[0]], source, other)
    except Exception as error:
        log.append(f"error {type(error).__name__} {error}"[:150])
    return sorted(log, key=lambda text: text.startswith(("trained", "predicted")))
