"""What a measured row means: parallelism, formats, limits, load and lengths as its source uses the words."""

from dataclasses import replace

import pytest

from planner.planning.validation.rows import MeasuredRow, read_measured
from planner.planning.validation.setups import row_setup
from planner.planning.validation.troubled import metric_trouble, row_trouble
from planner.planning.validation.unusable import Unusable

COLUMNS = (
    "id,model,gpu,n_gpus,tp,pp,ep,dp,engine,engine_version,weight_dtype,isl_mean,osl_mean,length_distribution,"
    "load_type,load_value,note"
)


def measured(**changes: object) -> MeasuredRow:
    content = f"{COLUMNS}\nx-1,Llama-3.3-70B,H100-SXM-80GB,4,4,1,,,vLLM,0.15.1,fp8,1000,500,fixed,concurrency,16,\n"
    (row,) = read_measured(content.encode()).rows
    return replace(row, **changes)  # type: ignore[arg-type]


def test_a_plain_row_becomes_its_deployment_and_load() -> None:
    setup = row_setup(measured())
    assert setup.deployment.parallelism.tp == 4
    assert (setup.load.kind, setup.load.in_flight, setup.load.requests) == ("closed", 16, 160)
    assert setup.lanes == 1


def test_stated_limits_win_over_the_profiles() -> None:
    deployment = row_setup(measured(max_num_seqs=99, max_num_batched_tokens=1234)).deployment
    assert (deployment.max_num_seqs, deployment.max_num_batched_tokens) == (99, 1234)


def test_dep_rows_are_attention_data_parallel() -> None:
    row = measured(id="trt12-m-dep", source="trt12", model="gpt-oss-120b", engine="TensorRT-LLM", weight_dtype="mxfp4")
    setup = row_setup(row)
    spread = setup.deployment.parallelism
    assert (spread.tp, spread.dp, spread.ep) == (1, 4, 4)
    assert setup.lanes == 4


def test_sglang_dp_beside_equal_tp_is_attention_data_parallelism() -> None:
    spread = row_setup(measured(model="DeepSeek-R1", gpu="B200-180GB", engine="SGLang", dp=4)).deployment.parallelism
    assert (spread.tp, spread.dp) == (1, 4)


def test_a_pipeline_is_lanes_of_equal_share() -> None:
    setup = row_setup(measured(tp=2, pp=2))
    assert setup.lanes == 2


def test_parallelism_that_does_not_multiply_is_refused() -> None:
    with pytest.raises(Unusable, match="does not multiply"):
        row_setup(measured(n_gpus=8))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gpu": "MI300X+MI325X"}, "GPU mixed"),
        ({"gpu": "abacus"}, "GPU not in the catalog"),
        ({"model": "no such model at all"}, "model not in the catalog"),
        ({"engine": "Mango"}, "engine not modelled"),
        ({"weight_dtype": ""}, "weight dtype not stated"),
        ({"prompt_tokens": None}, "lengths not stated"),
        ({"load_value": None}, "load not stated"),
        ({"load_type": "decode-only, per GPU"}, "load type not simulated"),
        ({"tp": None, "n_gpus": 8}, "parallelism not stated"),
    ],
)
def test_what_a_row_does_not_say_is_a_reason(changes: dict[str, object], reason: str) -> None:
    with pytest.raises(Unusable, match=reason):
        row_setup(measured(**changes))


def test_the_number_of_requests_comes_from_the_note() -> None:
    row = measured(load_type="offline-max", note="trtllm-bench; num_requests=1500 in the whole run")
    assert (row_setup(row).load.kind, row_setup(row).load.requests) == ("burst", 1500)


def test_an_infinite_rate_is_a_burst() -> None:
    row = measured(load_type="request_rate", load_value=float("inf"), note="500 requests")
    assert (row_setup(row).load.kind, row_setup(row).load.requests) == ("burst", 500)


def test_quantised_tensorrt_checkpoints_carry_an_fp8_cache() -> None:
    row = measured(id="trt020-1", source="trt020", engine="TensorRT-LLM")
    assert row_setup(row).deployment.kv_dtype == "fp8"
    assert row_setup(measured()).deployment.kv_dtype == "bf16"


def test_troubled_rows_are_named_by_rule() -> None:
    assert row_trouble(measured()) is None
    assert row_trouble(measured(source="ixexp")) is not None
    assert row_trouble(measured(source="gpustack", output_tokens=4.0)) == "client was the limit"
    only_ttft = measured(source="gpustack", model="Qwen3.5-9B")
    assert row_trouble(only_ttft) is None
    assert metric_trouble(only_ttft, "ttft_closed") is not None
    assert metric_trouble(only_ttft, "tpot") is None
