"""The benchmark's processes: they compute the same thing, know nothing of each other, and end with it."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks import engines, fit, instructions, kinds, runner
from benchmarks.__main__ import main
from benchmarks.kinds import CLOSE, Twins
from benchmarks.kinds_networks import KINDS
from benchmarks.kinds_table import MODES, kinds_summary
from benchmarks.operator_samples import LARGE, samples
from benchmarks.operator_worker import as_json, sample_of
from benchmarks.peers import PEERS, Peer
from tests.ops.sample import Sample

import rebind as mx

ROOT = Path(__file__).resolve().parent.parent


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_workers_agree() -> None:
    ended = python("-m", "benchmarks", "--rows", "mlp", "--engines", "rebind,torch", "--check")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "rebind" in ended.stdout and "agrees" in ended.stdout


OF_GPUS = "--rows", "mlp-4096", "--engines", "rebind,rebind-bfloat16,torch-bfloat16", "--quick"


@pytest.mark.slow
def test_the_benchmark_of_gpus_runs(tmp_path: Path) -> None:
    ended = python(
        "-m", "benchmarks.gpu", "--device", "cpu", *OF_GPUS, "--json", str(tmp_path / "samples.json")
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    engines = json.loads((tmp_path / "samples.json").read_text())["rows"][0]["engines"]
    assert [len(engine["samples_ms"]) for engine in engines.values()] == [5, 5, 5]


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_benchmark_of_gpus_says_that_there_is_none() -> None:
    refused = python("-m", "benchmarks.gpu", *OF_GPUS)
    assert refused.returncode == 2 and "needs a CUDA device" in refused.stderr


def test_networks_of_many_kinds_agree() -> None:
    different = {
        (name, training): found
        for name, kind in KINDS.items()
        for training in (True, False)
        if kind.name != "alexnet"  # half a gigabyte of weights
        and (found := Twins(kind, training).differences(["rebind"])["rebind"]) > CLOSE
    }
    assert not different


def test_the_benchmark_of_kinds_runs(tmp_path: Path) -> None:
    file = tmp_path / "samples.json"
    ended = python("-m", "benchmarks.kinds", "--kinds", "digits", "--rounds", "2", "--json", str(file))
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(file.read_text())["kinds"]["digits"]
    assert all(set(found[mode]) == {"rebind", "torch", "torch-channels-last"} for mode in MODES)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what inductor imports
@pytest.mark.parametrize("name", ["cnn", "mobilenet", "words", "lstm-both-ways"])
@pytest.mark.parametrize("training", [True, False])
def test_compiled_networks_agree(name: str, training: bool) -> None:
    (difference,) = Twins(KINDS[name], training).differences(["rebind-inductor"]).values()
    assert difference <= CLOSE


def test_a_peer_that_fails_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(twins: Twins) -> Any:
        raise IndexError("no such index\nin a trace")

    monkeypatch.setattr(Twins, "_theirs_compiled", fail)
    file = tmp_path / "samples.json"
    chosen = ["--kinds", "words", "--engines", "rebind,torch,torch-compile", "--rounds", "1"]
    assert kinds.main([*chosen, "--json", str(file)]) == 0
    found = json.loads(file.read_text())["kinds"]["words"]
    assert set(found["training"]) == {"rebind", "torch"}
    assert found["failures"]["inference"] == {"torch-compile": "IndexError: no such index"}
    assert "The column 'compile' lacks words in training: it raised" in capsys.readouterr().out
    assert "lacks words in inference" in kinds_summary([file])


@pytest.mark.parametrize(("peer", "unknown"), [("torch", "rebind"), ("rebind", "benchmarks.peers_torch")])
def test_a_worker_imports_its_engine_only(peer: str, unknown: str) -> None:
    script = f"""
import sys
from benchmarks.drivers import Setting
from benchmarks.networks import ROWS
from benchmarks.worker import PEERS
assert "torch" not in sys.modules and "rebind" not in sys.modules
PEERS[{peer!r}].get_ready(Setting(ROWS["mlp"]))
assert "torch" in sys.modules and {unknown!r} not in sys.modules
"""
    ended = python("-c", script)
    assert ended.returncode == 0, ended.stderr


def test_a_worker_that_does_not_answer_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "benchmarks"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "silent.py").write_text(
        "import sys\nprint('loading', file=sys.stderr, flush=True)\nfor line in sys.stdin:\n    pass\n"
    )
    monkeypatch.setattr(engines, "ROOT", tmp_path)  # where `python -m` finds the worker
    worker = engines.WorkerProcess("silent", "torch", engines.Options())
    try:
        asked = r"torch at \{'do': 'run', 'steps': 3\}: no answer within 1 s, so its process was ended"
        with pytest.raises(engines.EngineError, match=asked):
            worker.ask(do="run", steps=3, limit_s=1)
        assert worker.ended
        with pytest.raises(engines.EngineError, match="ended with status -9"):
            worker.ask(do="memory")
    finally:
        worker.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc which processes run")
def test_a_load_ends_with_the_benchmark() -> None:
    script = """
import time
from benchmarks.busy import Load
with Load.parse("loops:2")[0] as load:
    print(*(process.pid for process in load._processes), flush=True)
    time.sleep(60)
"""
    runner = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    with runner, runner.stdout:
        loops = [int(number) for number in runner.stdout.readline().split()]
        assert len(loops) == 2
        runner.kill()
    until = time.monotonic() + 20
    while any(_runs(each) for each in loops):
        assert time.monotonic() < until, "the loops go on"
        time.sleep(0.05)


def _runs(process: int) -> bool:
    """Whether a process is there and has not ended; one that has may wait for its parent to ask."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_an_unknown_load_is_refused() -> None:
    ended = python("-m", "benchmarks", "--busy", "loops:0")
    assert ended.returncode == 2
    assert "'loops:0' is neither 'training' nor 'loops:N'" in ended.stderr


def test_a_peer_without_its_package_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(PEERS, "jax", Peer("JAX", "peers_jax:ready", needs=("no_such_package",)))
    assert main(["--engines", "jax"]) == 1  # nothing else was asked for
    said = " ".join(capsys.readouterr().out.split())
    assert said == "JAX is left out: no_such_package is not installed; the extra 'bench' has it."


def test_the_worker_of_operators_imports_no_engine_unasked() -> None:
    script = "import sys, benchmarks.operator_worker; print({'torch', 'rebind'} & set(sys.modules))"
    ended = python("-c", script)
    assert ended.stdout.strip() == "set()", ended.stdout + ended.stderr


def test_a_worker_makes_the_arrays_of_the_sample() -> None:
    for described in (*samples("small")[::40], *samples("large")[::40]):
        again = sample_of(**json.loads(json.dumps(as_json(described))))
        assert str(again) == str(described)
        for one, other in zip(again.inputs(), described.inputs(), strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


@pytest.mark.parametrize("sample", LARGE, ids=str)
def test_large_calls_are_accepted(sample: Sample) -> None:
    arrays = [mx.sym.Variable(f"array{index}") for index in range(len(sample.arrays))]
    call = getattr(mx.sym._internal, sample.name)(*arrays, **sample.parameters)
    shapes = {f"array{index}": array.shape for index, array in enumerate(sample.arrays)}
    call.infer_shape_partial(**shapes)  # raises where they do not fit


def test_what_fit_adds_is_measured_in_pairs() -> None:
    run = fit.Fit(fit.ROWS["mlp"])
    run.epoch()
    assert len(run.in_fit) == len(run.bare) == fit.BATCHES - fit.FIRST
    # Both have trained: twice as many updates as batches.
    assert run.module.optimizers()[0].num_update == 2 * fit.BATCHES


def test_more_instructions_than_are_held_are_said() -> None:
    assert instructions.compare({"relu": 105, "add": 106}, {"relu": 100, "add": 100}, tolerance=0.05) == [
        "add: at most 100 instructions and 5 % more are held; got 106"
    ]


def test_instructions_are_not_counted_without_valgrind(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert instructions.main([]) == 0
    assert capsys.readouterr().out == "Nothing is counted: valgrind is not installed.\n"


@pytest.mark.parametrize(
    ("chosen", "settings"),
    [([], ["plain", "tuned"]), (["--tuned"], ["tuned"]), (["--plain"], ["plain"])],
    ids=["both", "tuned", "plain"],
)
def test_all_engines_of_a_table_have_the_same_settings(
    chosen: list[str], settings: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    class Engine:
        preparation = engines.Preparation({}, 0.0)

        def __init__(self, name: str, row: Any, options: engines.Options) -> None:
            environment = engines._environment(name, options, "")
            made.append((name, environment["REBIND_TUNE"], "MALLOC_MMAP_MAX_" in environment))

        def timed(self, steps: int) -> float:
            return 1.0

        def peak_bytes(self) -> tuple[int, int]:
            return 0, 0

        def close(self) -> None:
            pass

    monkeypatch.setattr(runner, "WorkerEngine", Engine)
    monkeypatch.delenv("MALLOC_MMAP_MAX_", raising=False)
    file = tmp_path / "samples.json"
    command = ["--rows", "mlp", "--engines", "rebind,torch", "--quick", "--json", str(file), *chosen]
    assert main(command) == 0
    assert [found["setting"] for found in json.loads(file.read_text())["rows"]] == settings
    expected = {
        "plain": [("rebind", "0", False), ("torch", "0", False)],
        "tuned": [("rebind", "1", False), ("torch", "1", True)],
    }
    assert made == [each for setting in settings for each in expected[setting]]
