import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from kombu import Connection, Exchange, Queue

from planner.core import filebroker


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    filebroker.register()
    return tmp_path / "broker"


@pytest.fixture
def broker(folder: Path) -> Iterator[Connection]:
    with connect(folder) as connection:
        yield connection


def connect(folder: Path) -> Connection:
    options = {"folder": str(folder), "polling_interval": 0.01}
    return Connection("filebroker://localhost/", transport_options=options)


def received(queue: Any) -> list[Any]:
    bodies = []
    while (message := queue.get(no_ack=True)) is not None:
        bodies.append(message.payload)
    return bodies


def test_messages_come_out_in_order_and_survive_a_restart(folder: Path) -> None:
    with connect(folder) as connection:
        queue = connection.SimpleQueue("work")
        for number in range(5):
            queue.put({"number": number})
    with connect(folder) as connection:
        queue = connection.SimpleQueue("work")
        assert queue.qsize() == 5
        assert [queue.get(block=False).payload["number"] for _ in range(5)] == [0, 1, 2, 3, 4]
        with pytest.raises(Empty):
            queue.get(block=False)


def test_any_name_and_text_goes_through(broker: Connection) -> None:
    queue = broker.SimpleQueue("a/b ..%2F é")
    queue.put({"text": '\u2028\U0001f600 " \\ \n'})
    assert queue.get(block=False).payload == {"text": '\u2028\U0001f600 " \\ \n'}


def test_each_message_is_taken_once_by_many_readers(folder: Path) -> None:
    count = 100
    taken: list[int] = []
    errors: list[BaseException] = []
    stopped = threading.Event()

    def read() -> None:
        try:
            with connect(folder) as connection:
                queue = connection.SimpleQueue("work")
                while len(taken) < count and not stopped.is_set():
                    try:
                        message = queue.get(block=False)
                    except Empty:
                        continue
                    message.ack()
                    taken.append(message.payload)
        except BaseException as error:  # reported below
            errors.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    with connect(folder) as connection:
        queue = connection.SimpleQueue("work")
        for number in range(count):
            queue.put(number)
    for reader in readers:
        reader.join(20)
    stopped.set()
    assert not errors
    assert sorted(taken) == list(range(count))


def test_a_file_still_being_written_is_not_seen(broker: Connection, folder: Path) -> None:
    queue = broker.SimpleQueue("work")
    queue.put(1)
    (folder / "scratch" / "half").write_text('{"bo')
    assert queue.qsize() == 1
    assert [json.loads(path.read_text())["body"] for path in (folder / "queues" / "work").iterdir()]


def test_fanout_reaches_every_listener(broker: Connection) -> None:
    exchange = Exchange("news", type="fanout")
    channel = broker.channel()
    queues = [Queue(name, exchange)(channel) for name in ("one", "two")]
    for queue in queues:
        queue.declare()
    broker.Producer().publish({"n": 1}, exchange=exchange, declare=[exchange])
    assert [received(queue) for queue in queues] == [[{"n": 1}], [{"n": 1}]]


def test_fanout_forgets_what_a_dead_listener_never_fetched(broker: Connection, monkeypatch: Any) -> None:
    exchange = Exchange("news", type="fanout")
    queue = Queue("dead", exchange)(broker.channel())
    queue.declare()
    now_ns = filebroker.time.time_ns()
    producer = broker.Producer()
    for seconds in (0, 30, 61):
        monkeypatch.setattr(filebroker.time, "time_ns", lambda at=seconds: now_ns + at * 10**9)
        producer.publish(seconds, exchange=exchange, declare=[exchange])
    assert received(queue) == [30, 61]


def test_topics_route_by_pattern(broker: Connection) -> None:
    exchange = Exchange("events", type="topic")
    queue = Queue("runs", exchange, routing_key="run.*")(broker.channel())
    queue.declare()
    producer = broker.Producer()
    for key in ("run.done", "user.made", "run.lost"):
        producer.publish(key, exchange=exchange, routing_key=key, declare=[exchange])
    assert received(queue) == ["run.done", "run.lost"]


def test_simultaneous_binds_lose_nothing(folder: Path) -> None:
    exchange = Exchange("news", type="fanout")
    together = threading.Barrier(8)

    def bind(number: int) -> None:
        with connect(folder) as connection:
            together.wait(10)
            Queue(f"q{number}", exchange)(connection.channel()).declare()

    binders = [threading.Thread(target=bind, args=(number,)) for number in range(8)]
    for binder in binders:
        binder.start()
    for binder in binders:
        binder.join(10)
    with connect(folder) as connection:
        assert len(connection.channel().get_table("news")) == 8


def test_a_deleted_queue_takes_its_binding_and_messages_along(broker: Connection) -> None:
    exchange = Exchange("news", type="fanout")
    queue = Queue("short", exchange)(broker.channel())
    queue.declare()
    broker.Producer().publish(1, exchange=exchange, declare=[exchange])
    queue.delete()
    assert broker.channel().get_table("news") == []
    assert received(queue) == []


def test_an_unacknowledged_message_comes_back_when_its_reader_closes(folder: Path) -> None:
    with connect(folder) as connection:
        queue = connection.SimpleQueue("work")
        queue.put("again")
        queue.get(block=False)
    with connect(folder) as connection:
        assert connection.SimpleQueue("work").get(block=False).payload == "again"


def test_a_reader_outlives_the_removal_of_the_folder(folder: Path) -> None:
    exchange = Exchange("news", type="fanout")
    with connect(folder) as reading, connect(folder) as writing:
        queue = Queue("listener", exchange)(reading.channel())
        queue.declare()
        shutil.rmtree(folder)
        assert queue.get() is None
        writing.Producer(exchange=exchange).publish("still there")
        assert received(queue) == ["still there"]


def test_purging_empties_a_queue(broker: Connection) -> None:
    queue = broker.SimpleQueue("work")
    queue.put(1)
    queue.put(2)
    assert queue.clear() == 2
    assert queue.qsize() == 0
