"""What tells machines from each other, and where one is reached."""

import socket
import sys

import pytest

from rebind.distributed import machine


@pytest.fixture
def fresh(monkeypatch):
    """As in a process that has not asked yet."""
    machine.namespace.cache_clear()
    yield monkeypatch
    machine.namespace.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
@pytest.mark.parametrize("kind", ["pid", "net"])
@pytest.mark.parametrize("differs", ["name", "boot", "namespace"])
def test_machines_and_containers_differ(fresh, kind, differs):
    here = machine.namespace(kind)
    machine.namespace.cache_clear()
    if differs == "name":
        fresh.setattr(socket, "gethostname", lambda: "another")
    elif differs == "boot":
        fresh.setattr(machine.Path, "read_text", lambda path: "another boot\n")
    else:
        fresh.setattr(machine.os, "readlink", lambda path: "net:[1]")
    assert machine.namespace(kind) != here


@pytest.mark.parametrize(("kind", "expected"), [("pid", ""), ("net", "node1")])
def test_a_system_without_namespaces(fresh, kind, expected):
    def fails(path):
        raise OSError

    fresh.setattr(machine.os, "readlink", fails)
    fresh.setattr(socket, "gethostname", lambda: "node1")
    assert machine.namespace(kind) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="interfaces are asked as Linux has them")
def test_the_interface_of_an_address():
    assert machine.interface_of("127.0.0.1") == "lo"
    assert machine.interface_of("192.0.2.77") is None
