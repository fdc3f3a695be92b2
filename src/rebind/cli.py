"""What ``rebind run train.py --args`` does: it runs a program with ``import mxnet as mx`` as it is."""

from __future__ import annotations

import io
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType, SimpleNamespace, TracebackType

from . import compat, config
from .module.notes import add_note
from .tune import tune

__all__ = ["run", "run_module", "run_script"]


def run(given: SimpleNamespace) -> int:
    """Run the script or, with `given.module`, the module that `given.program` begins with; return the exit code.

    With `given.profile` a table of where its time went follows, and a trace is written: to ``train-profile.json`` for
    ``train.py``, since ``profile.json`` is what `mx.profiler` calls the program's own.
    """
    _prepare()
    _hide_own_frames()
    program, *arguments = given.program
    name = program.rpartition(".")[2] if given.module else Path(os.path.abspath(program)).stem
    try:
        with _profiled(name) if getattr(given, "profile", False) else nullcontext():
            if given.module:
                run_module(program, arguments)
            else:
                run_script(program, arguments)
    except (TypeError, ValueError) as error:
        _note_what_numpy_refuses(error)
        raise
    return 0


@contextmanager
def _profiled(name: str) -> Iterator[None]:
    """Record what a ``with`` block runs, and report it, also after an error; the trace has the program's name."""
    from .profiler import Profile  # imports much that other runs do not need

    profile = Profile()
    try:
        with profile:
            yield
    finally:
        sys.stdout.flush()
        path = profile.save(f"{name}-profile.json")
        print(f"{profile}\nThe trace is in {path}: open it in ui.perfetto.dev.", file=sys.stderr)


def _note_what_numpy_refuses(error: BaseException) -> None:
    """Add how to mend it to NumPy's refusal of an array of the shape (1,) as a number, which older ones took."""
    for found in (error, error.__cause__):  # `a[0] = x.asnumpy()` has it as its cause
        if isinstance(found, TypeError) and any(text in str(found) for text in _REFUSED_BY_NUMPY):
            add_note(
                error,
                "NumPy 2.4 and newer convert only arrays of shape () to numbers, and MXNet's single numbers have "
                "shape (1,). Write x.asscalar(), or x.asnumpy().item(), where the program has x.asnumpy().",
            )
            return


#: What it says of float(a) and '%f' % a, and of '%d' % a.
_REFUSED_BY_NUMPY = (
    "only 0-dimensional arrays can be converted to Python scalars",
    "a real number is required, not numpy.ndarray",
)


def _prepare() -> None:
    """Tune this process, and let `import mxnet` give rebind: here, and by PYTHONPATH in those started from here."""
    if config.get("REBIND_TUNE"):
        tune()  # as a module, `python -m rebind run`, the package was imported before the flags were read
    compat.install()
    os.environ["PYTHONPATH"] = compat.python_path(os.environ.get("PYTHONPATH", ""))


def _hide_own_frames() -> None:
    """Let the traceback of an error that ends the program begin with the program's own frames, as python's does."""
    show = sys.excepthook

    def show_program(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        own = _frames_of_program(trace)
        show(kind, error.with_traceback(own), own)

    sys.excepthook = show_program


def _frames_of_program(trace: TracebackType | None) -> TracebackType | None:
    """Return what follows `run` and what it runs the program with; nothing for an error in the program's syntax."""
    last = found = trace
    while found is not None:  # what is above `run` started the command
        if found.tb_frame.f_code is run.__code__:
            last = found
        found = found.tb_next
    if last is None or last.tb_frame.f_code is not run.__code__:
        return trace
    while last is not None and last.tb_frame.f_globals.get("__name__") in (__name__, "runpy"):
        last = last.tb_next
    return last


def _set_path(*first: str) -> None:
    """Put `first` at the start of ``sys.path``, where python has the script's folder, instead of the one that is there.

    The folder with our `mxnet` follows: multiprocessing passes this list on to the processes that it spawns.
    """
    if getattr(sys.flags, "safe_path", False):  # python -P: there is no such folder, and none is wanted
        sys.path.insert(0, compat.AS_MXNET)
    else:
        sys.path[:1] = [*first, compat.AS_MXNET]


def run_script(path: str, arguments: Sequence[str]) -> None:
    """Run the file at `path` as ``python path`` does: as ``__main__``, with its folder first in ``sys.path``."""
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or not _is_source(path):
        _set_path()  # runpy puts the folder or zip file there
        runpy.run_path(path, run_name="__main__")
        return
    whole = os.path.abspath(path)
    _set_path(os.path.dirname(os.path.realpath(path)))
    # As python opens a script, so that audit hooks see it.
    with io.open_code(whole) as file:
        code = compile(file.read(), whole, "exec", dont_inherit=True)
    # A module of its own, which outlives the script's last line: threads and exit handlers still use its globals, which
    # `runpy` would clear.
    module = ModuleType("__main__")
    module.__dict__.update(
        __file__=whole,
        __spec__=None,
        __loader__=SourceFileLoader("__main__", whole),
        __builtins__=__builtins__,
    )
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Run the module `name` as ``python -m name`` does: as ``__main__``, with this folder first in ``sys.path``."""
    _set_path(os.getcwd())
    # `alter_sys` puts the module's file in the place of its name.
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _is_source(path: str) -> bool:
    """Return whether a file is source code, and not a zip file or compiled code."""
    # Source code has no zero byte; zip files and compiled code have one near their start.
    with open(path, "rb") as file:
        return b"\0" not in file.read(1024)
