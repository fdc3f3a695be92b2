"""``rebind launch`` in real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.launch.jobs import PROGRAM, launch, put_tools, results

import rebind_command
from rebind.launch.arguments import Request
from rebind.launch.hosts import Host
from rebind.launch.plan import Address, make_plan

# The addresses that /proc/net/tcp shows for the loopback interface.
LOOPBACK = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}


def write(folder: Path, text: str) -> Path:
    (path := folder / "program.py").write_text(text)
    return path


def test_a_job_on_this_machine(tmp_path: Path) -> None:
    program = write(tmp_path, PROGRAM)
    done = launch(
        "-n", 2, "-s", 1, "--env-worker", "GIVEN:x", "--log-dir", "logs", sys.executable, program, cwd=tmp_path
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = results(done)
    assert [each["rank"] for each in found] == [0, 1]
    assert {(each["size"], each["sum"]) for each in found} == {(2, 6.0)}
    assert found[1]["variables"] == {
        "DMLC_ROLE": "worker", "DMLC_NUM_SERVER": "1", "LOCAL_RANK": "1", "GIVEN": "x",
        "TORCHELASTIC_RESTART_COUNT": "0",
    }  # fmt: skip
    assert {line.split()[0] for line in done.stdout.splitlines()} == {"[0]", "[1]"}
    assert len(list((tmp_path / "logs").rglob("stdout.log"))) == 3
    if sys.platform == "linux":
        # The launcher holds the job's store; workers listen for each other's arrays.
        assert found[0]["listening"]["parent"]
        for each in found:
            assert {address for listed in each["listening"].values() for address in listed} <= LOOPBACK


@pytest.mark.parametrize("launcher", ["ssh", pytest.param("mpi", marks=pytest.mark.slow)])
def test_jobs_of_other_launchers(launcher: str, tmp_path: Path) -> None:
    # Programs in the place of ssh, mpirun and srun run the commands here.
    (folder := tmp_path / "here").mkdir()
    write(folder, PROGRAM)
    (folder / "hosts").write_text("node0\nnode1:2222\n")
    flags = ["-H", "hosts", "--host-ip", "127.0.0.1", "--env", "GIVEN:it is ours"]
    if launcher == "ssh":
        (there := tmp_path / "there").mkdir()
        flags += ["--sync-dst-dir", str(there)]
    done = launch(
        "-n", 2, "--launcher", launcher, *flags, sys.executable, "program.py", cwd=folder, tools=tmp_path / "tools"
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = results(done)
    assert [(each["rank"], each["size"], each["sum"]) for each in found] == [(0, 2, 6.0), (1, 2, 6.0)]
    for rank, each in enumerate(found):
        variables = each["variables"]
        assert variables["GIVEN"] == "it is ours"
        # Over ssh each has a machine of its own.
        assert variables["LOCAL_RANK"] == ("0" if launcher == "ssh" else None), rank
        assert each["folder"] == str(tmp_path / "there" if launcher == "ssh" else folder)


DIES_ONCE = """
import os, signal, sys
import rebind as mx

kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
for step in range(3):
    kv.push("w", mx.nd.ones((2,)))
    kv.pull("w", out=(out := mx.nd.zeros((2,))))
    if first and step == 1 and kv.rank == 1:
        if sys.argv[1] == "raises":
            raise ValueError("sample 17 is broken")
        os.kill(os.getpid(), signal.SIGKILL)
sys.stdout.write(f"the end of {kv.rank}\\n")  # one write: lines of two workers do not mix
sys.stdout.flush()
"""


@pytest.mark.parametrize(
    ("launcher", "how", "sentence", "last_line"),
    [
        ("local", "dies", ") was ended by SIGKILL.", ""),
        pytest.param(
            "local", "raises", ") ended with exit code 1: ValueError: sample 17 is broken.",
            "worker 1 | [rank1]: Value", marks=pytest.mark.slow,
        ),
        # srun starts all workers: what became of one is known from its sign of life.
        ("slurm", "raises", ") ended with exit code 1: ValueError: sample 17 is broken.", ""),
    ],
)  # fmt: skip
def test_a_worker_is_lost_and_all_are_started_again(
    launcher: str, how: str, sentence: str, last_line: str, tmp_path: Path
) -> None:
    program = write(tmp_path, DIES_ONCE)
    flags = ["--launcher", launcher, "--host-ip", "127.0.0.1", "--max-restarts", 1]
    done = launch("-n", 2, *flags, sys.executable, program, how, cwd=tmp_path, tools=tmp_path / "tools")
    assert done.returncode == 0, done.stderr
    printed = sorted(line.rpartition("] ")[2] for line in done.stdout.splitlines())
    assert printed == ["the end of 0", "the end of 1"]
    assert done.stderr.count("rebind launch: the job failed. worker 1 (pid ") == 1
    assert sentence in done.stderr
    assert last_line in done.stderr
    assert "restarting all processes from the newest checkpoint; 1 restart is left." in done.stderr


GOES_ON = """
import os, time
import rebind as mx

kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
while True:
    kv.push("w", mx.nd.ones((2,)))
    kv.pull("w", out=(out := mx.nd.zeros((2,))))
    if not os.path.exists(f"{kv.rank}.pid"):
        with open(f"{kv.rank}.part", "w") as file:
            file.write(str(os.getpid()))
        os.replace(f"{kv.rank}.part", f"{kv.rank}.pid")
    time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_workers_end_when_the_launcher_is_killed(tmp_path: Path) -> None:
    program = write(tmp_path, GOES_ON)
    command = [sys.executable, "-m", "rebind", "launch", "-n", "2", sys.executable, str(program)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    files = [tmp_path / "0.pid", tmp_path / "1.pid"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        wait_until(lambda: all(file.exists() for file in files))
        process.kill()
    wait_until(lambda: not any(is_running(int(file.read_text())) for file in files))


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_the_exit_code_is_that_of_the_worker_and_the_others_are_ended(tmp_path: Path) -> None:
    program = write(
        tmp_path, "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(7)\ntime.sleep(100)\n"
    )
    done = launch("-n", 3, sys.executable, program, cwd=tmp_path)
    assert done.returncode == 7
    assert "the job failed. worker 1 (pid " in done.stderr
    assert "ended with exit code 7." in done.stderr


def test_what_ssh_has_started_ends_with_the_launcher(tmp_path: Path) -> None:
    put_tools(tmp_path / "tools")
    request = Request(
        command=("sh", "-c", "echo $$ $GIVEN $REBIND_JOB_TOKEN; exec sleep 100"), workers=1, launcher="ssh",
        variables={"GIVEN": "it's ours"},
    )  # fmt: skip
    plan = make_plan(request, Address("127.0.0.1", 1, "secret"), hosts=[Host("node0")])
    environment = {
        **os.environ, "REBIND_JOB_TOKEN": "secret", "PATH": f"{tmp_path / 'tools'}{os.pathsep}{os.environ['PATH']}"
    }  # fmt: skip
    command = [plan.program, *plan.processes[0].arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid, *words = process.stdout.readline().split()
        process.kill()
    assert words == ["it's", "ours", "secret"]
    wait_until(lambda: not is_running(int(pid)))


def is_running(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat")
    try:
        os.kill(pid, 0)
        return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
    except (ProcessLookupError, FileNotFoundError):  # it may end at any of these
        return False


# A signal may come while processes are started: before all of them print something, too.
@pytest.mark.parametrize("lines", [0, 1, 2])
def test_a_signal_ends_the_job(lines: int, tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "import os, time\nprint(os.getpid(), flush=True)\nopen(f'{os.getpid()}.pid', 'w')\ntime.sleep(100)\n",
    )
    command = [sys.executable, "-m", "rebind", "launch", "-n", "2", sys.executable, str(program)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        while not lines and not any(tmp_path.glob("*.pid")):
            time.sleep(0.001)
        for _ in range(lines):
            process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert error.strip() == "rebind launch: ended by SIGTERM."
    assert not [path.stem for path in tmp_path.glob("*.pid") if _runs(int(path.stem))]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_second_signal_kills(tmp_path: Path) -> None:
    program = write(
        tmp_path,
        "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: print('busy', flush=True))\n"
        "print('started', flush=True)\nwhile True:\n    time.sleep(1)\n",
    )
    command = [sys.executable, "-m", "rebind", "launch", "-n", "1", sys.executable, str(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for says in ("started", "busy"):
            assert says in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=20)  # less than the first signal leaves it
    assert process.returncode == 128 + signal.SIGTERM
    assert error.strip() == "rebind launch: ended by SIGTERM."


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-n", "2", "no-such-program"), "the command must be a program on the PATH; got 'no-such-program'"),
        (("-n", "2", "-H", "nowhere", "python"), "-H: the file of machines must exist; got 'nowhere'"),
    ],
)
def test_what_cannot_be_started(
    arguments: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert rebind_command.main(["launch", *arguments]) == 2
    assert f"rebind launch: {says}" in capsys.readouterr().err
