"""The messages that wake workers for measurements and calibrations; losing or doubling one harms nothing."""

COMPARE = "planner.datasets.compare"
CALIBRATE = "planner.datasets.calibrate"
