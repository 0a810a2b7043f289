"""The fake environment of `emulator.testing`, by the name that the tests know it by."""

from emulator.testing.fake_environment import FakeEnvironment as FakeEnvironment
from emulator.testing.fake_environment import FakeTimer as FakeTimer
from emulator.testing.fake_environment import Lockstep as Lockstep
from emulator.testing.fake_environment import Sent as Sent
