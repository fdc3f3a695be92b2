"""Files of machines, and which process runs where."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebind.errors import FormatError, MissingFileError
from rebind.launch.hosts import Host, own_address, place_processes, read_hosts


def test_read_hosts(tmp_path: Path) -> None:
    (file := tmp_path / "hosts").write_text(
        "# two machines\nnode0\n\nme@10.0.0.2:2222 slots=4  # the other\n"
    )
    hosts = read_hosts(file)
    assert hosts == [Host("node0"), Host("me@10.0.0.2", 2222)]
    assert hosts[1].address == "10.0.0.2"


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("# none\n", FormatError, "must list machines, one on a line; got none"),
        ("a\nb:ssh\n", FormatError, r"hosts, line 2: must be \[user@\]host\[:port\]; got 'b:ssh'"),
        (None, MissingFileError, "-H: the file of machines must exist; got .*hosts"),
    ],
)
def test_files_that_are_wrong(text: str | None, error: type[Exception], says: str, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "hosts").write_text(text)
    with pytest.raises(error, match=says):
        read_hosts(tmp_path / "hosts")


def test_processes_go_round_the_machines_servers_first() -> None:
    # The example of MXNet's documentation: five machines, three workers and three servers.
    hosts = [Host(name) for name in "abcde"]
    placed = [(place.role, place.number, place.host.name) for place in place_processes(hosts, 3, 3)]
    assert placed == [
        ("server", 0, "a"), ("server", 1, "b"), ("server", 2, "c"),
        ("worker", 0, "d"), ("worker", 1, "e"), ("worker", 2, "a"),
    ]  # fmt: skip
    # As many machines as workers: a server and a worker on each.
    placed = [(place.role, place.host.name) for place in place_processes(hosts[:2], 2, 2)]
    assert placed == [("server", "a"), ("server", "b"), ("worker", "a"), ("worker", "b")]


def test_own_address() -> None:
    assert own_address([Host("localhost"), Host("me@127.0.0.2")]) == "127.0.0.1"
    assert own_address([Host("no-such-machine.invalid")])
