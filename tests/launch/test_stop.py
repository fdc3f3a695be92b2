"""Signals that end a job are noted, not raised."""

from __future__ import annotations

import signal
import threading

import pytest

from rebind.launch.stop import StopSignals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_is_noted(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with StopSignals() as stop:
        assert stop.received is None
        signal.raise_signal(number)
        signal.raise_signal(signal.SIGTERM)
        assert stop.received is number
    assert signal.getsignal(number) is before


def test_a_further_signal_raises_where_it_may() -> None:
    with StopSignals() as stop:
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt), stop.raising():
            signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert stop.received is signal.SIGTERM


def test_another_thread_sets_no_handlers() -> None:
    before, found = signal.getsignal(signal.SIGTERM), []

    def enter() -> None:
        with StopSignals():
            found.append(signal.getsignal(signal.SIGTERM))

    (thread := threading.Thread(target=enter)).start()
    thread.join()
    assert found == [before]
