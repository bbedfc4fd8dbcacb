"""How long one engine step takes: counting, efficiencies, tables and the breakdown that shows the arithmetic."""

from costmodel.steptime.breakdown import step_time_parts
from costmodel.steptime.calibrated import deployment_constants, with_factors
from costmodel.steptime.constants import (
    ConstantKeys,
    StepConstants,
    constant_keys,
    held_out_constants,
    resolve_constants,
    shipped_constants,
)
from costmodel.steptime.floors import decode_floor_s, prefill_floor_s
from costmodel.steptime.shape import StepShape, step_shape
from costmodel.steptime.tables import StepTimeTables, step_time_tables

__all__ = [
    "ConstantKeys",
    "StepConstants",
    "StepShape",
    "StepTimeTables",
    "constant_keys",
    "decode_floor_s",
    "deployment_constants",
    "held_out_constants",
    "prefill_floor_s",
    "resolve_constants",
    "shipped_constants",
    "step_shape",
    "step_time_parts",
    "step_time_tables",
    "with_factors",
]
