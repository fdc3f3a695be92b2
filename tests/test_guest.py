"""A library is a guest in its process: what rebind changes there is its own, or is put back."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch

from rebind.flags import flag

#: Says all of the process's state that a library can change for the rest of the program.
STATE = """
import atexit, ctypes, gc, json, locale, logging, os, signal, sys, threading, warnings
import numpy as np
import torch, torch._dynamo

def flags_of(module, prefix):
    found = {}
    for name in dir(module):
        try:
            value = getattr(module, name)
        except (AttributeError, RuntimeError):  # what this build of PyTorch does not have
            continue
        if isinstance(value, (bool, int, float, str)):
            found[f"{prefix}.{name}"] = value
    return found

def state():
    backends = torch.backends
    flags = {}
    for name in ("cudnn", "mkldnn", "mkl", "openmp", "nnpack", "opt_einsum", "quantized"):
        flags |= flags_of(getattr(backends, name), name)
    flags |= flags_of(backends.cuda.matmul, "matmul")
    flags |= {
        name: getattr(torch, name)()
        for name in ("get_num_threads", "get_num_interop_threads", "is_grad_enabled", "is_inference_mode_enabled",
                     "are_deterministic_algorithms_enabled", "is_anomaly_enabled", "get_float32_matmul_precision",
                     "is_autocast_enabled", "initial_seed")
    }
    return {
        "environment": dict(os.environ),
        "collector": [gc.isenabled(), *gc.get_threshold(), gc.get_freeze_count(), len(gc.callbacks)],
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "native threads": len(os.listdir("/proc/self/task")) if os.path.isdir("/proc/self/task") else 0,
        "hooks": [
            hook is getattr(sys, f"__{name}__")
            for name in ("excepthook", "unraisablehook", "displayhook", "breakpointhook")
            for hook in [getattr(sys, name)]
        ] + [threading.excepthook is threading.__excepthook__, sys.gettrace() is None, sys.getprofile() is None],
        "streams": [sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__],
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval()],
        "warnings": [str(each) for each in warnings.filters],
        "signals": [str(signal.getsignal(each)) for each in signal.valid_signals()],
        "locale": locale.setlocale(locale.LC_ALL),
        "logging": [logging.root.level, len(logging.root.handlers), len(logging.root.filters)],
        "numpy": [str(np.get_printoptions()), np.geterr()],
        "default type": str(torch.get_default_dtype()),
        "flags": flags,
        "compiler": [torch.compiler._is_compiling_flag, torch._dynamo.config.trace_autograd_ops],
        "seed": torch.random.get_rng_state().tolist()[:20] + np.random.get_state()[1].tolist()[:20],
        "folder": os.getcwd(),
    }

class Libc(ctypes.CDLL):
    # As ctypes finds a function of a library: what sets malloc, or looks for that, is an error here.
    def __getattr__(self, name):
        assert name not in ("mallopt", "malloc_trim"), name
        return super().__getattr__(name)

ctypes.CDLL = Libc
before = state()
exits = atexit._ncallbacks()
"""

CHANGES = """
after = state()
print(json.dumps({name: [before[name], after[name]] for name in before if before[name] != after[name]}))
"""

FIT = """
import rebind as mx
net = mx.sym.SoftmaxOutput(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4), name="softmax")
batches = mx.io.NDArrayIter(np.random.rand(64, 6).astype("float32"), np.zeros(64), 16, shuffle=True)
module = mx.mod.Module(net{options})
before["seed"] = state()["seed"]  # NumPy's generator is asked for the order and the first values, as in MXNet
module.fit(batches, num_epoch=2, eval_metric="acc", initializer=mx.init.Zero())
module.predict(batches).asnumpy()
"""

FAIL = """
try:
    module.forward(mx.io.DataBatch([mx.nd.ones((16, 7))]))
except mx.MXNetError:
    pass
else:
    raise AssertionError("a batch of other data is an error")
"""


def changes(program: str, **settings: str) -> dict[str, object]:
    """Return what a program changes in a new process: for each part of its state, that before and after it."""
    environment = {name: value for name, value in os.environ.items() if name != "REBIND_TUNE"}
    done = subprocess.run(
        [sys.executable, "-c", STATE + program + CHANGES],
        env=environment | {"REBIND_PROGRESS": "off", "OMP_NUM_THREADS": "2"} | settings,
        stdout=subprocess.PIPE,
        check=True,
    )
    return json.loads(done.stdout)


def test_an_import_changes_nothing() -> None:
    # One finder is added, which is asked for modules that no other finds, and answers for rebind's old paths alone.
    program = """
finders = [*sys.meta_path]
import rebind
assert atexit._ncallbacks() == exits
assert [type(each).__name__ for each in sys.meta_path if each not in finders] == ["OldPaths"]
assert sys.meta_path[:-1] == finders
"""
    assert changes(program) == {}


def test_training_changes_nothing() -> None:
    # PyTorch has a second thread once two have shared an operator.
    assert {*changes(FIT.format(options="") + FAIL)} <= {"native threads"}


@pytest.mark.slow
def test_compiled_training_changes_nothing() -> None:
    found = changes(FIT.format(options=', backend="aot_eager"') + FAIL)
    assert {*found} <= {"native threads"}, found


def test_a_warning_of_the_program_is_shown_once_beside_compiled_runs() -> None:
    program = (
        FIT.format(options=', backend="aot_eager"')
        + """
shown = []
warnings.showwarning = lambda *what: shown.append(what)
for size in (3, 5, 7, 9):  # the first of other sizes are compiled
    other = mx.io.DataBatch([mx.nd.ones((size, 6))])
    module.forward(other, is_train=False)
    module.forward(other, is_train=False)
for _ in range(4):
    warnings.warn("a mean of nothing", RuntimeWarning)
    module.forward(other, is_train=False)
    module.get_outputs()[0].wait_to_read()
assert [str(what[0]) for what in shown] == ["a mean of nothing"], shown
"""
    )
    assert {*changes(program)} <= {"native threads"}


def test_tune_changes_what_it_says() -> None:
    program = """
import rebind
asked = []
ctypes.CDLL = lambda name: type("Libc", (), {"mallopt": lambda *values: asked.append(values)})
rebind.tune()
assert asked or sys.platform != "linux"
"""
    assert changes(program) == {}


def test_a_flag_is_put_back_after_an_error() -> None:
    cudnn = torch.backends.cudnn
    before = cudnn.benchmark
    with pytest.raises(ValueError), flag(cudnn, "benchmark", not before):
        assert cudnn.benchmark is not before
        raise ValueError
    assert cudnn.benchmark is before
