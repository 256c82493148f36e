"""The checks of memoryd with a real client. The rule: a model is shown the complete answer once and within the budget,
whichever field of it the client shows.
"""

import json
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from memoryd.features.install.catalog import CLIENTS
from memoryd.features.install.editing import parsed
from memoryd.settings import AUTO, DEFAULT_WORKSPACE
from memoryd.text import estimate_tokens
from tests.http import HttpProcess
from tests.installers import ROOT
from tests.real_clients.agents import Agent, ClaudeCode, Codex
from tests.real_clients.callers import Caller
from tests.real_clients.dialects import Call, Json, compact, text_of
from tests.real_clients.model import DONE, TOOLS, Model
from tests.real_clients.place import Place

FACT = "The station on Kestrel Ridge measures snow at 2412 metres, and Imogen services it every second Tuesday."
QUESTION = "Who services the station on Kestrel Ridge, and at how many metres does it measure snow?"
BUDGET, FRAME = 500, 60
"""The maximum tokens of a recall, and those that a client may add around it."""
LOOKS = 10  # attempts to find a turn: opencode does not wait for its hook
SESSIONS = 3  # attempts: Codex may call its model before a plugin's server is up
STORED: Json = {"content": FACT}
STORE = Call("memory_store", STORED)
RECALL = Call("memory_recall", {"query": QUESTION, "token_budget": BUDGET})
FULL = Call("memory_recall", {"query": "stations, snow, metres, services", "token_budget": BUDGET})
"""Matches more than fits the budget: each of KNOWN has these words."""
NOTE = Call("memory_store", {"content": "Ushuaia was asked about."})
PROMPT = "What is the weather in Ushuaia?"
RECALLS = {"recall": RECALL, "full": FULL, "raw": Call("memory_recall", {**FULL.arguments, "format": "raw"})}

_PLACES = "Albula Bernina Calanda Dossen Engstlen Furka Grimsel Hahnen Iffigen Julier Klausen Lukmanier Maloja Nufenen"
_PEOPLE = "Ann Boris Clara Dmitri Edda Farid Greta Hugo Ines Jonas Katrin Leo Mara Nils"
KNOWN = [
    f"The station on {place} {what} snow at {1200 + 37 * number} metres, and {person} services it in {month}."
    for number, (place, person) in enumerate(zip(_PLACES.split(), _PEOPLE.split(), strict=True))
    for what, month in (("measures", "spring"), ("does not measure", "autumn"), ("once measured", "1998"))
]
"""More than fits the budget, so that a recall is as long as allowed."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one check: the problem, if any, and a measured figure."""

    check: str
    problem: str = ""
    seen: str = ""


def tokens(*texts: str) -> int:
    """Return the tokens of texts, at four characters each."""
    return sum(map(estimate_tokens, texts))


def recalled(check: str, call: Call, shown: str) -> Outcome:
    """Check the answer of a recall as a model sees it: complete, once, within the budget."""
    twice = [fact for fact in (FACT, *KNOWN) if shown.count(fact) > 1]
    size = tokens(shown)
    problem = ""
    if call is RECALL and FACT not in shown:
        problem = f"the fact is not in what is shown: {shown[:200]!r}"
    elif call is not RECALL and size < BUDGET / 2:
        problem = f"less than half of the budget is used: {shown[:200]!r}"
    elif twice:
        problem = f"shown twice: {twice[0]!r}"
    elif size > BUDGET + FRAME:
        problem = f"{size} tokens are shown, but the budget is {BUDGET}"
    return Outcome(check, problem, f"{size} tokens")


# clients that use a model --------------------------------------------------------------------------------------------


def tried(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    """Run all checks of an agent."""
    if agent.configuration:
        place = replace(place, workspace=AUTO)
    place.clear()
    agent.configure(place, model.url)
    place.ask("recall", "memory_store", *({"content": fact} for fact in KNOWN))
    if agent.configuration:
        agent.install(place)
    yield from _tools(agent, place, model)
    if agent.hooks:
        yield from _hooks(agent, place, model)
    if agent.configuration:
        yield _http(agent, place, model)
        if login := agent.login():
            yield _logged_in(agent, place, model, login)
        yield _uninstalled(agent, place)
    yield from _plugin(agent, place, model)


def _session(agent: Agent, place: Place, model: Model, *script: Call, prompt: str) -> str:
    """Run one session; return the problem if it did not finish."""
    model.follow(*script)
    ended = place.run(agent.command(place, model.url, prompt))
    lines = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
    return "" if DONE in ended.stdout else f"it ended with {ended.returncode}: {lines[-1] if lines else 'no output'}"


def _tools(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    problem = _session(agent, place, model, STORE, *RECALLS.values(), prompt="Store this fact, then look it up.")
    offers, results = model.offers(), [result.text for result in model.results()]
    lacking = [tool for tool in TOOLS if tool not in offers]
    shown = tokens(*(offer.whole for offer in offers.values()))
    yield Outcome("tools", f"not offered: {', '.join(lacking)}; {problem}" if lacking else "", f"{shown} tokens")
    if len(results) != 1 + len(RECALLS):
        yield Outcome("store and recall", f"{len(results)} calls were answered; {problem}")
        return
    kept = FACT in place.memoryd("recall", QUESTION)
    field = "structuredContent" if '"status"' in results[0] else "text"
    yield Outcome("store", problem if kept else results[0], field)
    for (check, call), result in zip(RECALLS.items(), results[1:], strict=True):
        yield recalled(check, call, result)


def _hooks(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    """Check the hooks of docs/hooks.md: the model is shown the briefing, and the turn is in the journal."""
    file = place.home / agent.hooks
    there: Json = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    place.write(agent.hooks, there | _documented(agent.hooks))
    problem = _session(agent, place, model, NOTE, prompt=PROMPT)
    yield Outcome("session-start", problem or ("" if FACT in model.words() else "the model is shown no briefing"))
    (turns,) = place.ask("journal", "query_raw_memories", {"query": PROMPT})
    kept = [turn for turn in turns["results"] if turn["prompt"] == PROMPT and turn["response"] == DONE]
    yield Outcome("stop", "" if len(kept) == 1 else f"the turn is in the journal {len(kept)} times: {turns}")
    if isinstance(agent, ClaudeCode | Codex):
        (noted,) = place.ask("recall", "memory_recall", {"query": NOTE.arguments["content"], "format": "raw"})
        called, hooked = {one["session_id"] for one in noted["memories"][:1]}, {turn["sessionId"] for turn in kept}
        yield Outcome("session id", "" if called == hooked else f"tools and hooks differ: {called}, {hooked}")
    if isinstance(agent, ClaudeCode):
        yield from _conversation(agent, place)
    yield from _prompted(agent, place, model)


def _prompted(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    """Check that relevant memories are added to a prompt but not stored with the turn. There is no briefing."""
    file = place.home / agent.hooks
    settings: Json = json.loads(file.read_text(encoding="utf-8"))
    settings["hooks"] = {event: run for event, run in settings["hooks"].items() if event != "SessionStart"}
    place.write(agent.hooks, settings)
    for _ in range(SESSIONS):  # a prompt does not wait until the models are loaded
        problem = _session(agent, place, model, prompt=QUESTION)
        if FACT in model.words():
            break
    yield Outcome(
        "prompt-submit", problem or ("" if FACT in model.words() else "the model is not shown the relevant memory")
    )
    (turns,) = place.ask("journal", "query_raw_memories", {"query": QUESTION})
    prompts = {turn["prompt"] for turn in turns["results"] if "Kestrel" in turn["prompt"]}
    yield Outcome("prompt, stop", "" if prompts == {QUESTION} else f"the turn's prompt is {prompts}")


def _conversation(agent: ClaudeCode, place: Place) -> Iterator[Outcome]:
    """Check that the session is summarized and can be compacted."""
    (summaries,) = place.ask("journal", "get_all_summaries", {})
    ended = [one["title"] for one in summaries["summaries"] if one["title"] == PROMPT]
    yield Outcome("session-end", "" if len(ended) == 1 else f"not one summary of the session: {summaries}")
    output = place.output(agent.compaction())
    good = f"[memoryd hook pre-compact --workspace {AUTO}] completed successfully" in output
    yield Outcome("pre-compact", "" if good else f"it did not run: {output[-300:]}")


def _documented(file: str) -> Json:
    """Return the first hooks that docs/hooks.md shows for a file."""
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    found = re.search(rf"`~/{re.escape(file)}`.*?```json\n(.*?)```", page, re.DOTALL)
    assert found, f"docs/hooks.md does not show {file}"
    hooks: Json = json.loads(found[1])
    return hooks


def _http(agent: Agent, place: Place, model: Model) -> Outcome:
    """Check the first example of docs/clients.md: a server on this machine, configured only by its URL."""
    replace(place, workspace=DEFAULT_WORKSPACE).ask("recall", STORE.tool, STORED)  # over HTTP no project is seen
    server = HttpProcess(place.environment, log=place.root / "server.log")
    try:
        place.memoryd("install", agent.name, "--http", f"{server.url}/mcp")
        problem = _session(agent, place, model, RECALL, prompt="Who services the station?")
    finally:
        server.stop()
    results = model.results()
    return recalled("http", RECALL, results[0].text) if results else Outcome("http", problem or "no answer was shown")


def _logged_in(agent: Agent, place: Place, model: Model, login: Sequence[str]) -> Outcome:
    """Check a server at a public address, to which the client logs in with a browser."""
    with place.published() as url:
        place.memoryd("install", agent.name, "--http", f"{url}/mcp")
        output = place.output(login)
        problem = _session(agent, place, model, RECALL, prompt="Who services the station?")
    results = model.results()
    return recalled("login", RECALL, results[0].text) if results else Outcome("login", f"{problem}; {output[-200:]}")


def _plugin(agent: Agent, place: Place, model: Model) -> Iterator[Outcome]:
    """Check the plugin alone: its tools, its briefing and its turns, in the workspace of the project."""
    place.clear()
    agent.configure(place, model.url)
    if not agent.install_plugin(place):
        return
    place.ask("recall", STORE.tool, STORED)
    for _ in range(SESSIONS):
        problem = _session(agent, place, model, NOTE, RECALL, prompt=PROMPT)
        if model.offers():
            break
    lacking = [tool for tool in TOOLS if tool not in model.offers()]
    yield Outcome("plugin", problem or (f"not offered: {', '.join(lacking)}" if lacking else ""))
    results = [result.text for result in model.results()]
    yield recalled("plugin, recall", RECALL, results[-1] if results else "")
    if agent.hooks:
        briefed = any(FACT in request.words for request in model.requests if not request.results)
        yield Outcome("plugin, session-start", "" if briefed else "the model is shown no briefing")
    for _ in range(LOOKS):
        (turns,) = place.ask("journal", "query_raw_memories", {"query": PROMPT})
        if kept := any(turn["response"] == DONE for turn in turns["results"]):
            break
        time.sleep(1)
    yield Outcome("plugin, stop", "" if kept else f"the turn is not in the journal: {turns}")


def _uninstalled(agent: Agent, place: Place) -> Outcome:
    place.memoryd("uninstall", agent.name)
    text = (place.home / agent.configuration).read_text(encoding="utf-8")
    table = CLIENTS[agent.name].table  # type: ignore[index]
    left = parsed(text, toml=agent.configuration.endswith(".toml")).get(table)
    return Outcome("uninstall", "" if left is None else f"{table} is left: {left}")


def together(agents: Sequence[Agent], place: Place, models: Sequence[Model]) -> Iterator[Outcome]:
    """Check several clients of one user that start at once: they share one service and their memories."""
    place.clear()
    places = [replace(place, variables=agent.variables(model.url)) for agent, model in zip(agents, models, strict=True)]
    for agent, each, model in zip(agents, places, models, strict=True):
        agent.configure(each, model.url)
        agent.install(each)
    facts = [f"{agent.name} was here, and keeps the number {number}." for number, agent in enumerate(agents, start=71)]

    def session(agent: Agent, each: Place, model: Model, fact: str) -> str:
        script = Call("memory_store", {"content": fact}), Call("memory_recall", {"query": fact})
        problem = _session(agent, each, model, *script, prompt="Store this fact, then look it up.")
        shown = [result.text for result in model.results()]
        return problem or ("" if len(shown) == 2 and fact in shown[1] else f"it was shown {shown}")

    with ThreadPoolExecutor(len(agents)) as threads:
        problems = list(threads.map(session, agents, places, models, facts))
    for agent, problem in zip(agents, problems, strict=True):
        yield Outcome(f"{agent.name} at once", problem)
    running = json.loads(place.memoryd("service", "status", "--json"))
    ours = [one for one in running["services"] if Path(one["place"]).is_relative_to(place.home)]
    one = len(ours) == 1 and not running["silent"]  # the user's own services may be listed too
    yield Outcome("one service", "" if one else f"not one service: {running}")
    found = place.memoryd("recall", "Which number does each keep?")
    lost = [fact for fact in facts if fact not in found]
    yield Outcome("what each stored", f"not found: {lost}" if lost else "")


def synced(agent: Agent, places: Sequence[Place], model: Model) -> Iterator[Outcome]:
    """Check two homes of one user with a repository: stored in one, corrected in the other, forgotten in the first.

    Nothing but the hooks of sessions syncs.
    """
    one, two = places = [replace(place, workspace=AUTO) for place in places]
    url = one.root.parent / "shared.git"
    shutil.rmtree(url, ignore_errors=True)  # an earlier run's
    for place in places:
        place.clear()
        agent.configure(place, model.url)
        place.memoryd("install", agent.name, *agent.options)
        there: Json = json.loads((place.home / agent.hooks).read_text(encoding="utf-8"))
        place.write(agent.hooks, there | _documented(agent.hooks))
    one.output(["git", "init", "--quiet", "--bare", str(url)])
    for place in places:
        place.memoryd("sync", "init", str(url))
    later = FACT.replace("second Tuesday", "Monday")

    def session(place: Place, *script: Call) -> str:
        return _session(agent, place, model, *script, prompt="Look after the memory.")

    def shows(place: Place, text: str, *, absent: str = "") -> str:
        for _ in range(LOOKS):  # each session syncs in the background when it starts and ends
            found = place.ask("recall", RECALL.tool, {"query": QUESTION, "format": "raw"})[0]["memories"]
            facts = [str(memory["content"]) for memory in found]
            if (not text or text in facts) and absent not in (facts if absent else ()):
                return ""
            session(place)
            time.sleep(1)
        return f"it has {facts}"

    def known(place: Place) -> str:
        found = place.ask("recall", RECALL.tool, {"query": QUESTION, "format": "raw"})[0]["memories"]
        return str(found[0]["id"]) if found else ""

    problem = session(one, STORE)
    yield Outcome("stored on one", problem or shows(two, FACT))
    problem = session(two, Call("memory_store", {"content": later, "supersedes": [known(two)]}))
    yield Outcome("corrected on the other", problem or shows(one, later, absent=FACT))
    problem = session(one, Call("memory_forget", {"ids": [known(one)]}))
    yield Outcome("forgotten on the first", problem or shows(two, "", absent=later))


# clients that call tools themselves ----------------------------------------------------------------------------------


def called(caller: Caller, place: Place) -> Iterator[Outcome]:
    """Run all checks of a caller, which sees both fields of an answer."""
    place.clear()
    place.ask("recall", "memory_store", *({"content": fact} for fact in KNOWN))
    tools, (stored, *answers) = caller.call(place, STORE, *RECALLS.values())
    lacking = [name for name in TOOLS if name not in {tool["name"] for tool in tools}]
    shown = tokens(*map(compact, tools))
    yield Outcome("tools", f"not offered: {', '.join(lacking)}" if lacking else "", f"{shown} tokens")
    yield Outcome("store", text_of(stored["content"]) if stored.get("isError") else "")
    for (check, call), answer in zip(RECALLS.items(), answers, strict=True):
        for field in ("content", "structuredContent"):
            if field in answer:
                yield recalled(f"{check}, {field}", call, text_of(answer[field]))
