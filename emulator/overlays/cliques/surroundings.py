"""What one server has to go by: its world, the cliques that it knows of, the round trips that it measured."""

from __future__ import annotations

from emulator.overlays.cliques.arrangement import Bounds
from emulator.overlays.cliques.directory import Directory
from emulator.overlays.cliques.measuring import Measuring
from emulator.overlays.cliques.parameters import CliqueParameters
from emulator.protocol import Environment


class Surroundings:
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
