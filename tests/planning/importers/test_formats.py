"""Each format to values worked out by hand from its sample."""

import gzip
import json

import numpy as np
import pytest

from planner.planning.importers import (
    ImportRefused,
    bytes_source,
    length_tables,
    quantiles,
    rate_summary,
    read_rate_windows,
    read_usage,
    usage_summary,
)
from planner.planning.inspection import inspect_source
from tests.planning.importers import samples
from tests.planning.importers.samples import opened, read

VLLM = '{"request_id": "b-0", "input_toks": 2358, "output_toks": 531, "arrival_time": 1777142838.338653}\n' + (
    '{"request_id": "b-1", "input_toks": 1034, "output_toks": 769, "arrival_time": 1777142838.5}\n'
)


def test_azure_keeps_its_seven_digits():
    rows, reading = read(samples.AZURE)
    assert reading.format == "azure_llm_trace"
    assert np.diff(rows.arrival_ns).tolist() == [4_314_579_000, 227_298_000]
    assert rows.prompt_tokens.tolist() == [374, 396, 879]
    assert rows.output_tokens.tolist() == [44, 109, 55]
    assert reading.clock == "wall"


@pytest.mark.parametrize("zone", ["+00:00", "Z", "+0000", " UTC"])
def test_azure_with_a_zone_means_the_same(zone):
    zoned = "\n".join(
        line.replace(",", zone + ",", 1) if line[:1] == "2" else line for line in samples.AZURE.split("\n")
    )
    assert (read(zoned)[0].arrival_ns == read(samples.AZURE)[0].arrival_ns).all()


def test_mooncake_counts_milliseconds_and_512_token_blocks():
    rows, reading = read(samples.MOONCAKE)
    assert reading.format == "mooncake"
    assert reading.block_tokens == 512
    assert rows.arrival_ns.tolist() == [0, 0, 3_000_000_000]
    assert np.diff(rows.blocks.offsets).tolist() == [14, 15, 3]
    assert rows.blocks.ids[14] == rows.blocks.ids[0]


def test_both_layouts_of_burstgpt_are_read_by_name():
    short, long = read(samples.BURSTGPT_6), read(samples.BURSTGPT_8)
    for rows, reading in (short, long):
        assert reading.format == "burstgpt"
        assert rows.arrival_ns.tolist() == [5_000_000_000, 45_000_000_000, 118_000_000_000, 150_000_000_000]
        assert rows.prompt_tokens.tolist() == [472, 1087, 417, 0]
        assert rows.failed.tolist() == [False, False, False, True]
        assert reading.failed_rows == 1
        assert reading.classes == ["Conversation log", "API log"]
    assert short[0].session.tolist() == [-1] * 4
    assert long[0].session.tolist() == [0, 0, 1, 1]


def test_a_total_that_is_not_the_sum_is_told():
    _, reading = read(samples.BURSTGPT_6.replace("1317", "1318"))
    assert reading.problems.kept == {"total_mismatch": 1}
    assert [problem.row for problem in reading.problems] == [3]


def test_bailian_turns_share_the_conversation_of_their_first():
    rows, reading = read(samples.BAILIAN)
    assert reading.format == "qwen_bailian"
    assert reading.block_tokens == 16
    assert rows.session.tolist() == [0, 1, 0, 0]
    assert rows.arrival_ns[0] == 61_114_000_000
    assert reading.classes == ["text", "search"]


def test_litellm_is_sorted_rid_of_repeats_and_of_what_the_gateway_answered():
    rows, reading = read(samples.LITELLM)
    assert reading.format == "litellm_spend_logs"
    assert rows.prompt_tokens.tolist() == [50, 100, 70]
    assert np.diff(rows.arrival_ns).tolist() == [5_250_000_000, 5_500_000_000]
    assert rows.cached_tokens.tolist() == [-1, 64, -1]
    assert rows.failed.tolist() == [False, False, True]
    assert rows.client.tolist() == [0, 0, 1]  # two people, whichever they are
    assert reading.problems.dropped == {"answered_by_gateway_cache": 1, "duplicate_id": 1}


def test_no_person_key_or_text_leaves_the_reader():
    for data in (samples.LITELLM, samples.LANGFUSE):
        _, reading = read(data)
        told = json.dumps(reading.as_dict())
        for secret in ("sk-secret", "ann@example.org", "bob@example.org", "SECRET PROMPT"):
            assert secret not in told
        assert reading.personal


def test_langfuse_input_excludes_the_cache_unless_the_total_says_otherwise():
    rows, reading = read(samples.LANGFUSE)
    assert reading.format == "langfuse"
    assert rows.prompt_tokens.tolist() == [100, 100]
    assert rows.cached_tokens.tolist() == [60, 60]
    assert reading.problems.dropped == {"not_a_generation": 1}


def test_vllm_request_statistics():
    rows, reading = read(VLLM)
    assert reading.format == "vllm_request_log"
    assert reading.clock == "wall"
    assert np.diff(rows.arrival_ns)[0] == pytest.approx(161_347_000, abs=500)


def test_openai_usage_includes_cached_input():
    file = opened(samples.OPENAI)
    usage = read_usage(file)
    summary = usage_summary(usage)
    assert file.reading.format == "openai_usage"
    assert (summary["prompt_tokens"], summary["cached_tokens"], summary["output_tokens"]) == (1500, 800, 580)
    assert summary["requests"] == 8
    assert summary["bucket_s"] == 3600
    assert summary["mean_rps"] == pytest.approx(8 / 7200)
    assert summary["peak_to_mean"] == pytest.approx(6 / 4)


def test_anthropic_usage_excludes_cached_input():
    summary = usage_summary(read_usage(opened(samples.ANTHROPIC)))
    assert (summary["prompt_tokens"], summary["cached_tokens"], summary["output_tokens"]) == (1000, 700, 50)
    assert summary["requests"] is None


def test_a_coding_gateways_table_by_day():
    data = (
        "day,user_type,user_id,user_name,provider,model,requests,input_tokens,output_tokens,cache_read_tokens,"
        "cache_write_5m_tokens,cache_write_1h_tokens,cost_micro_cents,cost_usd\n"
        "2026-11-02,u,1,Ann,anthropic,opus,10,100,20,900,30,0,500,1.25\n"
        "2026-11-03,u,1,Ann,anthropic,opus,30,300,40,100,0,0,500,0.75\n"
    )
    summary = usage_summary(read_usage(opened(data)))
    assert summary["prompt_tokens"] == 100 + 900 + 30 + 300 + 100
    assert summary["cost_usd"] == 2.0
    assert summary["peak_to_mean"] == pytest.approx(1.5)


def test_a_german_spreadsheet_by_day():
    file = opened(samples.GERMAN)
    summary = usage_summary(read_usage(file))
    reading = file.reading
    assert reading.columns[0] == "datum"
    assert summary["rows"] == 2
    assert (summary["prompt_tokens"], summary["output_tokens"]) == (2_230_000, 560_750)
    assert summary["cost_usd"] == 22.55
    told = {each.what: each.taken for each in reading.assumptions}
    assert (told["delimiter"], told["decimal sign"], told["thousands sign"]) == ("semicolon", "comma", "point")
    assert told["dates"] == "day first"


def test_servegen_rates_with_and_without_a_header():
    rows = "0,0.5,2.0,Gamma,0.1,3\n600,1.5,1.0,Weibull,0.9,2\n1200,1.0,nan,Gamma,1,1\n"
    plain = rate_summary(read_rate_windows(opened(rows)))
    assert plain["mean_rps"] == pytest.approx(1.0)
    assert plain["peak_to_mean"] == pytest.approx(1.5)
    assert plain["rate_weighted_gap_cv"] == pytest.approx((0.5 * 2 + 1.5) / 2)
    head = "client_id,window_start_s,rate_rps,cv_interarrival,distribution,param1,param2\n"
    two = head + "".join(f"{c},{line}\n" for c in (4, 9) for line in rows.splitlines())
    summary = rate_summary(read_rate_windows(opened(two)))
    assert summary["clients"] == 2
    assert summary["mean_rps"] == pytest.approx(2.0)


def test_a_client_of_servegen_that_is_silent_at_first():
    """The shape of chunk-10-trace.csv of deepseek-r1: silent windows have neither rate nor distribution."""
    silent = [f"{600 * i},0,0,,0,0" for i in range(144)]
    data = [*silent[:93], "55800,2.905,8.09,Weibull,0.28,0.02", "56400,0.045,2.46,Gamma,0.16,0.37", *silent[95:]]
    file = opened("\n".join(data) + "\n")
    assert file.reading.format == "servegen_rates"
    summary = rate_summary(read_rate_windows(file))
    assert (summary["clients"], summary["windows"]) == (1, 144)
    assert summary["mean_rps"] == pytest.approx((2.905 + 0.045) / 144)
    assert summary["rate_weighted_gap_cv"] == pytest.approx((2.905 * 8.09 + 0.045 * 2.46) / 2.95)


def test_requests_of_six_columns_without_names_are_no_rates():
    assert opened("0.5,10,2,,0,0\n1.5,20,3,,0,0\n", time_unit="s").reading.format == "plain"


def test_distributions_of_lengths_become_quantiles_of_a_scenario():
    document = {"r1": {"input_tokens": {"mean": 1, "cdf": [[9, 0.01], [100, 0.5], [900, 1.0]]}, "fields": ["a"]}}
    tables = length_tables(document)
    assert list(tables) == ["r1/input_tokens"]
    assert quantiles(tables["r1/input_tokens"]) == [[0.0, 1.0], [0.01, 9.0], [0.5, 100.0], [1.0, 900.0]]
    assert list(length_tables([[64, 0.1], [128, 1.0]])) == ["lengths"]
    assert length_tables([[64, 0.5], [32, 1.0]]) == {}
    assert length_tables({"reason_ratio": {"cdf": [[0.1, 0.5], [1.0, 1.0]]}}) == {}


def test_columns_named_by_a_person():
    data = "when,wer,hinein,heraus\n0.5,x,10,2\n1.5,y,20,3\n"
    with pytest.raises(ImportRefused) as caught:
        opened(data)
    assert caught.value.code == "unknown_format"
    rows, _ = read(
        data, columns={"time": "when", "prompt": "hinein", "output": "heraus", "client": "wer"}, time_unit="s"
    )
    assert rows.prompt_tokens.tolist() == [10, 20]
    assert rows.client.tolist() == [0, 1]
    with pytest.raises(ImportRefused) as caught:
        opened(data, columns={"time": "wann"})
    assert caught.value.code == "unknown_column"


def test_the_same_rows_as_csv_json_lines_array_and_gzip():
    csv_rows, _ = read(samples.AZURE)
    records = [dict(zip(("TIMESTAMP", "ContextTokens", "GeneratedTokens"), line.split(","), strict=True))
               for line in samples.AZURE.split("\n")[1:4]]  # fmt: skip
    lines = "\n".join(json.dumps(record) for record in records)
    for data in (lines.encode(), json.dumps(records, indent=1).encode(), gzip.compress(samples.AZURE.encode()),
                 gzip.compress(b"") + gzip.compress(samples.AZURE.encode()), samples.AZURE.encode("utf-16"),
                 samples.AZURE.replace("\n", "\r\n").encode(), samples.AZURE.replace("\n", "\r").encode(),
                 samples.AZURE.replace(",", "\t").encode(), samples.AZURE.replace(",", ";").encode(),
                 ("sep=;\n" + samples.AZURE.replace(",", ";")).encode()):  # fmt: skip
        rows, _ = read(data)
        assert (rows.arrival_ns == csv_rows.arrival_ns).all()
        assert (rows.prompt_tokens == csv_rows.prompt_tokens).all()


def test_parquet_where_pyarrow_is_installed(tmp_path):
    arrow = pytest.importorskip("pyarrow", reason="pyarrow, an optional extra, is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    times = arrow.array([1_700_000_000_123_456_789, 1_700_000_001_000_000_000], arrow.timestamp("ns", "UTC"))
    table = arrow.table({"TIMESTAMP": times, "ContextTokens": [10, 20], "GeneratedTokens": [1, 0]})
    parquet.write_table(table, tmp_path / "t")
    rows, reading = read((tmp_path / "t").read_bytes())
    assert reading.format == "azure_llm_trace"
    assert rows.arrival_ns.tolist() == [1_700_000_000_123_456_789, 1_700_000_001_000_000_000]
    assert rows.failed.tolist() == [False, True]


def test_rates_without_a_client_are_left_out_and_far_windows_refused():
    head = "client_id,window_start_s,rate_rps,cv_interarrival\n"
    file = opened(head + "4,0,1,1\n,600,1,1\n4,600,-1,1\n4,1200,3,1\n")
    summary = rate_summary(read_rate_windows(file))
    assert (summary["clients"], summary["windows"]) == (1, 2)
    assert file.reading.problems.dropped == {"no_client": 1, "negative_rate": 1}
    with pytest.raises(ImportRefused) as caught:
        read_rate_windows(opened(head + "4,0,1,1\n4,0.001,1,1\n4,99999999,1,1\n"))
    assert caught.value.code == "too_large"


def test_buckets_ages_apart_have_no_peak():
    head = "start_time,end_time,num_model_requests,input_tokens,output_tokens\n"
    data = head + "".join(f"{start},{start + 1},{n},9,9\n" for start, n in ((1_700_000_000, 5), (1_700_000_001, 6)))
    assert usage_summary(read_usage(opened(data)))["peak_to_mean"] == pytest.approx(6 / 5.5)
    far = usage_summary(read_usage(opened(data + "1720000000,1720000001,7,9,9\n")))
    assert (far["requests"], far["peak_to_mean"]) == (18, None)


def test_a_day_beyond_the_clock_is_left_out():
    file = opened("day,requests,input_tokens,output_tokens,cache_read_tokens\n0001-01-01,5,9,9,0\n2026-11-02,6,9,9,0\n")
    assert usage_summary(read_usage(file))["requests"] == 6
    assert file.reading.problems.dropped == {"bad_time": 1}


def test_servegens_lengths_by_window_are_averaged():
    windows = {
        "0": {"input_tokens": "{100: 0.5, 300: 0.5}", "output_tokens": "{10: 1.0}"},
        "600": {"input_tokens": {"100": 1.0}, "output_tokens": "{10: 0.25, 20: 7.5e-1}"},
        "1200": {"input_tokens": "{}", "output_tokens": "{}", "reason_ratio": "{}"},
    }
    tables = inspect_source(bytes_source(json.dumps(windows).encode()))["length_tables"]
    assert tables == {
        "input_tokens": [[0.0, 1.0], [0.75, 100.0], [1.0, 300.0]],
        "output_tokens": [[0.0, 1.0], [0.625, 10.0], [1.0, 20.0]],
    }


def test_a_large_document_of_lengths_is_read():
    shares = {str(tokens): 1 / 50_000 for tokens in range(1, 50_001)}
    data = json.dumps({"0": {"input_tokens": shares}, "21600": {"input_tokens": shares}}, indent=1).encode()
    assert len(data) > 1 << 20
    table = inspect_source(bytes_source(data))["length_tables"]["input_tokens"]
    assert table[-1] == [1.0, 50_000.0]
    assert np.interp(0.5, *zip(*table, strict=True)) == pytest.approx(25_000, rel=0.01)


def test_rates_of_clients_make_arrivals_and_shape_of_a_scenario():
    """Two clients, one Poisson and one of variation 3, at 3 and 1 requests/s: dispersion (3 × 1 + 1 × 9) / 4."""
    rows = "".join(f"{600 * i},{client},{rate * (2 if i == 5 else 1)},{cv}\n"
                   for i in range(144) for client, rate, cv in ((0, 3, 1), (1, 1, 3)))  # fmt: skip
    text = "window_start_s,client_id,rate_rps,cv_interarrival\n" + rows
    fitted = inspect_source(bytes_source(text.encode()))["rates"]["fitted"]["traffic"]
    assert fitted["arrival"]["kind"] == "gamma"
    assert fitted["arrival"]["cv"] == pytest.approx(3**0.5, abs=0.001)
    assert fitted["arrival"]["mean_rps"] == pytest.approx(4 * 145 / 144, abs=1e-4)
    assert fitted["shape"] == {"kind": "diurnal", "peak_to_mean": pytest.approx(2 * 144 / 145, abs=0.001)}
