"""Messages between workers and servers: what arrives, who is let in, and in which order requests are sent."""

from __future__ import annotations

import socket
import threading
import time

import pytest
import torch

import rebind as mx
from rebind.kvstore.server_link import Request, ServerLink
from rebind.kvstore.service import Service
from rebind.kvstore.wire import Address, Connection, Message, Scratch

ARRAYS = [
    torch.arange(6, dtype=torch.float32).view(2, 3),
    torch.tensor(3.0),
    torch.empty(0, 4, dtype=torch.int64),
    torch.ones(5, dtype=torch.bfloat16),
    torch.arange(100_000, dtype=torch.int32),
    torch.tensor([True, False]),
]


def test_arrays_of_all_kinds_arrive():
    one, other = (Connection(each, 10) for each in socket.socketpair())
    sender = threading.Thread(target=one.send, args=(Message({"text": "é", "key": 3}, ARRAYS),))
    sender.start()
    header, kinds = other.receive_header()
    found = Scratch().arrays(kinds)
    other.receive_arrays(found)
    sender.join()
    assert header == {"text": "é", "key": 3}
    for one_array, other_array in zip(ARRAYS, found, strict=True):
        assert one_array.dtype is other_array.dtype and torch.equal(one_array, other_array)
    one.close()
    with pytest.raises(ConnectionError):
        other.receive_header()
    other.close()


def test_strangers_are_refused():
    service = Service(1, "127.0.0.1", 5.0, lambda rank: None)
    address = service.address
    with pytest.raises(mx.MXNetError, match=r"a server must listen at 127\.0\.0\.1"):
        Connection.to(Address(address.host, address.port, "a guess"), 5.0)
    with socket.create_connection((address.host, address.port)) as silent:  # keeps nobody else waiting
        connection = Connection.to(address, 5.0)
        connection.send(Message({"rank": 0, "store": 0, "bound": None}))
        assert connection.receive_header() == ({}, [])
        silent.sendall(b"\x00\x00\x00\x03abc")
    connection.send(Message({"do": "finish"}))
    service.wait_for_the_last({0})
    connection.close()
    service.close()
    with pytest.raises(mx.MXNetError, match="a server must listen at"):
        Connection.to(address, 1.0)


class Recording:
    """A server that notes what it is asked for, and begins when it is let."""

    depth = 1

    def __init__(self) -> None:
        self.begin = threading.Event()
        self.seen: list[object] = []

    def send(self, message: Message) -> None:
        self.begin.wait(10)
        self.seen.append(message.header["name"])

    def receive(self, targets: object) -> Message:
        while not self.seen:
            time.sleep(0.001)
        return Message({})

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("requests", "order"),
    [
        ([("b", 0), ("c", 0), ("d", 1)], "dbc"),
        ([("b", -2), ("c", 0), ("b", 1)], "bbc"),  # requests of one key keep their order
        ([("b", 0), ("c", 0), ("bd", 0), ("d", 3)], "b-bd-d-c"),  # and so do those that they wait for
    ],
)
def test_requests_are_sent_by_priority(requests, order):
    server = Recording()
    link = ServerLink("a server", server)
    first = link.submit(Request(Message({"name": "a"}), frozenset("a")))
    time.sleep(0.05)  # it is taken, and held
    answers = [
        link.submit(Request(Message({"name": name}), frozenset(name), priority))
        for name, priority in requests
    ]
    server.begin.set()
    for answer in (first, *answers):
        answer.result(10)
    link.close()
    assert server.seen == ["a", *(order.split("-") if "-" in order else order)]
