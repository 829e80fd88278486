"""The platform and the clock of the sensors' tests."""

from tests.sensors.conftest import clock, instance, platform

__all__ = ["clock", "instance", "platform"]
