"""Small files of each format, written for the tests; figures are made up unless said otherwise."""

import json

from planner.planning.importers import Answers, bytes_source, joined, open_trace

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:15:46.6805900,374,44
2023-11-16 18:15:50.9951690,396,109
2023-11-16 18:15:51.2224670,879,55
"""  # first rows of Azure's public trace (CC-BY-4.0)
MOONCAKE = "\n".join(
    json.dumps({"timestamp": time_ms, "input_length": tokens, "output_length": 500, "hash_ids": ids})
    for time_ms, tokens, ids in (
        (0, 6758, list(range(14))),
        (0, 7322, [0, *range(14, 28)]),
        (3000, 1025, [0, 14, 99]),
    )
)  # lengths and ids of the first two as in Mooncake's public trace (Apache-2.0)
BURSTGPT_6 = """Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type
5,ChatGPT,472,18,490,Conversation log
45,ChatGPT,1087,230,1317,Conversation log
118,GPT-4,417,276,693,API log
150,GPT-4,0,0,0,API log
"""
BURSTGPT_8 = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,a,1.5,ChatGPT,472,18,490,Conversation log
45,a,2.5,ChatGPT,1087,230,1317,Conversation log
118,b,3.1,GPT-4,417,276,693,API log
150,b,0.2,GPT-4,0,0,0,API log
"""
BAILIAN = "\n".join(
    json.dumps(
        {
            "chat_id": chat, "parent_chat_id": parent, "timestamp": time_s, "input_length": tokens, "output_length": 20,
            "type": kind, "turn": turn, "hash_ids": ids,
        }
    )
    for chat, parent, time_s, tokens, kind, turn, ids in (
        (0, -1, 61.114, 33, "text", 1, [0, 1, 2]),
        (1, -1, 61.5, 16, "search", 1, [7]),
        (2, 0, 80.0, 70, "text", 2, [0, 1, 2, 3, 4]),
        (3, 2, 99.0, 90, "text", 3, [0, 1, 2, 3, 4, 5]),
    )
)  # fmt: skip
LITELLM = """request_id,call_type,api_key,spend,total_tokens,prompt_tokens,completion_tokens,startTime,endTime,\
completionStartTime,model,model_group,user,end_user,cache_hit,session_id,status,metadata
r2,acompletion,sk-secret,0.002,130,100,30,2026-11-02 10:00:05.500000,2026-11-02 10:00:07,,gpt,chat,ann@example.org,,\
False,s1,success,"{""usage_object"": {""prompt_tokens_details"": {""cached_tokens"": 64}}}"
r1,acompletion,sk-secret,0.001,60,50,10,2026-11-02 10:00:00.250000,2026-11-02 10:00:02,,gpt,chat,ann@example.org,,\
False,s1,success,{}
r3,acompletion,sk-other,0.0,60,50,10,2026-11-02 10:00:09,2026-11-02 10:00:09,,gpt,chat,bob@example.org,,True,\
s2,success,{}
r4,acompletion,sk-other,0.0,70,70,0,2026-11-02 10:00:11,2026-11-02 10:00:12,,gpt,code,bob@example.org,,False,\
s2,failure,{}
r1,acompletion,sk-secret,0.001,60,50,10,2026-11-02 10:00:12,2026-11-02 10:00:13,,gpt,chat,ann@example.org,,False,s1,\
success,{}
"""
LANGFUSE = "\n".join(
    json.dumps(row)
    for row in (
        {
            "id": "o1", "type": "GENERATION", "start_time": "2026-11-02 10:00:01.000000", "session_id": "s",
            "user_id": "u", "provided_model_name": "m", "input": "SECRET PROMPT", "level": "DEFAULT",
            "usage_details": {"input": 40, "input_cached_tokens": 60, "output": 12, "total": 112},
        },
        {"id": "o2", "type": "SPAN", "start_time": "2026-11-02 10:00:01.500000", "usage_details": {}},
        {
            "id": "o3", "type": "GENERATION", "start_time": "2026-11-02 10:00:00.000000", "session_id": "s",
            "usage_details": {"input": 100, "input_cached_tokens": 60, "output": 12, "total": 112},
        },
    )
)  # fmt: skip
OPENAI = json.dumps(
    {
        "object": "page",
        "data": [
            {
                "object": "bucket", "start_time": 1793491200, "end_time": 1793494800,
                "results": [
                    {"input_tokens": 1000, "input_cached_tokens": 800, "output_tokens": 500, "num_model_requests": 5},
                    {"input_tokens": 200, "input_cached_tokens": 0, "output_tokens": 20, "num_model_requests": 1},
                ],
            },
            {
                "object": "bucket", "start_time": 1793494800, "end_time": 1793498400,
                "results": [
                    {"input_tokens": 300, "input_cached_tokens": 0, "output_tokens": 60, "num_model_requests": 2},
                ],
            },
        ],
    }
)  # fmt: skip
ANTHROPIC = json.dumps(
    {
        "data": [
            {
                "starting_at": "2026-11-01T00:00:00Z", "ending_at": "2026-11-02T00:00:00Z",
                "results": [
                    {
                        "uncached_input_tokens": 100, "cache_read_input_tokens": 700, "output_tokens": 50,
                        "cache_creation": {"ephemeral_1h_input_tokens": 150, "ephemeral_5m_input_tokens": 50},
                    }
                ],
            }
        ],
        "has_more": False,
    }
)  # fmt: skip
GERMAN = (
    "\ufeffdatum;eingabe_tokens;ausgabe_tokens;kosten_usd\n"
    "01.11.2026;1.250.000;310.500;12,75\n"
    "02.11.2026;980.000;250.250;9,80\n"
)


def opened(data, **answers):
    return open_trace(bytes_source(data.encode() if isinstance(data, str) else data), Answers(**answers))


def read(data, **answers):
    """The rows as one chunk, and the reading."""
    file = opened(data, **answers)
    return joined(list(file.chunks())), file.reading
