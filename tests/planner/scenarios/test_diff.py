from planner.scenarios.diff import differences


def test_values_that_differ_are_named_by_their_pointer() -> None:
    old = {"name": "Chat", "slo": {"ttft_p95_ms": 1000.0, "tpot_p95_ms": 50.0}}
    new = {"name": "Chat", "slo": {"ttft_p95_ms": 800.0, "tpot_p95_ms": 50.0}}
    (found,) = differences([old, new])
    assert (found.pointer, found.old, found.new) == ("/slo/ttft_p95_ms", 1000.0, 800.0)


def test_what_only_one_has_is_absent_in_the_other() -> None:
    found = differences([{"slo": {"a": 1}}, {"slo": {"b": 2}}])
    assert [(d.pointer, d.values) for d in found] == [("/slo/a", (1, None)), ("/slo/b", (None, 2))]


def test_equal_documents_do_not_differ() -> None:
    assert differences([{"a": [1, 2], "b": {"c": 1}}, {"b": {"c": 1.0}, "a": [1, 2]}]) == ()


def test_true_is_not_one() -> None:
    assert len(differences([{"a": True}, {"a": 1}])) == 1


def test_a_list_of_plain_values_is_one_value() -> None:
    (found,) = differences([{"gpus": ["H100", "H200"]}, {"gpus": ["H200"]}])
    assert found.values == (["H100", "H200"], ["H200"])


def test_lists_of_objects_are_compared_by_position() -> None:
    old = {"api": [{"provider": "groq", "model": "a"}]}
    new = {"api": [{"provider": "groq", "model": "b"}, {"provider": "aws", "model": "c"}]}
    assert [d.pointer for d in differences([old, new])] == ["/api/0/model", "/api/1/provider", "/api/1/model"]


def test_keys_with_slashes_are_escaped() -> None:
    assert differences([{"a/b": 1}, {"a/b": 2}])[0].pointer == "/a~1b"


def test_several_documents_stand_side_by_side() -> None:
    (found,) = differences([{"a": 1, "b": 0}, {"a": 1, "b": 0}, {"a": 3, "b": 0}])
    assert found.values == (1, 1, 3)


def test_long_texts_are_told_apart_and_not_shown() -> None:
    (found,) = differences([{"csv": "1," * 5000}, {"csv": "2," * 5000}])
    assert found.old != found.new
    assert len(found.old) < 100
