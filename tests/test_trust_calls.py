"""Calls between coordinator and hosts on the loopback: what is let in, and what is not."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from test_fleet_coordinator import spec_of

from emulator.experiment.plan.draw_plan import draw_plan
from emulator.fleet.coordinator.authorization import Trust
from emulator.fleet.coordinator.coordinator import Coordinator
from emulator.fleet.coordinator.service import CoordinatorService
from emulator.runtime.realtime.connecting import OPTIONS
from emulator.runtime.realtime.streams import LinksService
from emulator.trust.credentials import (
    AUTHORIZATION,
    OPEN,
    Certificates,
    Credentials,
    NoCredentials,
    new_token,
    read_token,
)
from emulator.trust.interceptor import Door
from emulator.trust.refusals import BAD_TOKEN
from trellis.v1 import control_pb2, control_pb2_grpc, wire_pb2, wire_pb2_grpc

TOKEN, CHURN, KEY = "the token of hosts", "the controller's", "the key of tickets"
RELEASE = Credentials(TOKEN)
FIRST, SECOND = "start of host-0", "start of host-1"
_LIMIT = 20


class World:
    """A coordinator with a trial of two hosts, and its address."""

    def __init__(self, coordinator: Coordinator, service: CoordinatorService, address: str) -> None:
        self.coordinator = coordinator
        self.service = service
        self.address = address

    @asynccontextmanager
    async def calling(self, credentials: Credentials = RELEASE, start: str = "") -> AsyncIterator[Any]:
        """Yield the coordinator's stub for somebody who shows this."""
        async with credentials.open(self.address, OPTIONS) as channel:
            yield control_pb2_grpc.CoordinatorStub(credentials.showing(channel, start))  # type: ignore[no-untyped-call]

    async def register(self, start: str, host: str = "host-0", address: str = "127.0.0.1:1") -> Any:
        async with self.calling(start=start) as stub:
            registration = control_pb2.Registration(host=host, address=address, start=start)
            return await stub.Register(registration, timeout=_LIMIT)


@asynccontextmanager
async def world(speakers: Path | None = None, credentials: Credentials = RELEASE) -> AsyncIterator[World]:
    spec = spec_of(4)
    coordinator = Coordinator(spec, draw_plan(spec), "experiment", "trial")
    service = CoordinatorService(Trust(credentials, CHURN, KEY, speakers))
    server, address = await service.serve("127.0.0.1:0")
    await service.begin(coordinator)
    try:
        yield World(coordinator, service, address)
    finally:
        await service.close()
        await server.stop(0)


@asynccontextmanager
async def living(start: str, credentials: Credentials = RELEASE) -> AsyncIterator[str]:
    """Start a host's program so and yield its address."""
    server = grpc.aio.server(interceptors=[Door({"": [credentials.token]})])
    wire_pb2_grpc.add_LinksServicer_to_server(LinksService(start), server)  # type: ignore[no-untyped-call]
    port = credentials.listen(server, "127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(0)


def go(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 60))


async def refused(call: Any, *, status: grpc.StatusCode = grpc.StatusCode.PERMISSION_DENIED) -> str:
    """Return why the call does not come in."""
    with pytest.raises(grpc.aio.AioRpcError) as told:
        await call
    assert told.value.code() is status
    return str(told.value.details())


UNKNOWN = grpc.StatusCode.UNAUTHENTICATED
OF_HOSTS: list[tuple[str, Any]] = [
    ("Register", control_pb2.Registration(host="host-0", address="127.0.0.1:1", start="mine")),
    ("MeasureClock", control_pb2.ClockRequest(host="host-0")),
    ("AwaitStart", control_pb2.Ready(host="host-0", trial="trial")),
    ("Track", control_pb2.TrackRequest(host="host-0", trial="trial")),
    ("ReportProgress", control_pb2.HostProgress(host="host-0", trial="trial")),
    ("Finish", control_pb2.HostFidelity(host="host-0", trial="trial")),
]
OF_CHURN: list[tuple[str, Any]] = [
    ("AwaitChurn", control_pb2.ChurnRequest()),
    ("ReportKilled", control_pb2.Killed(host="host-0", trial="trial")),
]


@pytest.mark.parametrize(
    "address", ["127.0.0.1:1\nvitis-1 is valid", "", "127.0.0.1", "x" * 300 + ":1", "a b:1"]
)
def test_an_address_that_is_none_forges_no_line_of_the_log(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def live() -> None:
        async with world() as here, living(FIRST) as place:
            await here.register(FIRST, address=place)
            assert f"no address {address[:40]!r}" in await refused(here.register(SECOND, address=address))

    go(live)
    assert "valid" not in capsys.readouterr().out


@pytest.mark.parametrize("credentials", [OPEN, Credentials("another token"), Credentials(TOKEN + "x")])
def test_no_method_of_the_coordinator_answers_without_the_token(credentials: Credentials) -> None:
    async def live() -> None:
        async with world() as here, here.calling(credentials, FIRST) as stub:
            for method, request in OF_HOSTS + OF_CHURN:
                why = await refused(getattr(stub, method)(request, timeout=_LIMIT), status=UNKNOWN)
                assert "token of this release" in why and TOKEN not in why
            assert here.service.refusals.counts()[BAD_TOKEN] == len(OF_HOSTS + OF_CHURN)
            assert not any(member.address for member in here.coordinator.members.values())
            assert not here.coordinator.over

    go(live)


def test_every_method_of_the_coordinator_is_tried() -> None:
    service = control_pb2.DESCRIPTOR.services_by_name["Coordinator"]
    assert {method.name for method in service.methods} == {name for name, _ in OF_HOSTS + OF_CHURN}


def test_a_method_of_another_service_is_none_of_the_coordinators_methods() -> None:
    async def live() -> None:
        async with world() as here, RELEASE.open(here.address, []) as channel:
            await here.register(FIRST)
            shown = [(AUTHORIZATION, f"Bearer {TOKEN}")]
            call = channel.unary_unary("/other.Service/Register")
            await refused(call(b"", metadata=shown, timeout=_LIMIT), status=grpc.StatusCode.UNIMPLEMENTED)

    go(live)


def test_a_large_message_of_a_stranger_is_not_read() -> None:
    async def live() -> None:
        async with world() as here, here.calling(OPEN) as stub:
            large = control_pb2.HostFidelity(host="host-0", trial="trial", error="x" * (32 << 20))
            await refused(stub.Finish(large, timeout=_LIMIT), status=UNKNOWN)

    go(live)


def test_the_token_of_hosts_is_none_of_the_churn_controller_and_the_other_way_round() -> None:
    async def live() -> None:
        async with world() as here:
            async with here.calling(start=FIRST) as stub:
                for method, request in OF_CHURN:
                    await refused(getattr(stub, method)(request, timeout=_LIMIT), status=UNKNOWN)
            async with here.calling(Credentials(CHURN), FIRST) as stub:
                for method, request in OF_HOSTS:
                    if method != "MeasureClock":
                        await refused(getattr(stub, method)(request, timeout=_LIMIT), status=UNKNOWN)

    go(live)


@pytest.mark.parametrize(
    ("method", "request_"), [pair for pair in OF_HOSTS if pair[0] not in ("Register", "MeasureClock")]
)
def test_a_host_cannot_speak_for_another(method: str, request_: Any) -> None:
    async def live() -> None:
        async with world() as here:
            await here.register(FIRST, "host-0")
            await here.register(SECOND, "host-1")
            heard = here.coordinator.members["host-0"].heard_ns
            async with here.calling(start=SECOND) as stub:
                why = await refused(getattr(stub, method)(request_, timeout=_LIMIT))
                assert "another program speaks for 'host-0'" in why
            async with here.calling() as stub:
                await refused(getattr(stub, method)(request_, timeout=_LIMIT), status=UNKNOWN)
            member = here.coordinator.members["host-0"]
            assert member.result is None and not member.ready and member.heard_ns == heard

    go(live)


def test_a_host_cannot_move_the_address_of_another_that_lives() -> None:
    async def live() -> None:
        async with world() as here, living(FIRST) as address:
            await here.register(FIRST, "host-0", address)
            why = await refused(here.register(SECOND, "host-0", "127.0.0.1:2"))
            assert f"host-0 lives at {address}" in why
            assert here.coordinator.members["host-0"].address == address

    go(live)


def test_a_host_that_comes_back_takes_its_place() -> None:
    async def live() -> None:
        async with world() as here:
            async with living(FIRST) as address:
                await here.register(FIRST, "host-0", address)
            async with living("its next start") as elsewhere:
                await here.register("its next start", "host-0", elsewhere)
                assert here.coordinator.members["host-0"].address == elsewhere
                await refused(here.register(FIRST, "host-0", address))

    go(live)


def test_a_host_may_come_back_at_its_own_address() -> None:
    async def live() -> None:
        async with world() as here, living("its next start") as address:
            await here.register(FIRST, "host-0", address)
            await here.register("its next start", "host-0", address)

    go(live)


def test_who_speaks_for_whom_outlives_the_coordinator(tmp_path: Path) -> None:
    async def live() -> None:
        async with living(FIRST) as address:
            async with world(tmp_path / "speakers") as here:
                await here.register(FIRST, "host-0", address)
            assert FIRST not in (tmp_path / "speakers").read_text()
            with (tmp_path / "speakers").open("a") as file:
                file.write('{"host": "host-1", "dig')  # the coordinator was killed as it wrote
            async with world(tmp_path / "speakers") as here:
                await refused(here.register(SECOND, "host-0", "127.0.0.1:2"))
                await here.register(FIRST, "host-0", address)

    go(live)


@pytest.mark.parametrize("host", ["host-1 ", "churn-0", "", "host-123456", "host-²"])
def test_names_that_are_none_of_a_host_are_not_kept(host: str) -> None:
    async def live() -> None:
        async with world() as here:
            await refused(here.register(FIRST, host))

    go(live)


@pytest.mark.parametrize("credentials", [OPEN, Credentials("another token")])
def test_links_are_closed_to_those_without_the_token(credentials: Credentials) -> None:
    async def live() -> None:
        async with living(FIRST) as address, credentials.open(address, OPTIONS) as channel:
            stub = wire_pb2_grpc.LinksStub(credentials.showing(channel))  # type: ignore[no-untyped-call]
            call = stub.Exchange()
            await refused(call.read(), status=UNKNOWN)
            await refused(stub.Prove(wire_pb2.Question(question=b"?"), timeout=_LIMIT), status=UNKNOWN)

    go(live)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority, and with the certificate that it gave."""
    folder = tmp_path_factory.mktemp("certificates")

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True, timeout=60)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=authority")
    openssl("req", *key, "-keyout", "tls.key", "-out", "tls.csr", "-subj", "/CN=pods")
    (folder / "names").write_text("subjectAltName=DNS:demo.here.svc")
    openssl(
        *("x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial"),
        *("-extfile", "names", "-out", "tls.crt"),
    )
    return folder


def test_pods_talk_by_tls_and_to_nobody_without_a_certificate(authority: Path) -> None:
    certificates = Certificates.read(authority, "demo.here.svc")
    secure = Credentials(TOKEN, certificates)

    async def live() -> None:
        async with world(credentials=secure) as here, living(FIRST, secure) as address:
            async with here.calling(secure, FIRST) as stub:
                registration = control_pb2.Registration(host="host-0", address=address, start=FIRST)
                assert (await stub.Register(registration, timeout=_LIMIT)).trial == "trial"
            async with here.calling(secure, SECOND) as stub:
                await refused(stub.Register(registration, timeout=_LIMIT))  # by TLS too, it lives
            stranger = grpc.ssl_channel_credentials(certificates.authority)
            options = [("grpc.ssl_target_name_override", certificates.name)]
            wrong = Credentials(TOKEN, Certificates.read(authority, "other.here.svc"))
            for channel in (
                RELEASE.open(here.address, OPTIONS),
                grpc.aio.secure_channel(here.address, stranger, options=options),
                wrong.open(here.address, OPTIONS),
            ):
                async with channel:
                    stub = control_pb2_grpc.CoordinatorStub(RELEASE.showing(channel, FIRST))  # type: ignore[no-untyped-call]
                    request = control_pb2.ClockRequest(host="host-0")
                    await refused(stub.MeasureClock(request, timeout=3), status=grpc.StatusCode.UNAVAILABLE)

    go(live)


def test_a_token_is_read_from_one_line_and_never_told(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("the token\n")
    assert read_token(file) == "the token"
    assert "the token" not in repr(Credentials("the token"))
    assert new_token() != new_token()
    for content in (b"", b"\n", b"one\ntwo\n", b"\xff", b"x" * 5000):
        file.write_bytes(content)
        with pytest.raises(NoCredentials, match="token") as told:
            read_token(file)
        assert "two" not in str(told.value)
    with pytest.raises(NoCredentials, match="cannot be read"):
        read_token(tmp_path / "none")
