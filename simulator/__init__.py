"""The provider simulator: real wire formats, signed webhooks, injected faults, and a log that is an oracle."""

from simulator.client import ControlClient, ControlError
from simulator.run import Simulator, SimulatorProcess
from simulator.webhooks import Delay, Webhooks

__all__ = ["ControlClient", "ControlError", "Delay", "Simulator", "SimulatorProcess", "Webhooks"]
