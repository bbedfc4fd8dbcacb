"""What things cost in bytes, milliseconds and money: accelerators, models, engines, memory."""

from costmodel.deployment import Deployment, Parallelism, make_deployment
from costmodel.engines import EngineProfile, engine_names, engine_profile
from costmodel.hardware import Accelerator
from costmodel.models import AttentionGroup, MlpGroup, ModelSpec
from costmodel.problems import DeploymentError, ModelConfigError, Problem, UnknownIdError

__all__ = [
    "Accelerator",
    "AttentionGroup",
    "Deployment",
    "DeploymentError",
    "EngineProfile",
    "MlpGroup",
    "ModelConfigError",
    "ModelSpec",
    "Parallelism",
    "Problem",
    "UnknownIdError",
    "engine_names",
    "engine_profile",
    "make_deployment",
]
