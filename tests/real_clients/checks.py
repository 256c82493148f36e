"""What is expected of memoryd under a real client. The rule: what a model is shown of an answer is the whole answer,
once, within the budget; whichever field of it a client shows.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from memoryd.cli.clients import CLIENTS
from memoryd.cli.configs import is_toml, parsed
from memoryd.text import estimate_tokens
from tests.http import HttpServer
from tests.real_clients.agents import Agent
from tests.real_clients.callers import Caller
from tests.real_clients.dialects import Call, Json, compact, text_of
from tests.real_clients.model import DONE, TOOLS, Model
from tests.real_clients.place import ROOT, Place

FACT = "The station on Kestrel Ridge measures snow at 2412 metres, and Imogen services it every second Tuesday."
QUESTION = "Who services the station on Kestrel Ridge, and at how many metres does it measure snow?"
STORE = Call("memory_store", {"content": FACT})
BUDGET = 500
RECALL = Call("memory_recall", {"query": QUESTION, "token_budget": BUDGET})
FRAME = 60
"""Tokens that a client may put around an answer."""

_PLACES = "Albula Bernina Calanda Dossen Engstlen Furka Grimsel Hahnen Iffigen Julier Klausen Lukmanier Maloja Nufenen"
_PEOPLE = "Ann Boris Clara Dmitri Edda Farid Greta Hugo Ines Jonas Katrin Leo Mara Nils"
KNOWN = [
    f"The station on {place} {what} snow at {1200 + 37 * number} metres, and {person} services it in {month}."
    for number, (place, person) in enumerate(zip(_PLACES.split(), _PEOPLE.split(), strict=True))
    for what, month in (("measures", "spring"), ("does not measure", "autumn"), ("once measured", "1998"))
]
"""More than the budget holds, so that a recall is as long as it may be."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One check: what is wrong, if anything, and what was seen."""

    check: str
    problem: str = ""
    seen: str = ""


def tokens(*texts: str) -> int:
    """The tokens of what is shown, at four characters each."""
    return sum(map(estimate_tokens, texts))


def whole_once_within(shown: str) -> str:
    """Say what is wrong with the answer of a recall as a model is shown it; '' if nothing is."""
    twice = [fact for fact in (FACT, *KNOWN) if shown.count(fact) > 1]
    if FACT not in shown:
        return f"the fact is not in what is shown: {shown[:200]!r}"
    if twice:
        return f"shown twice: {twice[0]!r}"
    if tokens(shown) > BUDGET + FRAME:
        return f"{tokens(shown)} tokens are shown, where {BUDGET} were asked for"
    return ""


# clients that ask a model --------------------------------------------------------------------------------------------


def tried(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    """Everything that is checked of an agent."""
    place.clear()
    agent.configure(place, model.url)
    place.know(KNOWN)
    if agent.configuration:
        place.memoryd("install", agent.name)
    yield from _tools(agent, place, model)
    if agent.hooks:
        yield from _hooks(agent, place, model)
    if agent.configuration:
        yield _http(agent, place, model)
        yield _uninstalled(agent, place)


def _session(agent: Agent, place: Place, model: Model, *script: Call, prompt: str) -> str:
    """One session: what is wrong where it did not come to its end."""
    model.follow(*script)
    ended = place.run(agent.command(place, model.url, prompt))
    said = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
    return "" if DONE in ended.stdout else f"it ended with {ended.returncode}: {said[-1] if said else 'without a word'}"


def _tools(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    problem = _session(agent, place, model, STORE, RECALL, prompt="Keep what I told you, then look it up.")
    offers, results = model.offers(), [result.text for result in model.results()]
    lacking = [tool for tool in TOOLS if tool not in offers]
    shown = tokens(*(offer.whole for offer in offers.values()))
    yield Outcome("tools", f"not offered: {', '.join(lacking)}; {problem}" if lacking else "", f"{shown} tokens")
    kept = FACT in place.memoryd("recall", QUESTION)
    yield Outcome("store", "" if kept else problem or str(results[:1]), f"shown: {results[0]}" if results else "")
    recalled = results[1] if len(results) > 1 else ""
    yield Outcome("recall", whole_once_within(recalled) if recalled else problem, f"{tokens(recalled)} tokens")


def _hooks(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    """Hooks as docs/hooks.md shows them: the briefing is in the first request, and the turn in the journal."""
    file = place.home / agent.hooks
    there: Json = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    place.write(agent.hooks, there | _documented(agent.hooks))
    prompt = "What is the weather in Ushuaia?"
    problem = _session(agent, place, model, prompt=prompt)
    yield Outcome("briefing", problem or ("" if FACT in model.words() else "the briefing is not in what is shown"))
    if agent.keeps_turns:
        found = place.memoryd("recall", prompt)
        yield Outcome("turns", problem or ("" if prompt in found else f"the turn is not found: {found!r}"))


def _documented(file: str) -> Json:
    """The hooks that docs/hooks.md shows first for a file."""
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    found = re.search(rf"`~/{re.escape(file)}`.*?```json\n(.*?)```", page, re.DOTALL)
    assert found, f"docs/hooks.md shows no {file}"
    hooks: Json = json.loads(found[1])
    return hooks


def _http(agent: Agent, place: Place, model: Model) -> Outcome:
    """The first example of docs/clients.md: a server on this machine, and no more said than its URL."""
    server = HttpServer(place.environment, log=place.root / "server.log")
    try:
        place.memoryd("install", agent.name, "--http", f"{server.url}/mcp")
        problem = _session(agent, place, model, RECALL, prompt="Who services the station?")
    finally:
        server.stop()
    shown = "".join(result.text for result in model.results())
    return Outcome("http", whole_once_within(shown) if shown else problem or "memory was not there")


def _uninstalled(agent: Agent, place: Place) -> Outcome:
    place.memoryd("uninstall", agent.name)
    text = (place.home / agent.configuration).read_text(encoding="utf-8")
    table = CLIENTS[agent.name].table  # type: ignore[index]
    left = parsed(text, toml=is_toml(agent.configuration)).get(table)
    return Outcome("uninstall", "" if left is None else f"{table} is left: {left}")


# clients that call tools themselves ----------------------------------------------------------------------------------


def called(caller: Caller, place: Place) -> Iterator[Outcome]:
    """Everything that is checked of a caller, which sees both fields of an answer."""
    place.clear()
    place.know(KNOWN)
    tools, (stored, recalled) = caller.call(place, STORE, RECALL)
    lacking = [name for name in TOOLS if name not in {tool["name"] for tool in tools}]
    yield Outcome("tools", f"not offered: {', '.join(lacking)}" * bool(lacking), f"{tokens(*map(compact, tools))} tokens")
    yield Outcome("store", text_of(stored["content"]) if stored.get("isError") else "")
    for field in ("content", "structuredContent"):
        if field in recalled:
            shown = text_of(recalled[field])
            yield Outcome(f"recall, {field}", whole_once_within(shown), f"{tokens(shown)} tokens")
