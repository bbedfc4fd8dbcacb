"""What workers listen to."""

import uuid

from celery import shared_task

from planner.datasets.calibrating import calibration_compute, calibration_settle
from planner.datasets.jobs import work_on
from planner.datasets.measurements import measurement_compare
from planner.datasets.messages import CALIBRATE, COMPARE
from planner.datasets.models import Calibration, Measurement


@shared_task(name=COMPARE)
def compare(measurement_id: str) -> None:
    """Sets a measurement beside its prediction if that waits; a doubled or late message does nothing."""
    work_on(Measurement, uuid.UUID(measurement_id), measurement_compare)


@shared_task(name=CALIBRATE)
def calibrate(calibration_id: str) -> None:
    """Fits a calibration if that waits; a doubled or late message does nothing."""
    work_on(Calibration, uuid.UUID(calibration_id), calibration_compute, calibration_settle)
