"""The emulator. Whatever imports a part of it finds the compiled protocols first, where there are any."""

from emulator.compiler import finder as finder
