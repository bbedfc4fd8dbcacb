"""What a run of a file becomes before it is simulated: its load as the file tells it, and never a guess."""

import json
from typing import Any

import pytest

from planner.planning.calibration.deployment import read_deployment
from planner.planning.calibration.predicting import compare_measurement, engine_figures
from planner.planning.calibration.runs import NotKnown, measured_run
from planner.planning.errors import ScenarioInvalid
from planner.planning.importers import bytes_source, open_source
from planner.planning.measurements import Measurement, Run, read_measurement
from planner.planning.measurements.bench_serving import bench_serving_run
from planner.planning.measurements.checks import add_checks, with_duration
from planner.planning.validation.runs import draw_lengths
from tests.factories_of_own import MODEL, of
from tests.load_tests import DEPLOYMENT, bench_run, bench_serving, measured
from tests.planning.measurements.test_servers import METRICS, VLLM_LOG


def run(in_flight: int = 16, **changes: Any) -> Run:
    return add_checks(bench_serving_run(bench_run(in_flight, tpot_ms=9.0, ttft_ms=90.0, **changes)))


def read(text: str) -> Measurement:
    found = read_measurement(open_source(bytes_source(text.encode())))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "kind", "in_flight", "rate_rps"),
    [
        ({}, "closed", 16, 0.0),
        ({"request_rate": 5.0, "max_concurrency": None}, "poisson", 0, 5.0),
        ({"request_rate": 1.0, "max_concurrency": 512}, "poisson", 0, 1.0),  # the limit was never met
        ({"request_rate": 500.0, "max_concurrency": 16}, "closed", 16, 0.0),  # the limit paced it, not the rate
        ({"max_concurrency": None}, "burst", 0, 0.0),
    ],
    ids=["limit", "rate", "rate below the limit", "rate above it", "all at once"],
)
def test_a_load_is_what_paced_the_run(changes: dict[str, Any], kind: str, in_flight: int, rate_rps: float) -> None:
    load = measured(run(**changes)).setup.load
    assert (load.kind, load.in_flight, load.rate_rps) == (kind, in_flight, rate_rps)
    assert (load.prompt_tokens, load.output_tokens) == (1000, 200)


@pytest.mark.parametrize(
    "changes",
    [
        {"request_rate": None, "max_concurrency": None},
        {"total_input_tokens": None},
        {"total_output_tokens": 0},
        {"completed": 0},
        {"max_concurrency": 1_000_000},
        {"request_rate": 1e300, "max_concurrency": None},
        {"request_rate": 1e-300, "max_concurrency": None},
    ],
    ids=["no load", "no prompts", "no outputs", "none served", "too many", "too fast", "too slow"],
)
def test_what_the_file_leaves_open_is_said(changes: dict[str, Any]) -> None:
    with pytest.raises(NotKnown):
        measured(run(**changes))


def test_what_the_simulator_refuses_is_a_reason_of_that_run_alone() -> None:
    """Requests over months: their clock ends after 27 days. The other run is predicted all the same."""
    slow = run(request_rate=1e-3, max_concurrency=None, completed=4_000, total_input_tokens=4_000_000,
               total_output_tokens=800_000)  # fmt: skip
    _, deployment = read_deployment(DEPLOYMENT)
    told = compare_measurement(Measurement("vllm_bench_serve", "", [slow, run()]), deployment)
    assert "out_of_range" in told["runs"][0]["reason"]
    assert told["runs"][1]["figures"]


def test_answers_that_were_not_streamed_have_no_ttft() -> None:
    whole = run(mean_ttft_ms=1880.0, mean_tpot_ms=0.1)
    assert {figure.metric for figure in measured(whole).figures} == {"e2e", "throughput"}


def test_a_run_survives_being_stored() -> None:
    for each in (run(), run(max_concurrency=None), run(request_rate=5.0)):
        stored = json.loads(json.dumps(each.as_dict()))
        assert Run.of(stored).as_dict() == each.as_dict()
        assert measured(Run.of(stored)).setup.load == measured(each).setup.load
    file = read(bench_serving(bench_run(4, tpot_ms=7.0, ttft_ms=60.0)).decode())
    assert Measurement.of(json.loads(json.dumps(file.as_dict()))).as_dict() == file.as_dict()


def test_hours_of_a_server_are_predicted_at_their_own_rate() -> None:
    """A range query: 360 requests of 1000 tokens in and 101 out in an hour."""

    def series(name: str, total: float, **labels: str) -> dict[str, Any]:
        return {
            "metric": {"__name__": f"vllm:{name}", "model_name": "m", **labels},
            "values": [[0, "0"], [3600, str(total)]],
        }

    result = [
        series("prompt_tokens_total", 360_000),
        series("generation_tokens_total", 36_360),
        series("request_success_total", 360),
    ]
    for name, mean_s in (("time_to_first_token_seconds", 0.05), ("e2e_request_latency_seconds", 0.75)):
        result += [series(f"{name}_sum", 360 * mean_s), series(f"{name}_count", 360)]
        result += [series(f"{name}_bucket", 360, le=bound) for bound in ("1.0", "+Inf")]
    file = read(json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}))
    _, deployment = read_deployment(DEPLOYMENT)
    told = compare_measurement(file, deployment)
    assert told["runs"][0]["load"] == "0.1 requests/s, 1000 tokens in, 101 out"
    figures = {figure["metric"]: figure for figure in told["runs"][0]["figures"]}
    assert set(figures) == {"ttft", "tpot", "e2e"}
    assert figures["tpot"]["measured"] == pytest.approx(7.0)
    assert figures["tpot"]["predicted"] == pytest.approx(7.0, rel=0.2)


def test_counters_since_the_start_have_no_rate_and_are_not_predicted() -> None:
    _, deployment = read_deployment(DEPLOYMENT)
    told = compare_measurement(read(METRICS), deployment)
    assert told["runs"][0]["figures"] == []
    assert "neither a rate nor requests in flight" in told["runs"][0]["reason"]


def test_an_engines_own_memory_stands_beside_the_plan() -> None:
    _, deployment = read_deployment(
        {"model": "meta-llama/Llama-3.3-70B-Instruct", "gpu": "H200-SXM-141GB", "tensor_parallel": 1,
         "engine": "vllm", "weight_dtype": "fp8", "measured_on": "2026-11-02"}
    )  # fmt: skip
    row = engine_figures(read(VLLM_LOG).server, deployment)[0]
    assert row["measured"] == 200_016
    assert abs(row["error_pct"]) < 15


def test_a_deployment_of_the_teams_own_model_is_known_and_a_typed_one_is_not() -> None:
    said, deployment = read_deployment({**DEPLOYMENT, "model": "our-8b"}, of(MODEL))
    assert said.model == deployment.model.id == "our-8b"
    with pytest.raises(ScenarioInvalid) as caught:
        read_deployment({**DEPLOYMENT, "model": "our-8b"})
    assert [error.pointer for error in caught.value.errors] == ["/model"]


def test_a_size_that_does_not_divide_the_heads_is_refused() -> None:
    with pytest.raises(ScenarioInvalid) as caught:
        read_deployment({**DEPLOYMENT, "tensor_parallel": 3})
    assert [error.pointer for error in caught.value.errors] == ["/tensor_parallel"]


def test_a_run_on_a_deployment_that_cannot_hold_it_has_a_reason() -> None:
    _, small = read_deployment({**DEPLOYMENT, "model": "meta-llama/Llama-3.3-70B-Instruct", "gpu": "L4"})
    told = compare_measurement(Measurement("vllm_bench_serve", "", [run()]), small)
    assert told["runs"][0]["reason"] == "Not predicted: model does not fit by our memory model."
    assert measured_run(run(), "vllm_bench_serve", small, "x").in_flight == 16


def test_lengths_of_single_requests_are_drawn_where_a_file_has_them() -> None:
    """Long prompts among short ones make others wait: at a rate, the mean length alone says too little."""
    lengths = [100] * 90 + [10_000] * 10
    rate = {"request_rate": 8.0, "max_concurrency": None, "completed": 100, "num_prompts": 100,
            "total_input_tokens": sum(lengths), "total_output_tokens": 20_000}  # fmt: skip
    alike, mixed = (measured(run(**rate, **more)) for more in ({}, {"input_lens": lengths, "output_lens": [200] * 100}))
    load = mixed.setup.load
    assert (alike.setup.load.lengths, load.lengths) == ("fixed", "histogram")
    prompts, outputs = draw_lengths(load, 2_000)
    assert all(min(abs(tokens / 100 - 1), abs(tokens / 10_000 - 1)) < 0.2 for tokens in prompts.tolist())
    assert prompts.mean() == pytest.approx(1_090, rel=0.01)
    assert set(outputs.tolist()) <= {199, 200, 201}
    assert mixed.predict().ttft_ms > 1.5 * alike.predict().ttft_ms
    assert {figure.statistic for figure in mixed.figures if figure.metric == "ttft"} == {"mean"}


def test_a_histogram_ends_where_all_requests_are_in() -> None:
    file = read(
        METRICS
        + "".join(
            f'vllm:request_{name}_tokens_bucket{{le="{le}"}} {count}\n'
            for name in ("prompt", "generation")
            for le, count in (("100", 40), ("2000", 100), ("5000000", 100), ("+Inf", 100))
        )
    )
    load = measured_run(with_duration(file.runs[0], 60.0), file.format, read_deployment(DEPLOYMENT)[1], "x").setup.load
    assert load.histograms is not None
    assert [side[-1] for side in load.histograms] == [(2000.0, 100.0)] * 2
