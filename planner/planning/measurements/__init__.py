"""Results of load tests and of running servers: read from many tools' files, in one set of definitions."""

from planner.planning.measurements.definitions import DEFINITIONS, definitions_for
from planner.planning.measurements.recognise import read_measurement
from planner.planning.measurements.result import Check, Measurement, Run

__all__ = ["DEFINITIONS", "Check", "Measurement", "Run", "definitions_for", "read_measurement"]
