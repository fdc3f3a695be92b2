"""The flags of ``rebind launch``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from rebind.launch.arguments import Request
from rebind_command import main
from rebind_command.launch import parse


def request(line: str) -> Request:
    return Request.of(parse(line.split()))


def test_flags_of_mxnets_launcher() -> None:
    found = request(
        "-n 4 -s 2 -H hosts --launcher ssh --sync-dst-dir /there -p 9091 --env A --env B:2 --env-worker C:x:y "
        "--env-server OMP_NUM_THREADS:3 --p3 python train.py -n 7 --kv-store dist_sync"
    )
    assert found == Request(
        command=("python", "train.py", "-n", "7", "--kv-store", "dist_sync"),
        workers=4,
        servers=2,
        launcher="ssh",
        host_file=Path("hosts"),
        folder_there="/there",
        port=9091,
        variables={"A": None, "B": "2"},
        worker_variables={"C": "x:y"},
        server_variables={"OMP_NUM_THREADS": "3"},
    )
    assert request("--num-workers 1 --num-servers 0 --hostfile h -- x").launcher == "ssh"
    assert request("-n 1 --max-restarts 3 --timeout 2.5 x") == Request(
        command=("x",), workers=1, max_restarts=3, timeout=2.5, variables={}, worker_variables={}, server_variables={}
    )  # fmt: skip


def test_this_python_runs_a_file_that_is_no_program(tmp_path: Path) -> None:
    (script := tmp_path / "train.py").write_text("#!/usr/bin/env python\n")
    assert request(f"-n 2 {script} --lr 1").command == (sys.executable, str(script), "--lr", "1")
    script.chmod(0o755)
    assert request(f"-n 2 {script}").command == (str(script),)
    assert request("-n 2 no-such.py").command == ("no-such.py",)  # `run` says that there is none


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("-n 2", "COMMAND is missing: the program that each process runs"),
        ("-n 2 --launcher sge x", "--launcher sge is not supported; in the script for qsub"),
        ("-n 2 --launcher yarn x", "--launcher yarn is not supported; .*docs/distributed.md"),
        ("-n 2 --launcher ssh x", "--launcher ssh needs a file that lists the machines: -H FILE"),
        ("-n 2 --launcher local -H hosts x", "--launcher local runs all processes on this machine; got -H"),
        ("-n 2 --sync-dst-dir d x", "--sync-dst-dir is for --launcher ssh; got --launcher local"),
    ],
)
def test_flags_that_do_not_fit(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["launch", *line.split()])
    assert caught.value.code == 2
    assert re.search(f"Error: {says}", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("x", "Missing option '-n' / '--num-workers'"),
        ("-n 0 x", "Invalid value for '-n' / '--num-workers': 0 is not in the range x>=1"),
        ("-n 1 -s -1 x", "Invalid value for '-s' / '--num-servers': -1 is not in the range x>=0"),
        ("-n 1 --timeout 0 x", "Invalid value for '--timeout': must be a number of seconds > 0; got '0'"),
        ("-n 1 --env 1A:2 x", "Invalid value for '--env': must be NAME or NAME:VALUE; got '1A:2'"),
        (
            "-n 1 --launcher docker x",
            "Invalid value for '--launcher': 'docker' is not one of 'local', 'ssh',",
        ),
    ],
)
def test_flags_that_cannot_be_read(line: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["launch", *line.split()])
    assert caught.value.code == 2
    assert re.search(re.escape(says), capsys.readouterr().err)
