"""The command: ``rebind run`` runs programs as python does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import rebind_command
from rebind import __version__, cli, compat

# One program that reports what it finds; another process for each test costs seconds.
PROGRAM = """
import json, os, subprocess, sys, multiprocessing
import mxnet as mx
import helper

def work(x):
    from mxnet.module.module import Module
    return [__name__, Module.__module__, float((mx.nd.ones(2) * x).asnumpy().sum())]

if __name__ == "__main__":
    found = dict(argv=sys.argv, first=sys.path[0], name=__name__, file=__file__, helper=helper.WHERE)
    found["main"] = sys.modules["__main__"].work is work
    for method in {"spawn", "fork"} & set(sys.argv):
        with multiprocessing.get_context(method).Pool(1) as pool:
            found[method] = pool.map(work, [3])
    if "child" in sys.argv:
        child = [sys.executable, "-c", "import mxnet; print(mxnet.__version__, mxnet.__file__)"]
        found["child"] = subprocess.run(child, capture_output=True, text=True, check=True).stdout.split()
    print(json.dumps(found))
    sys.exit(7)
"""


def rebind(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rebind", *arguments],
        cwd=cwd, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def write_program(folder: Path) -> Path:
    folder.mkdir()
    (folder / "helper.py").write_text("WHERE = __file__\n")
    (folder / "program.py").write_text(PROGRAM)
    return folder


def test_run_script(tmp_path: Path) -> None:
    folder = write_program(tmp_path / "sub")
    arguments = ["--lr=0.1", "fork", "child", "-m", "--", "--help"]
    done = rebind("run", "sub/program.py", *arguments, cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    found = json.loads(done.stdout)
    assert found["argv"] == ["sub/program.py", *arguments]
    assert found["first"] == str(folder)
    assert (found["name"], found["main"]) == ("__main__", True)
    assert found["file"] == str(folder / "program.py")
    assert found["helper"] == str(folder / "helper.py")
    assert found["fork"] == [["__main__", "rebind.module.module", 6.0]]
    assert found["child"][0] == "1.9.1"
    assert Path(found["child"][1]).parent.name == "rebind"


def test_run_module(tmp_path: Path) -> None:
    package = write_program(tmp_path / "package")
    (package / "__init__.py").touch()
    (package / "program.py").write_text(PROGRAM.replace("import helper", "from . import helper"))
    done = rebind("run", "-m", "package.program", "-h", "spawn", cwd=tmp_path)
    assert done.returncode == 7, done.stderr
    found = json.loads(done.stdout)
    assert found["argv"] == [str(package / "program.py"), "-h", "spawn"]
    assert found["first"] == str(tmp_path)
    # A spawned process imports the program again: mxnet must be there too.
    assert found["spawn"] == [["__mp_main__", "rebind.module.module", 6.0]]


def test_run_a_zip_file_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["rebind"])
    monkeypatch.setattr(sys, "path", list(sys.path))
    whole = tmp_path / "program.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("__main__.py", "import sys\nraise LookupError(__name__, sys.argv, sys.path[0])\n")
    with pytest.raises(LookupError) as caught:
        cli.run_script(str(whole), ["--x"])
    assert caught.value.args == ("__main__", [str(whole), "--x"], str(whole))


@pytest.mark.parametrize(
    ("installed", "out", "err"),
    [(True, "real\n", ""), (False, "", "ModuleNotFoundError: No module named 'rebind'\n")],
    ids=["with-mxnet", "without"],
)
def test_another_python_finds_its_own_mxnet(tmp_path: Path, installed: bool, out: str, err: str) -> None:
    """The variable that makes our children find rebind is inherited by Pythons that have none."""
    (tmp_path / "mxnet.py").write_text("__version__ = 'real'\n")
    # -S: without our site-packages
    ask = [sys.executable, "-S", "-c", "import mxnet; print(mxnet.__version__)"]
    path = os.pathsep.join([compat.AS_MXNET, *([str(tmp_path)] if installed else [])])
    done = subprocess.run(
        ask, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == out
    assert done.stderr.endswith(err)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        pytest.param(["--version"], 0, f"rebind {__version__}", id="version"),
        pytest.param(["--help"], 0, "Usage: rebind", id="help"),
        pytest.param(
            ["run", "--help"],
            0,
            "Usage: rebind run [OPTIONS] (SCRIPT | -m MODULE) [ARGUMENT...]",
            id="run-help",
        ),
        pytest.param(
            ["run"], 2, "Error: SCRIPT is missing: name a file, or a module with -m", id="run-nothing"
        ),
        pytest.param(
            ["run", "-m"],
            2,
            "Error: SCRIPT is missing: name a file, or a module with -m",
            id="run-no-module",
        ),
        pytest.param(["run", "-x", "train.py"], 2, "No such option", id="run-unknown-option"),
        pytest.param(["rum"], 2, "No such command 'rum'", id="unknown-command"),
        pytest.param([], 2, "Run a program with 'import mxnet as mx', unchanged", id="nothing"),
        pytest.param(["run", "nothing.py"], 2, "rebind run: no such file: ", id="missing-file"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str) -> None:
    with pytest.raises(SystemExit) as caught:
        rebind_command.main(arguments)
    written = capsys.readouterr()
    assert caught.value.code == code
    assert says in written.out + written.err


@pytest.mark.parametrize("command", [*rebind_command.rebind.commands])
def test_help_has_an_example_and_completion_the_options(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SystemExit) as caught:
        rebind_command.main([command, "--help"])
    assert caught.value.code == 0 and f"Example: rebind {command}" in capsys.readouterr().out
    monkeypatch.setenv("_REBIND_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", f"rebind {command} -")
    monkeypatch.setenv("COMP_CWORD", "2")
    with pytest.raises(SystemExit) as caught:
        rebind_command.main([])
    options = {option for each in rebind_command.rebind.commands[command].params for option in each.opts}
    shown = [line.partition(",")[2] for line in capsys.readouterr().out.splitlines()]
    assert "--help" in shown and {option for option in options if option.startswith("-")} <= {*shown}


ASKS_WITHOUT_TORCH = """
import sys, rebind_command
for arguments in {calls!r}:
    try:
        rebind_command.main(arguments)
    except SystemExit as ended:
        print(ended.code, file=sys.stderr)
print([name for name in ("torch", "numpy", "rebind") if name in sys.modules], file=sys.stderr)
"""


def test_help_and_mistakes_do_not_wait_for_torch() -> None:
    calls = [["--help"], ["--version"], [], ["launch", "--help"], ["im2rec", "--help"], ["run", "--help"]]
    mistakes = [
        ["launch", "-n", "0", "x"],
        ["launch", "-n", "2"],
        ["run"],
        ["run", "nothing.py"],
        ["im2rec", "x"],
    ]
    code = ASKS_WITHOUT_TORCH.format(calls=calls + mistakes)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    lines = done.stderr.splitlines()
    assert [line for line in lines if line.isdecimal()] == [*"002000", *"22222"]
    assert lines[-1] == "[]"


@pytest.mark.parametrize(
    "module", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["script", "module"]
)
def test_tracebacks_begin_in_the_program(tmp_path: Path, module: bool) -> None:
    (tmp_path / "fails.py").write_text("def work():\n    raise KeyError('no')\n\nwork()\n")
    (tmp_path / "syntax.py").write_text("x = = 1\n")
    start = ["run", "-m"] if module else ["run"]
    end = "" if module else ".py"
    done = rebind(*start, f"fails{end}", cwd=tmp_path)
    assert done.returncode == 1
    places = [line for line in done.stderr.splitlines() if line.startswith("  File")]
    assert [place.rpartition("in ")[2] for place in places] == ["<module>", "work"]
    assert done.stderr.endswith("KeyError: 'no'\n")
    done = rebind(*start, f"syntax{end}", cwd=tmp_path)
    assert done.returncode == 1 and "cli.py" not in done.stderr
    assert "SyntaxError" in done.stderr and "x = = 1" in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        "float(x.asnumpy())",
        pytest.param("'%d' % x.asnumpy()", marks=pytest.mark.slow),
        pytest.param("numpy.zeros(2)[:1].__setitem__(0, x.asnumpy())", marks=pytest.mark.slow),
        # What NumPy 2.4 says, whatever is installed.
        "exec(\"raise TypeError('only 0-dimensional arrays can be converted to Python scalars')\")",
    ],
)
def test_what_numpy_refuses_has_a_note(tmp_path: Path, line: str) -> None:
    (tmp_path / "prints.py").write_text(
        f"import mxnet as mx, numpy\nx = mx.nd.array([2.5])\n{line}\nprint('done')\n"
    )
    done = rebind("run", "prints.py", cwd=tmp_path)
    if done.returncode == 0:  # an older NumPy, which warns at most
        assert done.stdout == "done\n" and not line.startswith("exec")
    else:
        assert "have shape (1,). Write x.asscalar(), or x.asnumpy().item()" in done.stderr
        assert 'prints.py", line 3' in done.stderr


def test_other_errors_have_no_note(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("float('one')\n")
    assert "asscalar" not in rebind("run", "fails.py", cwd=tmp_path).stderr
