"""Seed a, section 3.1: which clients get notices of changed resources, on the wire, in both eras."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

from memoryd.core.engine import Engine
from memoryd.core.memories.vault import Vault
from memoryd.core.records import change_feed
from memoryd.core.scope import Scope
from memoryd.settings import Settings
from tests import forks
from tests.clients import LEGACY, MODERN, Json, agent, environment, until
from tests.conftest import Open
from tests.wires import Wire, envelope

LIST = "the list"
VAULT, K = "memory://vault", "memory://vault/k"
METHODS = {"notifications/resources/list_changed": LIST, "notifications/resources/updated": ""}
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


class Ears:
    """A client of one era that has subscribed to the list and to some resources."""

    def __init__(self, wire: Wire, era: str, *uris: str) -> None:
        self.wire = wire
        self.meta = envelope() if era == MODERN else None
        self._checked: list[str] = []
        """The notices up to the last check."""
        if self.meta:
            self.listen(*uris)
        else:
            wire.handshake()
            for uri in uris:
                assert wire.result("resources/subscribe", {"uri": uri}) == {}

    def listen(self, *uris: str, listed: bool = True) -> int:
        """Send subscriptions/listen, wait for the acknowledgement, and return the request's id."""
        wanted = ({"resourcesListChanged": True} if listed else {}) | (
            {"resourceSubscriptions": [*uris]} if uris else {}
        )
        number = self.wire.post("subscriptions/listen", {"_meta": self.meta, "notifications": wanted})
        until(lambda: [one for one in self.notifications() if one["method"] == ACKNOWLEDGED], "the acknowledgement")
        return number

    def request(self, method: str, **params: Any) -> Json:
        return self.wire.result(method, params | ({"_meta": self.meta} if self.meta else {}))

    def ok(self, tool: str, **arguments: Any) -> Json:
        answer = self.request("tools/call", name=tool, arguments=arguments)
        assert not answer.get("isError"), answer
        content: Json = answer.get("structuredContent", {})  # a text has none
        return content

    def commit(self, key: str, content: str = "a text", scope: str = "vault") -> None:
        self.ok("commit_memory", scope=scope, key=key, content=content)

    def id_of(self, key: str) -> str:
        found = self.ok("memory_recall", query="text", format="raw", token_budget=5_000)["memories"]
        return next(str(one["id"]) for one in found if one["key"] == key)

    def notifications(self) -> list[Json]:
        return [message for message in self.wire.messages() if "method" in message]

    def notices(self) -> list[str]:
        """Return what each notice is about, in order: the list or a resource."""
        notices = [one for one in self.notifications() if one["method"] in METHODS]
        return [METHODS[one["method"]] or one["params"]["uri"] for one in notices]

    def receives(self, *notices: str) -> None:
        """Check that exactly these notices came since the last check."""
        expected = [*self._checked, *notices]
        with suppress(AssertionError):  # the next line shows the difference
            until(lambda: len(self.notices()) >= len(expected), "notices")
        assert self.notices() == expected
        self._checked = expected


Listen = Callable[..., Ears]


@pytest.fixture(params=[pytest.param(LEGACY, marks=pytest.mark.storeless), MODERN])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def listen(home: Path, wire: Open, era: str) -> Listen:
    """Return a function that starts a server on a vault with one memory, and a client that listens."""
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        Vault(Scope(engine, engine.workspace(make=True))).commit("vault", "old", "An old text.")

    def begin(*uris: str, toolsets: str = "recall,vault", **settings: str) -> Ears:
        return Ears(wire("--toolsets", toolsets, **settings), era, *uris)

    return begin


def listed(ears: Ears) -> list[str]:
    return [one["uri"] for one in ears.request("resources/list")["resources"]]


@pytest.mark.slow
def test_notices_are_advertised(wire: Open, era: str) -> None:
    for toolsets, offered in (("vault", True), ("all", True), ("recall,graph", False)):
        server = wire("--toolsets", toolsets)
        found = server.handshake() if era == LEGACY else server.result("server/discover", {"_meta": envelope()})
        wanted = {"listChanged": True, "subscribe": True} if offered else None
        assert found["capabilities"].get("resources") == wanted


@pytest.mark.slow
def test_only_changes_of_the_list_are_notified(listen: Listen) -> None:
    ears = listen()
    ears.commit("k")
    ears.receives(LIST)
    ears.commit("k", "another text")
    ears.ok("commit_memory", scope="vault", key="k", content="another text", tags=["t"])
    ears.ok("search_memories", query="text")
    ears.ok("memory_recall", query="text")
    ears.ok("memory_store", content="A memory without a key is no resource.")
    for uri in (VAULT, K):
        ears.request("resources/read", uri=uri)
    assert K in listed(ears)
    ears.ok("prune_memory", scope="vault", key="none such")
    ears.commit("s", scope="session")
    ears.receives(LIST)
    ears.commit("s", "another text", scope="session")
    ears.ok("prune_memory", scope="session")
    ears.receives(LIST)
    ears.ok("prune_memory", scope="vault", key="k")
    ears.receives(LIST)
    assert K not in listed(ears)


@pytest.mark.slow
def test_forgetting_a_memory_with_a_key_is_notified(listen: Listen) -> None:
    ears = listen(K)
    ears.commit("k")
    ears.receives(LIST, K)
    ears.ok("memory_forget", ids=[ears.id_of("k")])
    ears.receives(LIST, K)


@pytest.mark.slow
def test_a_subscriber_is_notified_of_each_change(listen: Listen) -> None:
    ears = listen(K, VAULT, MEMORY_MCP_SESSION_ID="me")
    ears.commit("k")
    ears.receives(LIST, K, VAULT)
    ears.commit("k", "another text")
    ears.receives(K, VAULT)
    ears.commit("other")
    ears.receives(LIST, VAULT)
    ears.commit("s", scope="session")
    ears.receives(LIST)
    ears.ok("prune_memory", scope="vault", key="k")
    ears.receives(LIST, K, VAULT)
    ears.commit("k", "It is back.")
    ears.receives(LIST, K, VAULT)


@pytest.mark.slow
def test_a_subscriber_to_a_session_is_notified_of_its_changes(listen: Listen) -> None:
    mine = "memory://session/me"
    ears = listen(mine, MEMORY_MCP_SESSION_ID="me")
    ears.commit("s", scope="session")
    ears.receives(LIST, mine)
    ears.commit("s", "another text", scope="session")
    ears.receives(mine)
    ears.ok("prune_memory", scope="session", key="s")
    ears.receives(LIST, mine)


@pytest.mark.slow
def test_a_notice_has_the_uri_of_the_subscription(listen: Listen) -> None:
    ears = listen("memory://vault/%6B", "memory://vault?offset=0&limit=2")
    ears.commit("k")
    ears.receives(LIST, "memory://vault/%6B", "memory://vault?offset=0&limit=2")


@pytest.mark.slow
def test_a_change_right_after_the_first_request_is_notified(listen: Listen) -> None:
    for number in range(5):
        ears = listen()
        ears.commit(f"key {number}")
        ears.receives(LIST)


@pytest.mark.slow
def test_a_vault_created_later_is_notified(wire: Open, era: str) -> None:
    ears = Ears(wire("--toolsets", "vault"), era, K)
    time.sleep(0.6)  # the server has polled and found no vault
    ears.commit("k")
    until(lambda: {LIST, K} <= set(ears.notices()), "the notices")


@pytest.mark.slow
def test_another_process_is_notified_soon(listen: Listen) -> None:
    ears, other = listen(K), listen()
    other.commit("k")
    ears.receives(LIST, K)
    other.commit("k", "another text")
    ears.receives(K)
    other.ok("prune_memory", scope="vault", key="k")
    ears.receives(LIST, K)
    other.receives(LIST, LIST)


@pytest.mark.process
def test_a_change_by_a_command_is_notified(listen: Listen, home: Path) -> None:
    ears = listen(K)
    ears.commit("k")
    ears.receives(LIST, K)
    forget = [sys.executable, "-m", "memoryd", "forget", ears.id_of("k"), "--yes"]
    forks.run(forget, env=environment(home), check=True, capture_output=True)
    ears.receives(LIST, K)


@pytest.mark.slow
def test_switching_to_another_project_changes_the_list(listen: Listen) -> None:
    ears = listen(K, toolsets="projects,vault")
    ears.ok("create_project", name="p")
    ears.receives(LIST, K)
    assert "memory://vault/old" not in listed(ears)
    ears.commit("k")
    ears.receives(LIST, K)
    ears.ok("switch_project", name="default")
    ears.receives(LIST, K)
    assert "memory://vault/old" in listed(ears)
    ears.ok("switch_project", name="default")
    ears.commit("last")
    ears.receives(LIST)


@pytest.mark.slow
def test_switching_right_after_the_first_request_is_notified(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    look = change_feed.Changes._run

    def later(changes: change_feed.Changes) -> None:
        time.sleep(0.4)  # a busy machine
        look(changes)

    monkeypatch.setattr(change_feed.Changes, "_run", later)
    ears = listen(K, toolsets="projects,vault")
    ears.ok("create_project", name="p")
    ears.receives(LIST, K)


@pytest.mark.slow
def test_another_session_has_another_list(listen: Listen) -> None:
    ears = listen(K, toolsets="projects,vault")
    ears.ok("set_session_id", session_id="other")
    ears.receives(LIST)
    assert "memory://session/other" in listed(ears)
    ears.ok("create_project", name="p")
    ears.receives(LIST, K)
    ears.commit("k")
    ears.receives(LIST, K)


@pytest.mark.slow
def test_a_read_only_server_notifies_of_changes_by_others(listen: Listen) -> None:
    ears = listen(K, MEMORY_READ_ONLY="true")
    listen().commit("k")
    ears.receives(LIST, K)


# legacy: resources/subscribe -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", [LEGACY])
def test_unsubscribe(listen: Listen) -> None:
    ears = listen(K, "memory://vault/j")
    ears.wire.result("resources/unsubscribe", {"uri": "memory://vault/%6B"})
    ears.wire.result("resources/unsubscribe", {"uri": "memory://vault/never"})
    for key in ("k", "j"):
        ears.commit(key)
    until(lambda: "memory://vault/j" in ears.notices(), "the notice")
    assert K not in ears.notices()


@pytest.mark.parametrize("era", [LEGACY])
def test_one_resource_is_notified_once(listen: Listen) -> None:
    ears = listen("memory://vault/%6B", K)
    ears.commit("k")
    ears.receives(LIST, K)


@pytest.mark.parametrize("era", [LEGACY])
def test_an_invalid_resource_cannot_be_subscribed_to(listen: Listen) -> None:
    ears = listen()
    for uri, code in (("memory://nothing", -32002), ("memory://vault/%zz", -32602), ("memory://vault?x=1", -32602)):
        assert ears.wire.request("resources/subscribe", {"uri": uri})["error"]["code"] == code
    ears.wire.result("resources/subscribe", {"uri": "memory://vault/not%20yet"})
    ears.commit("not yet")
    ears.receives(LIST, "memory://vault/not%20yet")


@pytest.mark.slow
@pytest.mark.parametrize("era", [LEGACY])
def test_subscriptions_are_limited(listen: Listen) -> None:
    ears = listen(*(f"{VAULT}/{number}" for number in range(1_000)))
    error = ears.wire.request("resources/subscribe", {"uri": f"{VAULT}/more"})["error"]
    assert error["code"] == -32602
    assert "can have 1000 subscriptions" in error["message"]
    ears.wire.result("resources/subscribe", {"uri": f"{VAULT}/7"})
    ears.wire.result("resources/unsubscribe", {"uri": f"{VAULT}/8"})
    ears.wire.result("resources/subscribe", {"uri": f"{VAULT}/more"})


# modern: subscriptions/listen ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", [MODERN])
def test_listen_is_acknowledged_first_and_brings_only_what_was_requested(wire: Open, era: str) -> None:
    ears = Ears.__new__(Ears)
    ears.wire, ears.meta, ears._checked = wire("--toolsets", "vault"), envelope(), []
    ears.commit("k")
    number = ears.listen(K, listed=False)
    assert ears.notices() == [], "no notices without a subscription"
    ears.commit("k", "another text")
    ears.receives(K)
    ears.commit("other")
    ears.commit("k", "a third text")
    ears.receives(K)
    first, *more = ears.notifications()
    assert first["method"] == ACKNOWLEDGED
    assert first["params"]["notifications"] == {"resourceSubscriptions": [K]}
    assert [one["params"]["_meta"][SUBSCRIPTION] for one in (first, *more)] == [number] * 3


@pytest.mark.parametrize("era", [MODERN])
def test_a_stream_has_the_same_limit_as_a_connection(listen: Listen) -> None:
    ears = listen()
    wanted = {"resourceSubscriptions": [f"{VAULT}/{number}" for number in range(1_001)]}
    error = ears.wire.request("subscriptions/listen", {"_meta": ears.meta, "notifications": wanted})["error"]
    assert (error["code"], "can have 1000 subscriptions" in error["message"]) == (-32602, True)


@pytest.mark.parametrize("era", [MODERN])
def test_each_stream_has_its_own_subscriptions_and_ends_when_cancelled(listen: Listen) -> None:
    ears = listen()
    second = ears.listen(K, listed=False)
    until(lambda: sum(one["method"] == ACKNOWLEDGED for one in ears.notifications()) == 2, "the acknowledgement")
    ears.commit("k")
    ears.receives(LIST, K)
    ears.wire.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": second}})
    ears.commit("k", "another text")
    ears.commit("other")
    ears.receives(LIST)


@pytest.mark.parametrize("era", [MODERN])
def test_the_client_of_the_sdk_listens(home: Path, era: str) -> None:
    with agent(environment(home), "--toolsets", "vault") as a:
        a.ok("commit_memory", scope="vault", key="k", content="a text")

        async def changes(client: Any) -> list[object]:
            async with client.listen(resources_list_changed=True, resource_subscriptions=[K]) as events:
                await client.call_tool("prune_memory", {"scope": "vault", "key": "k"})
                return [await anext(events), await anext(events)]

        assert a.ask(changes) == [ResourcesListChanged(), ResourceUpdated(uri=K)]


# many changes at once ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_simultaneous_changes_are_notified_once(wire: Open, home: Path, era: str) -> None:
    """The first memory also creates the workspace; one prune deletes more memories than one poll of changes reads."""
    ears = Ears(wire("--toolsets", "vault"), era, "memory://vault/last")
    ears.commit("first")
    until(
        lambda: "memory://vault/last" in ears.notices(),
        "the notice of a new workspace, in which every resource may differ",
    )
    assert ears.notices().count(LIST) == 1
    with Engine(Settings.read(environment(home)), fetch=False) as engine:
        vault = Vault(Scope(engine, engine.workspace(make=True)))
        for number in range(change_feed.MANY + 1):
            vault.commit("vault", f"k{number}", "text", tags=["many"])
    until(lambda: len(listed(ears)) and ears.ok("search_memories", query="", tags=["many"]), "the others")
    count = len(ears.notices())
    ears.commit("last")
    until(lambda: "memory://vault/last" in ears.notices()[count:], "the notice of the last")
    before = len(ears.notices())
    assert ears.ok("prune_memory", scope="vault", tags=["many"])["pruned_count"] == change_feed.MANY + 1
    ears.commit("last", "changed")
    until(lambda: ears.notices()[-1] == "memory://vault/last" and len(ears.notices()) > before, "the next notice")
    assert ears.notices()[before:] == [LIST, "memory://vault/last"]
