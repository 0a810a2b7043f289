"""Addresses to listen on, as users and pods write them."""

from __future__ import annotations

import pytest

from emulator.network.listening import for_grpc, host_and_port


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("10.0.0.1:7000", "10.0.0.1", 7000),
        ("[fd00::1]:7000", "fd00::1", 7000),
        ("fd00::1:7000", "fd00::1", 7000),
        ("*:8080", "*", 8080),
        ("localhost:0", "localhost", 0),
    ],
)
def test_an_address_has_a_host_without_brackets_and_a_port(address: str, host: str, port: int) -> None:
    assert host_and_port(address) == (host, port)


@pytest.mark.parametrize("address", ["", "9100", ":9100", "localhost:", "127.0.0.1:http", "127.0.0.1:65536"])
def test_what_is_no_address_is_refused_with_an_example(address: str) -> None:
    with pytest.raises(ValueError, match=r"such as 127\.0\.0\.1:9100"):
        host_and_port(address)


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("10.0.0.1:7000", "10.0.0.1:7000"),
        ("fd00::1:7000", "[fd00::1]:7000"),
        ("[fd00::1]:7000", "[fd00::1]:7000"),
        ("*:7000", "[::]:7000"),
        ("localhost:0", "localhost:0"),
        ("nothing", "nothing"),
    ],
)
def test_grpc_is_given_ipv6_in_brackets(address: str, written: str) -> None:
    assert for_grpc(address) == written
