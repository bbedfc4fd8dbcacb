"""What deploy/kubernetes promises, by reading it; with `kubernetes-validate` against the published schemas too."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from planner.core.exposition import exposition
from planner.runs.observed import database_families
from planner.settings.env import Env
from tests.deployment.compose import compose
from tests.processes import ROOT

FOLDER = ROOT / "deploy" / "kubernetes"
SCHEMAS_OF = "1.34"
Document = Mapping[str, Any]


def read(folder: str) -> list[Document]:
    """The objects of a folder; files that kustomize reads itself are none."""
    files = [path for path in sorted((FOLDER / folder).glob("*.yaml")) if path.name != "kustomization.yaml"]
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


BASE = read("base")
EVERYTHING = [*BASE, *read("autoscaling"), *read("example")]


def of_kind(kind: str) -> dict[str, Document]:
    return {each["metadata"]["name"]: each for each in EVERYTHING if each["kind"] == kind}


PODS = {
    name: each["spec"]["template"] for kind in ("Deployment", "Job") for name, each in sorted(of_kind(kind).items())
}
each_pod = pytest.mark.parametrize("name", PODS)


def container(name: str) -> Document:
    (only,) = PODS[name]["spec"]["containers"]
    return dict(only)


@each_pod
def test_pods_are_read_only_powerless_and_nobody(name: str) -> None:
    spec = PODS[name]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] == 10001  # as in the image
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    for each in (*spec["containers"], *spec.get("initContainers", ())):
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@each_pod
def test_pods_have_limits_and_only_what_is_mounted_can_be_written(name: str) -> None:
    resources = container(name)["resources"]
    assert set(resources) == {"requests", "limits"}
    assert all(set(part) == {"cpu", "memory"} for part in resources.values())
    volumes = {volume["name"]: volume for volume in PODS[name]["spec"]["volumes"]}
    mounts = {mount["name"]: mount for mount in container(name)["volumeMounts"]}
    assert set(mounts) == set(volumes)
    assert {mounts[each]["mountPath"] for each in ("data", "tmp")} == {"/data", "/tmp"}
    assert all("sizeLimit" in volume["emptyDir"] for volume in volumes.values() if "emptyDir" in volume)
    assert mounts["secrets"]["readOnly"] is True


@pytest.mark.parametrize("name", of_kind("Deployment"))
def test_what_selects_pods_finds_them(name: str) -> None:
    deployment = of_kind("Deployment")[name]
    wanted, labels = deployment["spec"]["selector"]["matchLabels"], deployment["spec"]["template"]["metadata"]["labels"]
    assert wanted.items() <= labels.items()
    for other in (*of_kind("PodDisruptionBudget").values(), *of_kind("Service").values()):
        selector = other["spec"]["selector"]
        chosen = selector.get("matchLabels", selector)
        if other["metadata"]["name"] == name:
            assert chosen == wanted


def test_commands_are_those_of_the_compose_file() -> None:
    def words(command: list[str]) -> set[str]:
        short = {"-A": "--app"}
        return {part for word in command for part in short.get(word, word).split("=", 1)}

    services = compose()["services"]
    for name in ("prepare", "web", "worker", "reaper"):
        assert words(container(f"staircase-{name}")["command"]) == words(services[name]["command"]), name


def test_probes_ask_by_an_allowed_host() -> None:
    config = of_kind("ConfigMap")["staircase-config"]["data"]
    web = container("staircase-web")
    asked = {
        probe: web[f"{probe}Probe"]["httpGet"]["path"].partition("?")[0]
        for probe in ("startup", "liveness", "readiness")
    }
    assert asked == {"startup": "/healthz", "liveness": "/healthz", "readiness": "/readyz"}
    for probe in asked:
        (header,) = web[f"{probe}Probe"]["httpGet"]["httpHeaders"]
        assert header["name"] == "Host"
        assert header["value"] in config["PLANNER_ALLOWED_HOSTS"].split(",")
    assert "livenessProbe" in container("staircase-worker")
    assert "livenessProbe" in container("staircase-reaper")


def test_every_variable_is_one_that_the_settings_know_and_none_is_secret() -> None:
    known = {f"PLANNER_{name.upper()}" for name in Env.model_fields} | {"PLANNER_SECRETS_DIR"}
    names = set(of_kind("ConfigMap")["staircase-config"]["data"])
    assert names <= known
    assert not [name for name in names if re.search("PASSWORD|SECRET_KEY|_URL|TOKEN", name)]


@pytest.mark.django_db
def test_workers_follow_a_metric_that_there_is() -> None:
    scaled = of_kind("ScaledObject")["staircase-worker"]["spec"]
    assert scaled["scaleTargetRef"]["name"] in of_kind("Deployment")
    (trigger,) = scaled["triggers"]
    wanted = set(re.findall(r"staircase_\w+", trigger["metadata"]["query"]))
    assert wanted == {"staircase_oldest_queued_run_age_seconds"}
    assert wanted <= set(re.findall(r"^(staircase_\w+)", exposition(database_families()), re.MULTILINE))


def test_nothing_reaches_what_is_not_meant_to_be_reached() -> None:
    policies = of_kind("NetworkPolicy")
    assert set(policies["staircase-closed"]["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert "ingress" not in policies["staircase-closed"]["spec"]
    assert [name for name, each in policies.items() if "ingress" in each["spec"]] == ["staircase-web"]
    (port,) = policies["staircase-web"]["spec"]["ingress"][0]["ports"]
    assert port["port"] in [each["name"] for each in container("staircase-web")["ports"]]


def listed(folder: str) -> Iterator[str]:
    document = yaml.safe_load((FOLDER / folder / "kustomization.yaml").read_text())
    yield from (*document.get("resources", ()), *document.get("components", ()))


@pytest.mark.parametrize("folder", ["base", "autoscaling", "example"])
def test_kustomizations_name_every_file_beside_them(folder: str) -> None:
    files = {path.name for path in (FOLDER / folder).glob("*.yaml")} - {"kustomization.yaml"}
    assert {name for name in listed(folder) if name.endswith(".yaml")} == files
    assert all((FOLDER / folder / name).exists() for name in listed(folder))


@pytest.mark.parametrize("document", EVERYTHING, ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_objects_keep_to_the_published_schemas(document: Document) -> None:
    if document["kind"] == "ScaledObject":
        pytest.skip("KEDA's schema is not among Kubernetes' own")
    validator = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    validator.validate(document, SCHEMAS_OF, strict=True)
