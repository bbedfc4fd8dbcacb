"""A row's response gives what simulating the row gives, for any constants."""

from copy import deepcopy

import pytest

from costmodel.steptime import shipped_constants
from planner.planning.fitting.observations import Observations, observations
from planner.planning.fitting.responses import OpenResponse, Response, open_response, response
from planner.planning.validation.rows import read_measured
from planner.planning.validation.runs import Prediction, predict
from planner.planning.validation.setups import RowSetup, row_setup

HEADER = (
    "id,model,gpu,n_gpus,tp,engine,engine_version,weight_dtype,isl_mean,osl_mean,length_distribution,load_type,"
    "load_value,output_tok_s,ttft_mean_ms,tpot_mean_ms,trust\n"
)
ROWS = {
    "closed": "aic-1,Llama-3.1-8B,H100-SXM-80GB,1,1,vLLM,0.15.1,bf16,512,64,fixed,concurrency,12,,40,8,gold",
    "drawn": "aic-2,gpt-oss-20b,B200-180GB,1,1,SGLang,0.5.9,mxfp4,700,50,InferenceX,concurrency,7,,40,8,gold",
    "burst": "trt10-3,Llama-3.1-8B,H100-SXM-80GB,1,1,TensorRT-LLM,1.0,fp8,300,32,fixed,offline-max,,9000,,,gold",
    "batch": "trt09-4,Llama-2-7B,A100-SXM-80GB,1,1,TensorRT-LLM,0.9.0,fp16,128,40,fixed,static_batch,24,900,,,gold",
}
OPEN = "blis-5,Llama-3.1-8B,H100-SXM-80GB,1,1,vLLM,0.15.1,bf16,512,64,fixed,request_rate,0.5,,40,8,gold"


def setup_of(line: str) -> RowSetup:
    (row,) = read_measured((HEADER + line + "\n").encode()).rows
    return row_setup(row)


def other_constants() -> dict:
    """Half as fast in some parts, twice in others: nothing small."""
    document = deepcopy(shipped_constants())
    document["common"]["gemm_tile_area"] *= 3
    document["common"]["request_token_us"] = 40.0
    for engine in document["engine"].values():
        engine["layer_us"] *= 2
        engine["sequence_us"] *= 0.3
        engine["prefill_us"] *= 4
        engine["prefill_layer_us"] *= 5
    for silicon in document["generation"].values():
        silicon["bandwidth_share"] = 0.5
    return document


def figures_of(found: Observations, document: dict) -> dict[str, float]:
    return dict(zip(found.metric.tolist(), found.predicted(document).tolist(), strict=True))


def open_row() -> tuple[RowSetup, OpenResponse]:
    setup = setup_of(OPEN)
    return setup, open_response(setup, shipped_constants())


def simulated(prediction: Prediction, metric: str) -> float:
    named = {"throughput": prediction.throughput_tok_s, "tpot": prediction.tpot_ms}
    return float(named.get(metric, prediction.ttft_ms))


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("constants", [shipped_constants, other_constants], ids=["shipped", "others"])
def test_any_constants_give_what_a_simulation_with_them_gives(kind: str, constants) -> None:
    setup = setup_of(ROWS[kind])
    found = observations([(setup, response(setup)), open_row()])
    predicted = figures_of(found, constants())
    expected = predict(setup, constants())
    counted = {"throughput"} if setup.load.kind in ("burst", "static") else {"tpot", "ttft_closed"}
    assert counted <= set(predicted)
    for metric in counted - {"tpot"}:
        assert predicted[metric] == pytest.approx(simulated(expected, metric), rel=0.01), metric


def test_a_response_counts_each_steps_parts() -> None:
    made = response(setup_of(ROWS["batch"]))
    makespan = 0
    # One prefill of 24 prompts, then 39 steps that decode 24 sequences; knots lie on both sides of 3072 tokens.
    assert made.per_part[0][makespan] == pytest.approx(39 * 24)
    assert made.per_part[3][makespan] == pytest.approx(24)
    assert made.per_part[4][makespan] == pytest.approx(1)
    assert made.per_part[2][makespan] == pytest.approx(24 * 128 * 129 / 2)
    assert made.per_knot[:, makespan].sum() == pytest.approx(40, rel=1e-6)


def test_an_open_loop_is_straight_about_the_constants_it_was_made_with() -> None:
    setup, made = open_row()
    found = observations([(setup_of(ROWS["closed"]), response(setup_of(ROWS["closed"]))), (setup, made)])
    expected = predict(setup)
    here = found.predicted(shipped_constants())[-2:]
    assert sorted(here) == pytest.approx(sorted([expected.tpot_ms, expected.ttft_ms]), rel=1e-6)
    near = deepcopy(shipped_constants())
    near["engine"]["vllm"]["layer_us"] *= 1.1
    near["engine"]["vllm"]["request_ms"] *= 0.8
    moved = predict(setup, near)
    there = found.predicted(near)[-2:]
    assert sorted(there) == pytest.approx(sorted([moved.tpot_ms, moved.ttft_ms]), rel=0.01)


def test_a_response_is_closed_or_open_by_its_load() -> None:
    assert isinstance(response(setup_of(ROWS["closed"])), Response)
    assert isinstance(open_row()[1], OpenResponse)
