"""The language model: answers of a shape, a budget, a circuit breaker, and every failure of an endpoint."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
from pydantic import BaseModel

from memoryd.errors import ModelError
from memoryd.models import chat
from memoryd.models.chat import FAILURES, HourlyBudget
from memoryd.models.llm import TimedWriter, load_llm
from memoryd.settings import Settings
from tests.clients import Json
from tests.llm import Model, Reply, model


class Shape(BaseModel):
    """The requested shape."""

    name: str
    number: int


GOOD = '{"name": "Ann", "number": 3}'


@pytest.fixture
def endpoint() -> Iterator[Model]:
    with model() as found:
        yield found


def llm(endpoint: Model, **given: str) -> TimedWriter:
    settings = Settings.read(endpoint.settings(**given))
    found = load_llm(settings)
    assert found
    return TimedWriter(found, settings.llm_timeout)


def test_without_a_key_and_an_address_there_is_no_model() -> None:
    assert load_llm(Settings.read({})) is None


@pytest.mark.slow
def test_a_request_has_the_model_the_system_text_and_the_prompt(endpoint: Model) -> None:
    endpoint.says(GOOD)
    llm(endpoint).fill("Be brief.", "Who?", 50, Shape)
    (body,) = endpoint.asked
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("test", 50, 0)
    system, user = body["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert (user["role"], user["content"].partition("\n")[0]) == ("user", "Who?")


@pytest.mark.parametrize(
    "answer", [GOOD, f"```json\n{GOOD}\n```", f"Here you are:\n{GOOD}\nAnything else?", f"```\n{GOOD}```"]
)
def test_an_answer_is_parsed_whatever_surrounds_it(endpoint: Model, answer: str) -> None:
    endpoint.says(answer)
    assert llm(endpoint).fill("", "Who?", 50, Shape) == Shape(name="Ann", number=3)


def test_unstorable_characters_are_replaced(endpoint: Model) -> None:
    endpoint.says(r'{"name": "An\u0000n", "number": 3}')
    assert llm(endpoint).fill("", "Who?", 50, Shape).name == "An n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "answer", ["I think it is Ann.", GOOD[:15], '{"name": "Ann"}', "[]", "", '{"name": 1, "number": "x"}']
)
def test_an_answer_of_another_shape_is_sent_back_once(endpoint: Model, answer: str) -> None:
    answers = [GOOD, answer]
    endpoint.reply = lambda _body: (200, answers.pop())
    assert llm(endpoint).fill("", "Who?", 50, Shape).name == "Ann"
    assert "Your last answer was not valid" in endpoint.prompts()[1]


def test_two_invalid_answers_are_an_error_with_the_problem(endpoint: Model) -> None:
    endpoint.says('{"name": "Ann"}')
    with pytest.raises(ModelError, match="number: Field required"):
        llm(endpoint).fill("", "Who?", 50, Shape)
    assert len(endpoint.asked) == 2


def test_an_endpoint_that_refuses_schemas_gets_no_more_of_them(endpoint: Model) -> None:
    endpoint.reply = lambda body: (400, {"error": {"message": "?"}}) if "response_format" in body else (200, GOOD)
    found = llm(endpoint)
    for _ in range(2):
        assert found.fill("", "Who?", 50, Shape).number == 3
    assert ["response_format" in body for body in endpoint.asked] == [True, False, False]


FAILURES_OF: dict[str, tuple[int, object, str]] = {
    "a wrong key": (401, None, "Check MEMORY_LLM_API_KEY"),
    "no such model": (404, None, "Check MEMORY_LLM_MODEL"),
    "too many calls": (429, None, "raise the limit of the service"),
    "an error of its own": (500, None, "Try again later"),
    "no JSON": (200, b"<html>", "did not answer with JSON"),
    "half an answer": (200, b'{"choices": [{"mess', "did not answer with JSON"),
    "another protocol": (200, {"ok": True}, "did not answer with a text"),
    "no choices": (200, {"choices": []}, "did not answer with a text"),
    "no content": (200, {"choices": [{"message": {"content": None}}]}, "did not answer with a text"),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FAILURES_OF)
def test_failures_of_an_endpoint_are_reported_with_the_next_step(endpoint: Model, what: str) -> None:
    status, body, message = FAILURES_OF[what]
    endpoint.fails(status, body)
    with pytest.raises(ModelError, match=message):
        llm(endpoint).fill("", "Who?", 50, Shape)


def hangs(_body: Json) -> tuple[int, object]:
    time.sleep(30)
    return 200, GOOD


def fails_late(_body: Json) -> tuple[int, object]:
    time.sleep(0.4)
    return 503, {"error": {"message": "busy"}}


def wrong_and_late(_body: Json) -> tuple[int, object]:
    time.sleep(0.4)
    return 200, "I do not know."


@pytest.mark.parametrize("reply", [hangs, fails_late, wrong_and_late])
@pytest.mark.slow
def test_whatever_an_endpoint_does_the_caller_waits_within_the_limit(endpoint: Model, reply: Reply) -> None:
    endpoint.reply = reply
    writer = llm(endpoint, MEMORY_LLM_TIMEOUT="0.5")
    with pytest.raises(ModelError, match=r"in time|is over|No time is left"):
        writer.fill("", "Who?", 50, Shape)


@pytest.mark.parametrize("what", ["a header", "a body"])
@pytest.mark.slow
def test_an_answer_that_arrives_byte_by_byte_does_not_take_forever(what: str) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n"
    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=drips, args=(listening, head + b"\r\n" * (what == "a body")), daemon=True).start()
        settings = Settings.read({"MEMORY_LLM_BASE_URL": f"http://127.0.0.1:{listening.getsockname()[1]}/v1"})
        found = load_llm(settings)
        assert found
        with pytest.raises(ModelError, match="in time"):
            TimedWriter(found, 0.5).fill("", "Who?", 50, Shape)


def drips(listening: socket.socket, head: bytes) -> None:
    with suppress(OSError):
        connection, _ = listening.accept()
        with connection:
            connection.sendall(head)
            while True:
                connection.sendall(b"a")
                time.sleep(0.05)


@pytest.mark.slow
def test_all_requests_of_a_call_share_one_time_limit(endpoint: Model) -> None:
    def slow(_body: Json) -> tuple[int, object]:
        time.sleep(0.1 if len(endpoint.asked) < 3 else 10)
        return 200, GOOD

    endpoint.reply = slow
    writer = replace(llm(endpoint), patience=20, until=time.monotonic() + 2)
    for _ in range(2):
        writer.fill("", "Who?", 50, Shape)
    with pytest.raises(ModelError, match=r"in time|is over|No time is left"):
        writer.fill("", "Who?", 50, Shape)


def test_an_unreachable_endpoint_is_reported(endpoint: Model) -> None:
    with pytest.raises(ModelError, match="Check the network and MEMORY_LLM_BASE_URL"):
        llm(endpoint, MEMORY_LLM_BASE_URL="http://127.0.0.1:1/v1").fill("", "Who?", 50, Shape)


def test_after_some_failures_the_circuit_opens_and_is_logged_once(
    endpoint: Model, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.fails(401)
    found = llm(endpoint)
    for _ in range(FAILURES):
        with pytest.raises(ModelError, match="401"):
            found.fill("", "Who?", 50, Shape)
    for _ in range(20):
        with pytest.raises(ModelError, match="it is used again in"):
            found.fill("", "Who?", 50, Shape)
    assert len(endpoint.asked) == FAILURES
    assert len(caplog.records) == 2


@pytest.mark.parametrize(("calls", "tokens"), [(3, 1_000_000), (600, 170)])
def test_an_hourly_budget_is_kept(endpoint: Model, monkeypatch: pytest.MonkeyPatch, calls: int, tokens: int) -> None:
    monkeypatch.setattr(chat, "CALLS", calls)
    endpoint.says(GOOD)
    found = llm(endpoint, MEMORY_LLM_TOKENS=str(tokens))
    with suppress(ModelError):
        for _ in range(10):
            found.fill("", "Who?", 50, Shape)
    with pytest.raises(ModelError, match="for this hour is spent"):
        found.fill("", "Who?", 50, Shape)
    assert 1 <= len(endpoint.asked) <= 4
    assert found.llm.usage.tokens == 15 * len(endpoint.asked)


def test_an_answer_that_takes_more_than_is_left_spends_the_budget() -> None:
    budget = HourlyBudget(100, 1_000)
    budget.take(100)
    budget.spend(1_500)
    with pytest.raises(ModelError, match="for this hour is spent"):
        budget.take(1)


def test_the_key_is_in_no_error(endpoint: Model) -> None:
    endpoint.fails(401, {"error": {"message": "bad"}})
    with pytest.raises(ModelError) as caught:
        llm(endpoint, MEMORY_LLM_API_KEY="sk-very-secret").fill("", "Who?", 50, Shape)
    assert "very-secret" not in str(caught.value)
