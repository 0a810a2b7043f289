"""What one server has to go by: its world, the cliques that it knows of, the round trips that it measured."""

from __future__ import annotations

from emulator.contract.protocol import Environment
from emulator.protocols.overlays.cliques.arrangement import Bounds
from emulator.protocols.overlays.cliques.directory import Directory
from emulator.protocols.overlays.cliques.measuring import Measuring
from emulator.protocols.overlays.cliques.parameters import CliqueParameters


class MemberContext:
    """All parts of the overlay at one server share it."""

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
