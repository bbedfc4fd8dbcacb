"""The measured source of step times: arithmetic with a double, names, cache; and the package itself where it is."""

from dataclasses import replace
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from costmodel.steptime import silicon, step_time_tables
from costmodel.steptime.silicon import SiliconMissingError, silicon_step_time_tables, silicon_version
from costmodel.steptime.silicon_curve import pairs_of, sample_curve
from costmodel.steptime.silicon_names import (
    BUNDLED_MODELS,
    EXPERT_MODES,
    GEMM_MODES,
    MXFP4_ON_FP4,
    SYSTEMS,
    SiliconRefusedError,
    SiliconRequest,
    silicon_request,
)
from tests.costmodel.builders import deploy

try:
    metadata.version(silicon.PACKAGE)
    INSTALLED = True
except metadata.PackageNotFoundError:
    INSTALLED = False


class Additive:
    """A source of exactly the table form: jumps every 64 tokens, 2 ms once per step with prefill."""

    pair_ms, context_ms, seat_ms, prefill_step_ms = 3e-7, 4e-6, 0.01, 2.0

    def dense_ms(self, tokens: int) -> float:
        return 5.0 + 0.3 * -(-tokens // 64)

    def predict_prefill_latency(self, bs: int, isl: int) -> float:
        return self.dense_ms(bs * isl) + self.pair_ms * pairs_of(bs * isl, isl) + self.prefill_step_ms

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        return self.dense_ms(gen_tokens) + gen_tokens * (self.seat_ms + self.context_ms * isl)

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float:
        prefill_ms = self.pair_ms * pairs_of(ctx_tokens, isl) + self.prefill_step_ms
        decode_ms = gen_tokens * (self.seat_ms + self.context_ms * isl)
        return self.dense_ms(ctx_tokens + gen_tokens) + prefill_ms + decode_ms


class Curved(Additive):
    """Long contexts cost less per token than short ones."""

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        return self.dense_ms(gen_tokens) + 0.02 * (gen_tokens * isl) ** 0.5


def test_a_source_of_the_tables_form_comes_back_exactly() -> None:
    curve = sample_curve(Additive())
    assert curve.pair_ms == pytest.approx(Additive.pair_ms, rel=1e-6)
    assert np.allclose(curve.context_ms, Additive.context_ms, rtol=1e-6)
    assert max(curve.decode.p90_pct, curve.prefill.p90_pct) < 1e-6
    assert curve.mixed.p90_pct < 0.1  # one sequence's 0.01 ms stands in prefill_step or in seats: no sample can tell
    assert curve.step_ms(65, 1, 500, 0) - curve.step_ms(64, 1, 500, 0) == pytest.approx(0.3)


def test_decoding_that_is_quicker_than_prefilling_leaves_no_part_negative() -> None:
    curve = sample_curve(Additive())
    assert min(*curve.tokens_ms, *curve.seats_ms, *curve.context_ms, curve.prefill_step_ms) >= 0
    assert curve.prefill_step_ms == pytest.approx(Additive.prefill_step_ms - Additive.seat_ms)


def test_what_the_form_cannot_hold_is_stated() -> None:
    curve = sample_curve(Curved())
    assert 1 < curve.decode.median_pct < curve.decode.p90_pct
    assert curve.prefill.p90_pct < 1e-6


@pytest.mark.parametrize("step_ms", [0.0, -1.0, float("nan"), float("inf")])
def test_a_time_that_is_not_a_positive_number_is_refused(step_ms: float, tmp_path: Path) -> None:
    class Broken(Additive):
        def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
            return step_ms if gen_tokens == 64 else super().decode_step_latency(gen_tokens, isl, osl)

    with pytest.raises(SiliconRefusedError, match="package has no data"):
        silicon_step_time_tables(deploy(), tmp_path, version="1", compile_source=lambda request: (Broken(), ""))


def compiled(request: SiliconRequest) -> tuple[Additive, str]:
    return Additive(), "9.9"


def refusing(request: SiliconRequest) -> tuple[Additive, str]:
    raise AssertionError("asked again")


def test_tables_are_the_sources_steps_in_picoseconds() -> None:
    deployment = deploy(max_num_seqs=32, max_num_batched_tokens=2048)
    tables = silicon_step_time_tables(deployment, version="1", compile_source=compiled).tables
    assert (tables.tokens_ps.size, tables.seats_ps.size, tables.context_ps.size) == (2049, 33, 33)
    pairs = int(pairs_of(1024, 512))
    mixed = tables.step_ps(tokens=1048, decode_seqs=24, context_tokens=24 * 512, prefill_pairs=pairs, prefill_seqs=2)
    assert mixed == pytest.approx(Additive().mixed_step_latency(1024, 24, 512, 1) * 1e9, rel=2e-3)
    decode = tables.step_ps(tokens=5, decode_seqs=5, context_tokens=5000, prefill_pairs=0, prefill_seqs=0)
    assert decode == pytest.approx(Additive().decode_step_latency(5, 1000, 1) * 1e9, rel=1e-6)
    own = step_time_tables(deployment)
    assert (tables.request_ps, tables.request_token_ps) == (own.request_ps, own.request_token_ps)
    assert tables.step_ps(tokens=0, decode_seqs=0, context_tokens=0, prefill_pairs=0, prefill_seqs=0) == 0


def test_tables_longer_than_the_samples_go_on_in_a_straight_line() -> None:
    deployment = deploy(max_num_batched_tokens=200_000)
    tokens_ps = silicon_step_time_tables(deployment, version="1", compile_source=compiled).tables.tokens_ps
    assert tokens_ps[200_000] == pytest.approx(Additive().dense_ms(200_000) * 1e9, rel=0.01)
    assert (np.diff(tokens_ps) >= 0).all()


def test_a_cached_curve_is_read_again_for_the_same_version_only(tmp_path: Path) -> None:
    short, long = deploy(max_num_seqs=8), deploy(max_num_seqs=64)
    first = silicon_step_time_tables(short, tmp_path, version="1", compile_source=compiled)
    again = silicon_step_time_tables(long, tmp_path, version="1", compile_source=refusing)
    assert again.curve == first.curve
    assert again.provenance == first.provenance
    assert again.provenance["engine_version"] == "9.9"
    with pytest.raises(SiliconRefusedError):
        silicon_step_time_tables(short, tmp_path, version="2", compile_source=refusing)


@pytest.mark.parametrize("content", ["", "{}", '{"wanted": 1}', "[]"])
def test_a_broken_cache_file_is_sampled_again(tmp_path: Path, content: str) -> None:
    silicon_step_time_tables(deploy(), tmp_path, version="1", compile_source=compiled)
    (file,) = tmp_path.iterdir()
    file.write_text(content)
    silicon_step_time_tables(deploy(), tmp_path, version="1", compile_source=compiled)
    silicon_step_time_tables(deploy(), tmp_path, version="1", compile_source=refusing)


def test_a_refusal_of_the_package_is_kept_too(tmp_path: Path) -> None:
    def without_data(request: SiliconRequest) -> tuple[Additive, str]:
        raise LookupError("no such table")

    for source in (without_data, refusing):
        with pytest.raises(SiliconRefusedError) as refused:
            silicon_step_time_tables(deploy(), tmp_path, version="1", compile_source=source)
        assert (refused.value.reason, refused.value.detail) == ("package has no data (LookupError)", "no such table")


def test_experts_are_divided_over_all_ranks_of_a_stage() -> None:
    asked = silicon_request(deploy("Qwen3-30B-A3B", tp=2, dp=4, ep=4)).arguments
    assert (asked["tp_size"], asked["attention_dp_size"]) == (2, 4)
    assert (asked["moe_tp_size"], asked["moe_ep_size"]) == (2, 4)
    assert "moe_tp_size" not in silicon_request(deploy(tp=2)).arguments


def test_number_formats_follow_the_deployment() -> None:
    plain = silicon_request(deploy(weight_dtype="bf16")).arguments
    assert (plain["gemm_quant_mode"], plain["kvcache_quant_mode"]) == ("bfloat16", "bfloat16")
    engine = silicon_request(deploy(weight_dtype="fp8", kv_dtype="fp8", engine="tensorrt-llm"))
    assert (engine.backend, engine.arguments["fmha_quant_mode"]) == ("trtllm", "fp8")
    assert engine.arguments["gemm_quant_mode"] == "fp8_static"
    assert silicon_request(deploy("Qwen3-32B-FP8")).arguments["gemm_quant_mode"] == "fp8_block"
    oss = silicon_request(deploy("gpt-oss-120b"))
    assert (oss.bundled_model, oss.arguments["moe_quant_mode"]) == ("openai/gpt-oss-120b", "w4a16_mxfp4")
    blackwell = silicon_request(deploy("gpt-oss-120b", "b200", engine="tensorrt-llm"))
    assert blackwell.arguments["moe_quant_mode"] == "w4a8_mxfp4_mxfp8"


def test_plain_models_are_described_by_their_own_shapes() -> None:
    config = silicon_request(deploy("Mixtral-8x7B")).config
    assert config is not None
    assert (config["num_experts"], config["num_experts_per_tok"], config["moe_intermediate_size"]) == (8, 2, 14336)
    dense = silicon_request(deploy("Llama-3.1-70B")).config
    assert dense is not None
    assert (dense["num_hidden_layers"], dense["num_key_value_heads"], dense["intermediate_size"]) == (80, 8, 28672)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({"gpu": "mi300x"}, "accelerator not in the package"),
        ({"gpu": "A100-SXM4-40GB"}, "accelerator not in the package"),
        ({"model": "tiiuae/falcon-40b"}, "model's layers not described to the package"),
        ({"model": "google/gemma-2-9b-it"}, "model's layers not described to the package"),
        ({"model": "Mixtral-8x7B", "weight_dtype": "int8"}, "number format not in the package"),
    ],
)
def test_what_the_package_has_no_word_for_is_refused_with_the_reason(case: dict[str, str], reason: str) -> None:
    with pytest.raises(SiliconRefusedError) as refused:
        silicon_request(deploy(**case))  # type: ignore[arg-type]
    assert refused.value.reason == reason


def test_an_unknown_engine_is_refused() -> None:
    deployment = deploy()
    other = replace(deployment, profile=replace(deployment.profile, name="other"))
    with pytest.raises(SiliconRefusedError, match="engine not in the package"):
        silicon_request(other)


def test_without_the_package_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(SiliconMissingError, match=r"extra `silicon`.*requirements-silicon\.txt"):
        silicon_version()


@pytest.mark.silicon
@pytest.mark.skipif(not INSTALLED, reason="aiconfigurator-core (extra `silicon`) is not installed")
def test_the_package_knows_our_names_and_its_steps_obey_physics(tmp_path: Path) -> None:
    from aiconfigurator_core.sdk import common  # type: ignore[import-not-found,unused-ignore]

    assert set(SYSTEMS.values()) <= common.SupportedSystems
    assert common.DefaultHFModels >= BUNDLED_MODELS
    assert set(GEMM_MODES.values()) | {"fp8_block"} <= set(common.GEMMQuantMode.__members__)
    assert set(EXPERT_MODES.values()) | {"fp8_block", MXFP4_ON_FP4} <= set(common.MoEQuantMode.__members__)
    deployment = deploy(weight_dtype="bf16")
    measured = silicon_step_time_tables(deployment, tmp_path)
    curve = measured.curve
    assert max(curve.decode.p90_pct, curve.prefill.p90_pct, curve.mixed.p90_pct) < 5
    accelerator, model = deployment.accelerator, deployment.model
    least_s = 2 * (model.params_total - model.embedding_params) / (accelerator.memory_bandwidth_gb_per_s * 1e9)
    one = measured.tables.step_ps(tokens=1, decode_seqs=1, context_tokens=100, prefill_pairs=0, prefill_seqs=0)
    assert least_s < one / 1e12 < 2 * least_s
    tokens, params = 2048, model.params_total - model.embedding_params - model.head_params
    pairs = int(pairs_of(tokens, tokens))
    prefill = measured.tables.step_ps(
        tokens=tokens, decode_seqs=0, context_tokens=0, prefill_pairs=pairs, prefill_seqs=1
    )
    least_s = 2 * params * tokens / (accelerator.dense_tflops("bf16") * 1e12)
    assert least_s < prefill / 1e12 < 2 * least_s
