"""What `import rebind` loads, and what it leaves for the first use: this changes nothing but when work is done."""

import inspect
import json
import pickle
import pydoc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

import rebind as mx
from rebind.first_use import OnFirstUse
from rebind.ops import OPERATORS, all_operators
from rebind.ops.declaration import read_signature

#: The modules and packages right below `rebind` that all programs need. Another one here costs each of them its import.
LOADED = [
    "_torch", "_version", "absent", "annotations", "autograd", "checks", "completion", "config", "device", "draws",
    "dtypes", "errors", "executor", "extras", "files", "first_use", "flags", "forks", "generators", "gpu_settings",
    "grad_mode", "graph", "huge_pages", "imaging", "legacy", "logs", "memo", "mode", "ndarray", "nested", "observing",
    "ops", "params", "precision", "scope", "shapes", "symbol", "threads", "tune", "tuning",
]  # fmt: skip

#: What takes long, or what only some programs need.
LEFT = ["rebind.executor.group", "rich", "PIL", "cv2", "pandas", "matplotlib", "torch._dynamo", "sympy"]


def said_by(code: str) -> object:
    """Return what a new process prints, read as JSON."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def test_import_loads_what_all_programs_need_and_no_more() -> None:
    below, left = said_by(f"""
import json, sys, torch
before = set(sys.modules)
import rebind
below = {{name.split(".")[1] for name in sys.modules if name.startswith("rebind.")}}
print(json.dumps([sorted(below), [name for name in {LEFT} if name in sys.modules and name not in before]]))
""")
    assert below == LOADED
    assert left == []


def test_import_makes_no_function_and_reads_no_signature() -> None:
    read, made = said_by("""
import json, rebind as mx
from rebind.ops import all_operators
spaces = [getattr(front, name) for front in (mx.nd, mx.sym)
          for name in ("_internal", "contrib", "image", "linalg", "random", "sparse")]
print(json.dumps([
    [op.name for op in all_operators() if op._signature is not None],
    [name for space in spaces for name in space.FUNCTIONS if name in vars(space) and space.FUNCTIONS._made],
]))
""")
    assert read == []
    assert made == []


def test_registries_are_complete_at_their_first_use() -> None:
    """A name is found by the module that is asked for it, whatever was imported before."""
    found = said_by("""
import json, rebind as mx
made = [mx.optimizer.create("GroupAdaGrad"), mx.metric.create("acc"), mx.init.create("xavier"), mx.kv.create("local")]
print(json.dumps([type(each).__name__ for each in made]))
""")
    assert found == ["GroupAdaGrad", "Accuracy", "Xavier", "KVStore"]


@pytest.mark.parametrize("name", sorted(mx.__all__))
def test_modules_are_the_same_by_every_way(name: str) -> None:
    value = getattr(mx, name)
    assert name in dir(mx)
    assert getattr(mx, name) is value
    if inspect.ismodule(value):
        assert sys.modules[value.__name__] is value


@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
def test_every_operator_is_one_function_under_each_of_its_paths(front: object) -> None:
    for name, op in OPERATORS.items():
        function = getattr(front._internal, name)
        assert getattr(front, name) is function
        assert getattr(front.op, name) is function
        assert function.__name__ == name
        order = op.signature.input_names + tuple(op.signature.parameters)
        assert tuple(inspect.signature(function).parameters)[: len(order)] == order
        assert op.signature.variadic or f"{order[0]} : " in function.__doc__


@pytest.mark.parametrize("front", [mx.nd, mx.sym], ids=["nd", "sym"])
@pytest.mark.parametrize("space", ["_internal", "contrib", "image", "linalg", "op", "random", "sparse"])
def test_namespaces_list_what_they_have(front: object, space: str) -> None:
    module = getattr(front, space)
    assert {*module.__all__} <= {*dir(module)}
    for name in module.__all__:
        assert getattr(module, name) is getattr(module, name) is vars(module)[name]
    with pytest.raises(AttributeError, match=f"module '{module.__name__}' has no attribute 'Convolutoin'"):
        module.Convolutoin  # noqa: B018
    assert module.__all__[0] in pydoc.plain(pydoc.render_doc(module))


def test_functions_pickle_by_name_before_they_are_used() -> None:
    same = said_by("""
import json, pickle, rebind as mx
loaded = pickle.loads(b"crebind.ndarray\\nFullyConnected\\n.")
print(json.dumps([loaded is mx.nd.FullyConnected, pickle.loads(pickle.dumps(mx.sym.relu)) is mx.sym.relu]))
""")
    assert same == [True, True]
    assert pickle.loads(pickle.dumps(mx.nd.FullyConnected)) is mx.nd.FullyConnected


def test_what_a_program_sets_stands() -> None:
    module = {"__name__": "deep"}
    get, names = OnFirstUse(
        {"answer": lambda: 42, "question": lambda: module.setdefault("question", 6)}
    ).attributes(module)
    module["answer"] = 54
    assert get("answer") == module["answer"] == 54
    assert get("question") == 6
    assert names() == ["__name__", "answer", "question"]


def test_threads_that_come_first_together_get_one_value() -> None:
    together = Barrier(4)

    def make() -> object:
        together.wait(timeout=60)  # all four are making it
        return object()

    values = OnFirstUse({"answer": make})
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: values["answer"], range(4)))
    assert len({id(value) for value in found}) == 1


def test_threads_read_a_signature_together() -> None:
    together = Barrier(4)

    def double(data, *, factor: float = 2.0): ...

    def read() -> object:
        together.wait(timeout=60)
        return read_signature(double)

    op = mx.ops.Operator("double", read, mx.ops.Kernels(double))
    assert op.check(lambda p: None if p.factor else "factor must not be 0") is not None
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: op.signature.input_names, range(4)))
    assert found == [("data",)] * 4
    assert type(op) is mx.ops.Operator
    assert op.parse({}) == {"factor": 2.0}
    with pytest.raises(mx.MXNetError, match="double: factor must not be 0"):
        op.parse({"factor": "0"})


def test_an_operator_that_was_not_looked_at_has_no_other_attributes() -> None:
    op = mx.ops.Operator(
        "double", lambda: read_signature(lambda data: data), mx.ops.Kernels(lambda data: data)
    )
    with pytest.raises(AttributeError, match="has no attribute 'signatur'"):
        op.signatur  # noqa: B018


def test_every_signature_can_be_read() -> None:
    assert all(op.signature.order is not None for op in all_operators())


@pytest.mark.parametrize("name", ["mod", "io", "metric", "optimizer", "callback", "kv", "nd", "sym"])
def test_completion_shows_what_a_module_has_for_users(name: str) -> None:
    module = getattr(mx, name)
    assert [shown for shown in dir(module) if not shown.startswith("_")] == sorted(
        shown for shown in module.__all__ if not shown.startswith("_")
    )
