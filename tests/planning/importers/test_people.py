"""A file that waits for a yes names nobody, and is read as it was."""

import json

import pytest

from planner.planning.importers import bytes_source, joined, open_trace, without_people
from planner.planning.inspection import storable
from tests.planning.importers import samples
from tests.planning.importers.test_vllm_log import answered, received

SECRETS = ("sk-", "example.org", "SECRET", "ann", "bob")
NESTED = "\n".join(
    json.dumps({"created": 1_790_000_000 + i, "user": "ann", "messages": [{"role": "user", "content": "SECRET"}],
                "response": {"usage": {"prompt_tokens": 5, "completion_tokens": 6},
                             "choices": [{"message": {"content": "SECRET " * 90}}]}})
    for i in range(2)
)  # fmt: skip
TEXTS = (
    "timestamp_s,user_id,prompt,note,prompt_tokens,output_tokens\n"
    '0,ann,"SECRET\nof two lines",x,5,6\n1,bob,"SECRET, too",,7,8\nx,ann,,,1,1\n'
)
LOG = "\n".join(line for i in range(3) for line in (received(i, f"r{i}", 4), answered(i + 1, f"r{i}", 2)))


def read(data):
    file = open_trace(bytes_source(data))
    return joined(list(file.chunks())), file.reading


@pytest.mark.parametrize(
    "text",
    [
        samples.LITELLM,
        samples.LANGFUSE,
        NESTED,
        TEXTS,
        LOG,
        json.dumps(json.loads("[" + NESTED.replace("\n", ",") + "]")),
    ],
    ids=["litellm", "langfuse", "nested", "texts", "log", "array"],
)
def test_nobody_is_named_and_the_same_is_read(text):
    scrubbed = without_people(bytes_source(text.encode()))
    assert not any(secret in scrubbed.decode() for secret in SECRETS)
    before, reading = read(text.encode())
    after, again = read(scrubbed)
    for name in ("arrival_ns", "prompt_tokens", "output_tokens", "cached_tokens", "session", "client", "row"):
        assert getattr(before, name).tolist() == getattr(after, name).tolist(), name
    assert reading.as_dict()["rows"] == again.as_dict()["rows"]
    assert [(each.code, each.row) for each in reading.problems] == [(each.code, each.row) for each in again.problems]
    assert without_people(bytes_source(scrubbed)) in (None, scrubbed)


def test_a_logs_start_stays_without_its_keys():
    start = "INFO 12-31 23:58:01 [api_server.py:1] args: Namespace(api_key=['sk-1', 'sk-2'], port=8000)"
    web = 'INFO:     10.0.0.7:57978 - "POST /v1/chat/completions HTTP/1.1" 200 OK'
    lines = without_people(bytes_source("\n".join((start, web, LOG)).encode())).decode().split("\n")
    assert lines[:2] == ["INFO 12-31 23:58:01 [api_server.py:1] args: Namespace(api_key=None, port=8000)", ""]


@pytest.mark.parametrize("text", [samples.AZURE, samples.MOONCAKE, samples.GERMAN, samples.BURSTGPT_8, "just words"])
def test_a_file_that_names_nobody_stays_as_it_is(text):
    assert without_people(bytes_source(text.encode())) is None


def test_a_benchmarks_result_stays_as_it_is():
    record = {"metadata": {"request_start_ns": 1}, "metrics": {"time_to_first_token": {"value": 4.5, "unit": "ms"}}}
    assert storable(bytes_source(json.dumps(record).encode())) is None
