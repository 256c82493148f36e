"""Workspaces spread over two databases, each with its own servers, behind one HAProxy that chooses by request."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.clients import LEGACY, Agent, database, until
from tests.features.login.kit import Browser, Plain, Storage, let_in, provider, published
from tests.http import WORKSPACE, Ears, HttpServer, bearer, beside, free_port, granted, memoryd, remote
from tests.proxies import grouped

pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("haproxy"), reason="haproxy is not installed"),
]

MAPS = {"memory-hosts.map": "localhost archive\n", "memory-workspaces.map": "ledger archive\nmoved archive\n"}
VAULT = "memory://vault"


class Groups:
    """The two names of the proxy, and the server behind each."""

    def __init__(self, home: HttpServer, archive: HttpServer, port: int) -> None:
        self.home, self.archive = home, archive
        self.by_address = HttpServer(f"http://127.0.0.1:{port}", home.environ)
        self.by_name = HttpServer(f"http://localhost:{port}", archive.environ)


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Iterator[Groups]:
    place, port = tmp_path_factory.mktemp("groups"), free_port()
    with ExitStack() as ends:
        home, archive = (
            ends.enter_context(
                published(
                    place / name,
                    "--toolsets",
                    "recall,vault",
                    port=str(free_port()),
                    MEMORY_PUBLIC_URL=f"http://{host}:{port}",
                    MEMORY_DATABASE_URL=database(postgres, place / name),
                )
            )
            for name, host in (("home", "127.0.0.1"), ("archive", "localhost"))
        )
        with beside(archive) as engine:
            engine.workspaces.ensure("ledger")
        ends.enter_context(grouped(home.port, archive.port, MAPS, port, place))
        found = Groups(home, archive, port)
        with found.by_address.client, found.by_name.client:
            yield found


@pytest.fixture(scope="module")
def tokens(groups: Groups) -> dict[str, str]:
    """A token in each group."""
    return {"home": granted(groups.home, "client"), "archive": granted(groups.archive, "client")}


def workspace_of(agent: Agent) -> str:
    return str((agent.call("memory_inspect", {}).meta or {})["memoryd/workspace"])


def names(server: HttpServer) -> set[str]:
    with beside(server) as engine:
        return {workspace.name for workspace in engine.workspaces.all()}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_header_chooses_the_database(groups: Groups, tokens: dict[str, str], mode: str) -> None:
    for group, workspace in (("home", "team"), ("archive", "ledger")):
        with remote(groups.by_address, mode, **bearer(tokens[group], X_Memory_Workspace=workspace)) as agent:
            agent.store(f"The {workspace} is kept by {mode}.")
            assert workspace_of(agent) == workspace
            assert agent.found(f'"kept by {mode}"') == [f"The {workspace} is kept by {mode}."]
    assert ("ledger" in names(groups.home), "ledger" in names(groups.archive)) == (False, True)


def test_changes_are_announced_in_both(groups: Groups, tokens: dict[str, str]) -> None:
    for group, workspace in (("home", "team"), ("archive", "ledger")):
        headers = bearer(tokens[group], X_Memory_Workspace=workspace)
        ears = Ears(groups.by_address, LEGACY, headers).listen(VAULT)
        stored = {"scope": "vault", "key": "k", "content": "text"}
        assert groups.by_address.tool("commit_memory", headers, **stored).status_code == 200
        until(lambda ears=ears: VAULT in ears.notices(), "the notice")  # type: ignore[misc]
        ears.close()


@pytest.mark.parametrize(
    ("group", "workspace", "status", "wrong"),
    [
        ("home", "", 400, "Missing required header: X-Memory-Workspace"),
        ("archive", "", 401, "Authentication required"),
        ("home", "ledger", 401, "Authentication required"),
        ("archive", "team", 401, "Authentication required"),
        ("home", "Ledger", 404, "Workspace not found: Ledger"),
        ("home", "moved, ledger", 404, "Workspace not found: moved, ledger"),
        ("archive", "moved", 404, "Workspace not found: moved"),
    ],
)
def test_requests_that_match_no_group_are_refused(
    groups: Groups, tokens: dict[str, str], group: str, workspace: str, status: int, wrong: str
) -> None:
    headers = bearer(tokens[group]) | ({WORKSPACE: workspace} if workspace else {})
    answer = groups.by_address.tool("memory_inspect", headers)
    assert (answer.status_code, wrong in answer.text) == (status, True), answer.text


def test_a_login_belongs_to_the_group_of_its_host_name(groups: Groups) -> None:
    browser = Browser(groups.by_name, "ledger")
    with let_in(groups.by_name, provider(groups.by_name, Storage(), browser)) as agent:
        agent.store("stored after a login by name")
        assert workspace_of(agent) == "ledger"
    assert "ledger" in browser.pages[0]
    browser = Browser(groups.by_address, "team")
    token = Plain(groups.by_address).logs_in(browser)["access_token"]
    assert groups.by_address.tool("memory_recall", bearer(token), query="team").status_code == 200
    assert "ledger" not in browser.pages[0]
    assert groups.by_name.tool("memory_recall", bearer(token), query="team").status_code == 401


@pytest.mark.parametrize("mode", ["auto", "sse"])
def test_a_host_name_takes_precedence_over_a_header(groups: Groups, tokens: dict[str, str], mode: str) -> None:
    with remote(groups.by_name, mode, **bearer(tokens["archive"], X_Memory_Workspace="team")) as agent:
        assert workspace_of(agent) == "team"
    assert groups.by_name.tool("memory_inspect", bearer(tokens["home"], X_Memory_Workspace="team")).status_code == 401


def test_a_workspace_moves_while_its_clients_work(groups: Groups, tokens: dict[str, str], tmp_path: Path) -> None:
    file = str(tmp_path / "moved.jsonl")
    memoryd(groups.home.environ, "workspace", "create", "moved")
    before = bearer(granted(groups.home, "until it moves", workspace="moved"))
    after = bearer(tokens["archive"], X_Memory_Workspace="moved")
    assert groups.home.tool("memory_store", before, content="The quarry was stored before.").status_code == 200
    memoryd(groups.archive.environ, "workspace", "create", "moved")
    assert groups.by_address.tool("memory_store", after, content="The quarry is stored meanwhile.").status_code == 200
    memoryd(groups.home.environ, "token", "revoke", "until it moves")
    assert groups.home.tool("memory_store", before, content="too late").status_code == 401
    memoryd(groups.home.environ, "export", file, "--workspace", "moved")
    memoryd(groups.archive.environ, "import", file, "--workspace", "moved")
    found = groups.by_address.tool("memory_recall", after, query="quarry").text
    assert all(text in found for text in ("before", "meanwhile"))
    memoryd(groups.home.environ, "workspace", "archive", "moved")
    memoryd(groups.home.environ, "workspace", "delete", "moved", "--yes")
    assert ("moved" in names(groups.home), "moved" in names(groups.archive)) == (False, True)
