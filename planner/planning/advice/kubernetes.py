"""Kubernetes manifests of the serving fleet: deployment with probes, service, and an autoscaling rule.

JSON, which kubectl takes like YAML. The rule is KEDA's ScaledObject over Prometheus: queue, KV use and latency, not GPU
utilisation, which is near one whenever anybody is served.
"""

from __future__ import annotations

import math
import re
import shlex
from typing import Any

from planner.planning.money.bills import FleetBill
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized

IMAGES = {"vllm": "vllm/vllm-openai:v{version}", "sglang": "lmsysorg/sglang:v{version}"}
PORT = 8000
PROBE_PERIOD_S = 10
GRACE_S = 120
PROMETHEUS = "http://prometheus.monitoring.svc:9090"
"""An address to be changed to one's own."""


def manifests(
    job: Job, size: Sized, bill: FleetBill, commands: dict[str, str], pools: list[dict[str, Any]],
    watch: list[dict[str, Any]],
) -> list[dict[str, Any]]:  # fmt: skip
    """Deployment, Service and ScaledObject, or a deployment and a service of each pool (rows of `pool_rows`), with the
    replicas that the bill has; none for an engine without an image here or a replica over several nodes,
    which needs a controller that starts its nodes together (LeaderWorkerSet)."""
    candidate, engine = size.candidate, job.profile
    gpus = candidate.gpus_per_replica
    if engine.name not in IMAGES or gpus > candidate.gpu.accelerator.gpus_per_node:
        return []
    name = _name(job.model.id)
    labels = {"app": name}
    image = IMAGES[engine.name].format(version=engine.version)
    if pools:
        return [
            document
            for row in pools
            for document in _pool(job, name, row["role"], image, commands[engine.name], gpus, row["replicas"])
        ]
    return [
        _deployment(job, name, labels, image, commands[engine.name], gpus, bill.cost.replicas),
        _service(name, labels),
        _scaled(job, size, name, labels, watch, bill),
    ]


def _pool(job: Job, name: str, role: str, image: str, command: str, gpus: int, replicas: int) -> list[dict[str, Any]]:
    """A deployment and a service of one role: a router sends prompts to one and has outputs made by the other. The
    spares stand in each, as Kubernetes moves no engine from one to the other."""
    own = f"{name}-{role}"
    labels = {"app": name, "role": role}
    return [_deployment(job, own, labels, image, command, gpus, replicas), _service(own, labels)]


def _service(name: str, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"selector": labels, "ports": [{"name": "http", "port": 80, "targetPort": PORT}]},
    }


def _name(model_id: str) -> str:
    """A DNS label of the model's name."""
    label = re.sub(r"[^a-z0-9]+", "-", model_id.rsplit("/", 1)[-1].lower()).strip("-")
    return (label or "model")[:50].strip("-")


def _deployment(
    job: Job, name: str, labels: dict[str, str], image: str, command: str, gpus: int, replicas: int
) -> dict[str, Any]:
    ready_s = job.scenario.billing.ready_s
    probe = {"httpGet": {"path": "/health", "port": PORT}, "periodSeconds": PROBE_PERIOD_S}
    words = shlex.split(command)
    container = {
        "name": "server",
        "image": image,
        "command": words,
        "args": ["--host", "0.0.0.0", "--port", str(PORT)],  # noqa: S104  (inside its own pod)
        "ports": [{"name": "http", "containerPort": PORT}],
        "resources": {"limits": {"nvidia.com/gpu": str(gpus)}, "requests": {"nvidia.com/gpu": str(gpus)}},
        "startupProbe": probe | {"failureThreshold": max(6, math.ceil(3 * ready_s / PROBE_PERIOD_S))},
        "readinessProbe": probe | {"failureThreshold": 3},
        "livenessProbe": probe | {"failureThreshold": 6},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "terminationGracePeriodSeconds": GRACE_S,
                    "containers": [container],
                    "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
                },
            },
        },
    }


def _scaled(
    job: Job, size: Sized, name: str, labels: dict[str, str], watch: list[dict[str, Any]], bill: FleetBill
) -> dict[str, Any]:
    """Between what the quietest hour needs and half more than the plan, spares included."""
    spares = bill.running.terms.spare_replicas
    least = max(1, math.ceil(float(job.load.week_rps.min()) / size.capacity_rps))
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "scaleTargetRef": {"name": name},
            "minReplicaCount": least + spares,
            "maxReplicaCount": max(least, math.ceil(1.5 * (bill.cost.replicas - spares))) + spares,
            "cooldownPeriod": 3600,
            "pollingInterval": 15,
            "advanced": {
                "horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 1800}}}
            },
            "triggers": [_trigger(row) for row in watch if row["key"] in ("queue", "kv", "ttft", "tpot")],
        },
    }


def _trigger(row: dict[str, Any]) -> dict[str, Any]:
    """Sums over replicas scale by their mean (AverageValue), ratios and times by their value."""
    summed = row["key"] == "queue"
    query = f"sum({row['query']})" if summed else f"avg({row['query']})" if row["key"] == "kv" else row["query"]
    return {
        "type": "prometheus",
        "metricType": "AverageValue" if summed else "Value",
        "metadata": {"serverAddress": PROMETHEUS, "query": query, "threshold": f"{row['threshold']:.4g}"},
    }
