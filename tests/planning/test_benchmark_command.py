"""`manage.py benchmark`: the documented JSON, the table, names."""

import io
import json

import pytest
from django.core.management import call_command

FEW = "0.0005"  # share of the 100,000 requests of `peer`


def test_json_is_the_documented_object() -> None:
    printed = io.StringIO()
    call_command("benchmark", "peer", "--json", "--scale", FEW, stdout=printed)
    report = json.loads(printed.getvalue())
    assert list(report) == ["workloads"]
    (row,) = report["workloads"]
    assert (row["name"], row["requests"], row["output_tokens"]) == ("peer", 50, 50 * 128)
    assert 128 <= row["engine_steps"] <= 50 * (128 + 1)
    assert row["wall_s"] >= 0
    assert row["cpu_s"] >= 0
    assert row["requests_per_cpu_s"] >= 0
    assert row["peak_mib"] > 10


def test_without_json_a_table_names_every_workload_asked_for() -> None:
    printed = io.StringIO()
    call_command("benchmark", "peer", "chat", "--scale", FEW, stdout=printed)
    head, *rows = printed.getvalue().splitlines()
    assert "requests_per_cpu_s" in head
    assert [row.split()[0] for row in rows] == ["peer", "chat"]


def test_an_unknown_name_exits_2_and_lists_the_known_ones() -> None:
    printed, problem = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as stopped:
        call_command("benchmark", "peer", "nonesuch", "--json", stdout=printed, stderr=problem)
    assert stopped.value.code == 2
    assert "nonesuch" in problem.getvalue()
    assert "chat" in problem.getvalue()
    assert not printed.getvalue()
