"""Ollama and OpenAI against servers that speak their protocols over real HTTP."""

import gc
import socket
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memoryd.errors import InvalidInputError, ModelError
from memoryd.models import ollama, openai
from memoryd.models import service as model_service
from memoryd.models.embedders import Embedder, load_embedder
from memoryd.models.ollama import OllamaEmbedder, base_url
from memoryd.models.openai import OpenAIEmbedder
from memoryd.settings import Settings

from .conftest import Service


def _vector(text: str) -> list[float]:
    return [3.0, len(text), text.count("a")]


def _ollama(_path: str, body: dict[str, Any]) -> tuple[int, object]:
    return 200, {"model": body["model"], "embeddings": [_vector(text) for text in body["input"]]}


def _openai(_path: str, body: dict[str, Any]) -> tuple[int, object]:
    rows = [{"object": "embedding", "index": i, "embedding": _vector(text)} for i, text in enumerate(body["input"])]
    return 200, {"object": "list", "model": body["model"], "data": rows[::-1], "usage": {}}


def _settings(url: str) -> Settings:
    return Settings.read({"OLLAMA_HOST": url, "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "secret-key"})


def _ollama_at(url: str) -> OllamaEmbedder:
    return OllamaEmbedder("nomic-embed-text", _settings(url), timeout=0.5)


def _openai_at(url: str) -> OpenAIEmbedder:
    return OpenAIEmbedder("text-embedding-3-small", _settings(url), timeout=0.5)


Make = Callable[[str], Embedder]
BOTH = [pytest.param(_ollama_at, _ollama, id="ollama"), pytest.param(_openai_at, _openai, id="openai")]
EITHER = [pytest.param(_ollama_at, id="ollama"), pytest.param(_openai_at, id="openai")]


@pytest.mark.parametrize(("make", "answer"), BOTH)
def test_vectors_are_unit_vectors_of_a_learned_dimension(service: Service, make: Make, answer: Any) -> None:
    service.answer = answer
    embedder = make(service.url)
    assert (embedder.dim, embedder.unrelated) == (3, 0.0)
    query, passage = embedder.embed_query("banana"), embedder.embed_passage("banana")
    assert query.shape == (3,)
    assert passage.shape == (1, 3)
    assert query.dtype == passage.dtype == np.float32
    assert np.allclose([np.linalg.norm(query), np.linalg.norm(passage)], 1)


@pytest.mark.parametrize(("make", "answer"), BOTH)
def test_a_long_passage_is_sent_in_chunks_and_comes_back_in_order(service: Service, make: Make, answer: Any) -> None:
    service.answer = answer
    embedder = make(service.url)
    rows = embedder.embed_passage("a" * 100_000 + "b" * 100_000)
    sent = [len(body["input"]) for _, body in service.asked[1:]]
    assert (sum(sent), max(sent)) == (len(rows), 64)
    assert rows[0, 2] > 0.5
    assert rows[-1, 2] < 0.1


@pytest.mark.parametrize(("make", "answer"), BOTH)
def test_requests_to_this_machine_use_no_proxy(
    service: Service, make: Make, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.answer = answer
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert make(service.url).dim == 3


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_the_backfill_asks_openai_again_after_what_may_pass(
    service: Service, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr(model_service, "PAUSE", 0.01)
    service.answer = _openai
    embedder, seen = _openai_at(service.url), len(service.asked)
    service.answer = lambda path, body: (status, {}) if len(service.asked) == seen + 1 else _openai(path, body)
    assert embedder.embed_passage("x").shape == (1, 3)
    service.reply(status, {})
    with pytest.raises(ModelError, match=f"status {status}"):
        embedder.embed_query("a caller waits")
    assert len(service.asked) == seen + 3


def test_a_redirect_is_followed(service: Service) -> None:
    def moved(path: str, body: dict[str, Any]) -> tuple[int, object]:
        return (308, "/elsewhere") if path == "/v1/embeddings" else _openai(path, body)

    service.answer = moved
    assert _openai_at(service.url).dim == 3


@pytest.mark.parametrize("make", EITHER)
def test_a_socks_proxy_is_used_for_others(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ModelError, match="Connection refused"):  # by the proxy; the host has no address
        make("http://model.invalid")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:unclosed")  # no HTTP client closes the connection to such a proxy
@pytest.mark.parametrize("make", EITHER)
def test_a_silent_proxy_is_given_up(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("ALL_PROXY", f"socks5://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(ModelError, match="took too long"):
            make("http://model.invalid")
    gc.collect()


@pytest.mark.parametrize("make", EITHER)
@pytest.mark.parametrize("proxy", ["socks4://127.0.0.1:1", "http://x:abc"])
def test_an_invalid_proxy_is_reported(make: Make, proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(InvalidInputError, match="HTTPS_PROXY"):
        make("http://model.invalid")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", " \n", "\0", "a\ud800b"])
@pytest.mark.parametrize(("make", "answer"), BOTH)
def test_no_text_is_refused(service: Service, make: Make, answer: Any, text: str) -> None:
    service.answer = answer
    embedder = make(service.url)
    assert embedder.embed_query(text).shape == (3,)
    assert embedder.embed_passage(text).shape == (1, 3)
    assert all(sent.strip() for _, body in service.asked for sent in body["input"])


def test_requests_to_ollama_follow_its_api(service: Service) -> None:
    service.answer = _ollama
    embedder = load_embedder("ollama", _settings(service.url.removeprefix("http://")))
    assert embedder is not None
    embedder.embed_query("who?")
    embedder.embed_passage("me")
    assert embedder.name == "ollama:nomic-embed-text"
    assert service.asked[1:] == [
        ("/api/embed", {"model": "nomic-embed-text", "input": ["search_query: who?"]}),
        ("/api/embed", {"model": "nomic-embed-text", "input": ["search_document: me"]}),
    ]


def test_requests_to_openai_follow_its_api(service: Service) -> None:
    service.answer = _openai
    embedder = load_embedder("openai:some-model", _settings(service.url))
    assert embedder is not None
    embedder.embed_passage("me")
    assert embedder.name == "openai:some-model"
    assert service.asked[1:] == [
        ("/v1/embeddings", {"model": "some-model", "input": ["me"], "encoding_format": "float"})
    ]


def test_a_compatible_server_needs_no_key(service: Service) -> None:
    service.answer = _openai
    assert OpenAIEmbedder("", Settings.read({"OPENAI_BASE_URL": f"{service.url}/v1"})).dim == 3


def test_openai_without_key_and_address_is_an_error_that_names_both() -> None:
    with pytest.raises(ModelError, match="OPENAI_API_KEY"):
        load_embedder("openai", Settings.read({}))


def test_a_model_that_is_not_pulled(service: Service) -> None:
    service.reply(404, {"error": 'model "nomic-embed-text" not found, try pulling it first'})
    with pytest.raises(ModelError, match="ollama pull nomic-embed-text"):
        _ollama_at(service.url)


@pytest.mark.parametrize(
    ("status", "match"),
    [(401, "Check OPENAI_API_KEY"), (404, "MEMORY_EMBEDDER"), (400, "too odd"), (500, "Try again later")],
)
def test_openai_refuses(service: Service, status: int, match: str) -> None:
    service.reply(status, {"error": {"message": "too odd", "type": "x", "param": None, "code": None}})
    with pytest.raises(ModelError, match=match) as caught:
        _openai_at(service.url)
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize(("status", "body"), [(500, {"error": "out of memory"}), (400, {"error": "out of memory"})])
def test_ollama_refuses(service: Service, status: int, body: object) -> None:
    service.reply(status, body)
    with pytest.raises(ModelError, match=rf"status {status}: out of memory"):
        _ollama_at(service.url)


GARBAGE: list[object] = [
    b"<html>a router's login page</html>",
    b"\xff\xfe",
    [],
    {},
    None,
    {"embeddings": [], "data": []},
    {"embeddings": "no", "data": "no"},
    {"embeddings": [[]], "data": [{"embedding": []}]},
    {"embeddings": [[0.0, 0.0]], "data": [{"embedding": [0, 0]}]},
    {"embeddings": [["x"]], "data": [{"embedding": ["x"], "index": "first"}]},
    {"embeddings": None, "data": [{"embedding": [1.0], "index": None}]},
    {"embeddings": [[1.0], [2.0]], "data": [{"embedding": [1]}, {"embedding": [2]}]},
    {"embeddings": [[float("nan")]], "data": [{"embedding": [float("nan")]}]},
]


@pytest.mark.slow
@pytest.mark.parametrize("body", GARBAGE, ids=str)
@pytest.mark.parametrize("make", EITHER)
def test_a_malformed_answer_is_an_error(service: Service, make: Make, body: object) -> None:
    service.reply(200, body)
    with pytest.raises(ModelError, match=r"did not answer with|answered"):
        make(service.url)


@pytest.mark.parametrize(("make", "answer"), BOTH)
def test_a_dimension_that_changes_is_an_error(service: Service, make: Make, answer: Any) -> None:
    service.answer = answer
    embedder = make(service.url)
    service.reply(200, {"embeddings": [[1.0, 2.0]], "data": [{"embedding": [1.0, 2.0]}]})
    with pytest.raises(ModelError, match="from 3 to 2"):
        embedder.embed_query("x")


@pytest.mark.slow
@pytest.mark.parametrize("make", EITHER)
def test_a_server_that_is_too_slow(service: Service, make: Make) -> None:
    def slow(_path: str, _body: dict[str, Any]) -> tuple[int, object]:
        time.sleep(0.8)
        return 200, {}

    service.answer = slow
    with pytest.raises(ModelError, match=r"too long|timed out"):
        make(service.url)


@pytest.mark.slow
@pytest.mark.parametrize("provider", ["ollama", "openai"])
@pytest.mark.parametrize("work", ["query", "passage in a hurry", "passage"])
def test_a_hanging_service_is_given_up_soon_if_a_caller_waits(
    service: Service, provider: str, work: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ollama, "HURRY", 0.3)
    monkeypatch.setattr(openai, "HURRY", 0.3)
    answer = _ollama if provider == "ollama" else _openai
    cls = OllamaEmbedder if provider == "ollama" else OpenAIEmbedder
    service.answer = answer
    embedder = cls("model", _settings(service.url))

    def slow(path: str, body: dict[str, Any]) -> tuple[int, object]:
        time.sleep(0.9)
        return answer(path, body)

    service.answer = slow
    before = len(service.asked)
    if work == "passage":  # the backfill, for which no caller waits
        assert embedder.embed_passage("x").shape == (1, 3)
        return
    with pytest.raises(ModelError, match=r"too long|timed out"):
        embedder.embed_query("x") if work == "query" else embedder.embed_passage("x", hurry=True)
    assert len(service.asked) == before + 1, "it was not retried"


@pytest.mark.parametrize(("make", "setting"), [(_ollama_at, "OLLAMA_HOST"), (_openai_at, "OPENAI_BASE_URL")])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
@pytest.mark.slow
def test_an_unreachable_server(make: Make, setting: str, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ModelError, match=rf"Connection refused\. .*{setting}"):
        make(f"http://{host}:{port}")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
        ("localhost", "http://localhost:11434"),
        ("box:8080", "http://box:8080"),
        ("0.0.0.0", "http://127.0.0.1:11434"),
        ("0.0.0.0:8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("https://ollama.example", "https://ollama.example:443"),
        ("http://box/under/", "http://box:80/under"),
        (" box ", "http://box:11434"),
    ],
)
def test_the_address_of_ollama_is_read_as_ollama_does(host: str, url: str) -> None:
    assert base_url(host) == url


@pytest.mark.parametrize("host", ["ftp://box", "box:eleven", "http://[::1"])
def test_an_invalid_address_is_refused(host: str) -> None:
    with pytest.raises(InvalidInputError, match="OLLAMA_HOST"):
        base_url(host)
