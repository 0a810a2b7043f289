"""The context of one server in the overlay: its environment, the known cliques, and measured round trips."""

from __future__ import annotations

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.cliques.arrangement import Bounds
from emulator.protocols.overlays.cliques.directory import Directory
from emulator.protocols.overlays.cliques.measuring import Measuring
from emulator.protocols.overlays.cliques.parameters import CliqueParameters


class MemberContext:
    """The state that all parts of the overlay at one server share."""

    def __init__(
        self,
        environment: Environment,
        parameters: CliqueParameters,
        directory: Directory,
        measuring: Measuring,
    ) -> None:
        self.environment = environment
        self.parameters = parameters
        self.bounds = Bounds(parameters.size, parameters.diameter)
        self.directory = directory
        self.measuring = measuring
