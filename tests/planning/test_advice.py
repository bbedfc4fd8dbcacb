"""Advice of a plan: manifests of the right form, thresholds from the plan, a load test that is long enough."""

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from planner.planning import parse_scenario, plan
from tests.planning.scenarios import changed

Label = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]


class Form(BaseModel):
    """The part of an object's schema that these manifests use; anything else is an error."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)


class Meta(Form):
    name: Label
    labels: dict[str, str]


class PodMeta(Form):
    labels: dict[str, str]


class HttpGet(Form):
    path: Annotated[str, Field(pattern="^/")]
    port: Annotated[int, Field(ge=1, le=65_535)]


class Probe(Form):
    http_get: HttpGet
    period_seconds: Annotated[int, Field(ge=1)]
    failure_threshold: Annotated[int, Field(ge=1)]


class ContainerPort(Form):
    name: Label
    container_port: Annotated[int, Field(ge=1, le=65_535)]


class Resources(Form):
    limits: dict[str, Annotated[str, Field(pattern=r"^\d+$")]]
    requests: dict[str, Annotated[str, Field(pattern=r"^\d+$")]]


class Mount(Form):
    name: Label
    mount_path: str


class Container(Form):
    name: Label
    image: Annotated[str, Field(pattern=r"^[a-z0-9./-]+:[\w.-]+$")]
    command: list[str]
    args: list[str]
    ports: list[ContainerPort]
    resources: Resources
    startup_probe: Probe
    readiness_probe: Probe
    liveness_probe: Probe
    volume_mounts: list[Mount]


class EmptyDir(Form):
    medium: Literal["Memory"]


class Volume(Form):
    name: Label
    empty_dir: EmptyDir


class PodSpec(Form):
    termination_grace_period_seconds: Annotated[int, Field(ge=0)]
    containers: Annotated[list[Container], Field(min_length=1)]
    volumes: list[Volume]


class Template(Form):
    metadata: PodMeta
    spec: PodSpec


class RollingUpdate(Form):
    max_unavailable: int
    max_surge: int


class Strategy(Form):
    type: Literal["RollingUpdate"]
    rolling_update: RollingUpdate


class Selector(Form):
    match_labels: dict[str, str]


class DeploymentSpec(Form):
    replicas: Annotated[int, Field(ge=1)]
    selector: Selector
    strategy: Strategy
    template: Template


class Deployment(Form):
    api_version: Literal["apps/v1"]
    kind: Literal["Deployment"]
    metadata: Meta
    spec: DeploymentSpec


class ServicePort(Form):
    name: Label
    port: int
    target_port: int


class ServiceSpec(Form):
    selector: dict[str, str]
    ports: list[ServicePort]


class Service(Form):
    api_version: Literal["v1"]
    kind: Literal["Service"]
    metadata: Meta
    spec: ServiceSpec


class Target(Form):
    name: Label


class TriggerMeta(Form):
    server_address: Annotated[str, Field(pattern="^http://")]
    query: str
    threshold: Annotated[str, Field(pattern=r"^[\d.e+-]+$")]


class Trigger(Form):
    type: Literal["prometheus"]
    metric_type: Literal["AverageValue", "Value"]
    metadata: TriggerMeta


class ScaledSpec(Form):
    scale_target_ref: Target
    min_replica_count: Annotated[int, Field(ge=1)]
    max_replica_count: Annotated[int, Field(ge=1)]
    cooldown_period: int
    polling_interval: int
    advanced: dict[str, Any]
    triggers: Annotated[list[Trigger], Field(min_length=1)]


class Scaled(Form):
    api_version: Literal["keda.sh/v1alpha1"]
    kind: Literal["ScaledObject"]
    metadata: Meta
    spec: ScaledSpec


def document(**changes):
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [2]}
    scenario["slo"] = {"ttft_p95_ms": 1000, "tpot_p95_ms": 60}
    return scenario | changes


@pytest.fixture(scope="module")
def report():
    return plan(parse_scenario(document()))


def test_manifests_hold_the_plan_and_keep_to_their_schemas(report):
    deployment, service, scaled = report["advice"]["kubernetes"]
    parsed, served, rule = Deployment(**deployment), Service(**service), Scaled(**scaled)
    best = report["recommended"]
    container = parsed.spec.template.spec.containers[0]
    assert parsed.spec.replicas == best["replicas"]
    assert container.resources.limits["nvidia.com/gpu"] == "2"
    assert " ".join(container.command) == best["commands"]["vllm"]
    assert container.image.endswith(best["engine"]["version"])
    startup = container.startup_probe
    assert startup.period_seconds * startup.failure_threshold >= 300  # no restart while the weights load
    assert parsed.spec.selector.match_labels == parsed.spec.template.metadata.labels == served.spec.selector
    assert rule.spec.scale_target_ref.name == parsed.metadata.name
    assert rule.spec.min_replica_count <= best["replicas"] <= rule.spec.max_replica_count
    queries = " ".join(trigger.metadata.query for trigger in rule.spec.triggers)
    for metric in ("num_requests_waiting", "kv_cache_usage", "time_to_first_token", "inter_token_latency"):
        assert metric in queries
    assert json.loads(json.dumps(deployment)) == deployment


def test_a_replica_over_several_nodes_has_no_plain_deployment():
    scenario = document(model={"id": "deepseek-ai/DeepSeek-R1"})
    scenario["hardware"] = {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [8], "pipeline_parallel": [2]}
    scenario["slo"] = {"ttft_p95_ms": 10_000, "tpot_p95_ms": 200}
    report = plan(parse_scenario(scenario))
    assert report["recommended"]["pp"] == 2
    assert report["advice"]["kubernetes"] == []


def test_alarms_sound_before_the_targets_are_missed(report):
    rows = {row["key"]: row for row in report["advice"]["watch"]}
    assert rows["ttft"]["threshold"] == pytest.approx(0.8)
    assert rows["tpot"]["threshold"] == pytest.approx(0.048)
    assert 0.5 <= rows["kv"]["threshold"] <= 0.9
    capacity = report["load"]["capacity_rps"] / report["recommended"]["serving_replicas"]
    assert 1 <= rows["queue"]["threshold"] <= max(1, capacity)  # within the second that a request may wait


def test_limits_let_the_plan_through(report):
    limits = {row["key"]: row["value"] for row in report["advice"]["limits"]}
    serving = report["recommended"]["serving_replicas"]
    assert limits["in_flight"] > report["load"]["concurrency_mean"] / serving
    assert 1 <= limits["tenant"] <= limits["in_flight"] * serving


def test_failure_modes_are_told_by_what_the_plan_shows(report):
    modes = report["advice"]["failure_modes"]
    near = {mode["key"]: mode["near"] for mode in modes}
    assert [mode["near"] for mode in modes] == sorted((mode["near"] for mode in modes), reverse=True)
    assert near["slow_links"]  # L40S have no switched fabric
    assert near["cold_prefix_cache"] == (report["load"]["cache_hit_ratio"] > 0.1)
    assert near["targets_by_a_hair"] == (report["uncertainty"]["slo_probability_ratio"] < 0.8)
    assert near["preemption_storm"] == (report["load"]["kv_peak_ratio"] > 0.85)
    assert near["fixed_lengths"]


def test_the_load_test_crosses_the_capacity_and_lasts_long_enough(report):
    test = report["advice"]["load_test"]
    capacity = report["load"]["capacity_rps"] / report["recommended"]["serving_replicas"]
    ratios = [step["capacity_ratio"] for step in test["steps"]]
    assert ratios == sorted(ratios)
    assert ratios[0] < 1 < ratios[-1]
    for step in test["steps"]:
        assert step["rate_rps"] == pytest.approx(step["capacity_ratio"] * capacity, rel=1e-4)
        assert step["requests"] >= 400
        assert step["should_pass"] == (step["capacity_ratio"] <= 1)
    assert test["gpu_hours"] == pytest.approx(2 * test["hours"], rel=1e-4)
    assert "vllm bench serve" in test["command"]
    assert "--random-prefix-len 300" in test["command"]
    assert f"--random-input-len {round(report['load']['prompt_tokens_mean']) - 300}" in test["command"]
