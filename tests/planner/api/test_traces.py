"""The way of a file of traffic through the API."""

from tests.planner.api.support import problem
from tests.planning.importers import samples

AMBIGUOUS = b"timestamp,prompt_tokens,output_tokens\n0,10,1\n500,20,1\n"


def sent(api, data, name="October"):
    upload = api.post("/traces/uploads", {"name": name}).json()
    assert api.post(f"{upload['link']}/parts?number=1", data).status_code == 200
    return upload["link"]


def test_a_file_is_sent_looked_at_and_kept(api):
    link = sent(api, samples.AZURE.encode())
    told = api.post(f"{link}/preview", {}).json()
    assert told["reading"]["format"] == "azure_llm_trace"
    assert told["profile"]["requests"] == 3
    kept = api.post(f"{link}/confirm", {})
    assert kept.status_code == 201
    trace = api.get(kept["Location"]).json()
    assert trace == kept.json()
    assert trace["profile"]["fitted"]["traffic"]["arrival"]["kind"] == "poisson"
    assert [item["id"] for item in api.get("/traces").json()["items"]] == [trace["id"]]
    assert api.get(f"/traces/{trace['id']}/scenario-trace").json()["csv"].count("\n") == 4
    problem(api.post(f"{link}/confirm", {}), 404, "not-found")
    again = api.post(f"{sent(api, samples.AZURE.encode(), 'Again')}/confirm", {})
    assert (again.status_code, again.json()["id"]) == (200, trace["id"])
    assert api.delete(f"/traces/{trace['id']}").status_code == 204
    assert api.get("/traces").json()["items"] == []


def test_questions_are_answered(api):
    link = sent(api, AMBIGUOUS)
    question = api.post(f"{link}/preview", {}).json()["reading"]["questions"][0]
    assert question["answer"] == "time_unit"
    body = problem(api.post(f"{link}/confirm", {}), 422, "invalid-body")
    assert body["errors"][0]["code"] == "unanswered"
    body = problem(api.post(f"{link}/confirm", {"answers": {"time_unit": "hours", "x": "y"}}), 422, "invalid-body")
    assert [fault["pointer"] for fault in body["errors"]] == ["/answers/time_unit", "/answers/x"]
    kept = api.post(f"{link}/confirm", {"answers": {"time_unit": "ms"}}).json()
    assert kept["profile"]["span_s"] == 0.5


def test_parts_are_held_to_their_order_and_size(api):
    link = sent(api, b"0,1,1\n")
    body = problem(api.post(f"{link}/parts?number=5", b"x"), 422, "invalid-body")
    assert body["errors"][0]["code"] == "wrong_part"
    problem(api.post(f"{link}/parts", b"x"), 400, "invalid-parameter")
    problem(api.post(f"{link}/parts?number=2", b""), 400, "malformed-body")
    problem(api.post(f"{link}/parts?number=2", b"x" * (4 * 2**20 + 1)), 413, "body-too-large")
    assert api.get(link).json()["parts"] == 1


def test_a_measurement_can_be_looked_at_and_is_not_kept(api):
    link = sent(api, samples.OPENAI.encode())
    assert api.post(f"{link}/preview", {}).json()["usage"]["requests"] == 8
    body = problem(api.post(f"{link}/confirm", {}), 422, "invalid-body")
    assert body["errors"][0]["code"] == "not_requests"


def test_names_that_are_hardly_any(api):
    for name in (" ", "\0", "é" * 200):
        assert api.post("/traces/uploads", {"name": name}).status_code in {201, 400, 422}
    problem(api.post("/traces/uploads", {"name": ""}), 422, "invalid-body")
