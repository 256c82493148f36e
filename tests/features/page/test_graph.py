"""The graph on the page: its picture, its list, one node, what it lacks, and editing."""

import json
from pathlib import Path

import pytest

from memoryd.core.graph import entities, observations, relations, renaming
from memoryd.core.graph.entities import NewEntity
from memoryd.core.graph.relations import Edge
from memoryd.core.graph.transaction import Graph
from memoryd.core.maintenance import scheduler
from tests.core.kit import NOMIC, never, ollama
from tests.features.page.kit import OWN, Html, Site, Visitor, site, undo_of


@pytest.fixture
def graph(here: Site) -> Graph:
    made = Graph(here.scope)
    entities.create(
        made,
        [
            NewEntity(name="Ann", type="person", observations=("likes tea", "knows Bob well")),
            NewEntity(name="Bob", type="person"),
            NewEntity(name="Acme", type="firm"),
        ],
    )
    relations.create(made, [Edge("Ann", "Acme", "works at")])
    return made


def test_the_picture_is_fetched_once_and_again_after_a_change(owner: Visitor, graph: Graph) -> None:
    assert sorted(owner.get("/graph.json").json()["names"]) == ["Acme", "Ann", "Bob"]
    entities.create(graph, [NewEntity(name="Carl", type="person")])
    assert len(owner.get("/graph.json").json()["names"]) == 4


@pytest.mark.stores
def test_a_node_is_edited_in_its_panel(owner: Visitor, graph: Graph) -> None:
    assert "likes tea" in owner.seen("/n?name=Ann").text
    html = owner.done("/n", verb="observe", name="Ann", content="likes coffee")
    assert "likes coffee" in html.text
    assert "likes coffee" not in owner.done(undo_of(html).pop("path"), **undo_of(html)).text
    html = owner.done("/n", verb="summarize", name="Ann", content="Ann, who likes tea.")
    assert "Ann, who likes tea." in html.text
    assert "Ann, who likes" not in owner.done(undo_of(html).pop("path"), **undo_of(html)).text
    assert "Ann" in owner.seen("/upkeep/graph").text
    html = owner.done("/n", verb="replace", name="Ann", ordinal="0", content="likes cocoa")
    assert "likes tea" not in html.text
    assert "likes cocoa" in html.text
    assert "likes cocoa" not in owner.done("/n", verb="unobserve", name="Ann", ordinal="0").text
    html = owner.done("/n", verb="relate", name="Ann", to="Bob", type="knows")
    owner.done(undo_of(html).pop("path"), **undo_of(html))
    assert relations.between(graph, "Ann", "Bob") == []
    assert "knows" in owner.done("/n", verb="relate", name="Ann", to="Bob", type="knows").text
    assert owner.post("/n", verb="relate", name="Ann", to="Stranger", type="knows").status_code == 400
    owner.done("/n", verb="unrelate", name="Ann", **{"from": "Ann", "to": "Bob", "type": "knows"})
    assert relations.between(graph, "Ann", "Bob") == []
    assert "Ann Smith" in owner.done("/n", verb="rename", name="Ann", new_name="Ann Smith").text
    html = owner.done("/n", verb="rename", name="Ann Smith", new_name="Zoe")
    assert "Zoe (person)" in owner.seen("/history?kind=entity&by=memoryd+ui&words=zoe").text
    owner.done("/restore", id=undo_of(html)["id"], at="")
    assert owner.get("/n?name=Ann+Smith").status_code == 200
    html = owner.done("/n", verb="merge", name="Bob", into="Ann Smith")
    owner.done("/restore", id=undo_of(html)["id"], at="")
    assert owner.get("/n?name=Bob").status_code == 200
    owner.done("/n", verb="forget", name="Bob")
    assert owner.get("/n?name=Bob").status_code == 404
    assert owner.post("/n", verb="explode", name="Ann Smith").status_code == 400


@pytest.mark.stores
def test_concurrent_corrections_of_an_observation_are_detected(owner: Visitor, graph: Graph) -> None:
    _, shown, _ = owner.seen("/n?name=Ann").all("input", name="seen")
    mine = {"verb": "replace", "name": "Ann", "ordinal": "0", "content": "likes cocoa", "seen": shown["value"]}
    observations.replace(graph, "Ann", 0, "likes chai")
    answer = owner.post("/n", **mine)
    assert (answer.status_code, "changed again since" in answer.text) == (400, True)
    assert "likes chai" in owner.seen("/n?name=Ann").text
    _, shown, _ = owner.seen("/n?name=Ann").all("input", name="seen")
    assert "likes cocoa" in owner.done("/n", **mine | {"seen": shown["value"]}).text


@pytest.mark.stores
def test_concurrent_changes_of_a_summary_are_detected(owner: Visitor, graph: Graph) -> None:
    shown, *_ = owner.seen("/n?name=Ann").all("input", name="seen")
    mine = {"verb": "summarize", "name": "Ann", "content": "Mine.", "seen": shown["value"]}
    entities.set_summary(graph, "Ann", "Theirs.")
    assert "changed again since" in owner.post("/n", **mine).text
    shown, *_ = owner.seen("/n?name=Ann").all("input", name="seen")
    undo = undo_of(owner.done("/n", **mine | {"seen": shown["value"]}))
    entities.set_summary(graph, "Ann", "Theirs, once more.")
    assert owner.post(undo.pop("path"), **undo).status_code == 400
    assert "Theirs, once more." in owner.seen("/n?name=Ann").text


def test_the_list_of_nodes_goes_back_in_time(here: Site, owner: Visitor, graph: Graph) -> None:
    before = here.engine.clock.now()
    entities.delete(graph, ["Acme"])
    entities.create(graph, [NewEntity(name="Zoe", type="person")])
    owner.done("/n", verb="rename", name="Bob", new_name="Bert")
    then = owner.seen(f"/graph/list?at={before}")
    assert [own["href"].partition("name=")[2].partition("&")[0] for own in then.all("a", class_="row")] == [
        "Acme",
        "Ann",
        "Bob",
    ]
    assert "firm" in Html(owner.request("GET", then.all("a", class_="row")[0]["href"], headers=OWN).text).text
    assert len(owner.seen(f"/graph/list?at={before}&q=FIRM").all("a", class_="row")) == 1
    assert "There were no nodes yet" in owner.seen("/graph/list?at=946684800").text
    assert len(owner.seen("/graph/list?at=946684800&end=946684800").all("a", class_="row")) == 3
    assert owner.get("/graph/list?at=99999999999999").status_code == 400


def test_a_path_leads_from_one_to_the_other(owner: Visitor, graph: Graph) -> None:
    assert "works at" in owner.seen("/graph/path?from=Ann&to=Acme").text
    assert "No relations lead" in owner.seen("/graph/path?from=Bob&to=Acme").text


def test_the_graph_lacks_what_its_texts_mention(owner: Visitor, graph: Graph) -> None:
    refused = undo_of(owner.done("/upkeep/apart", what="gap", one="Ann", other="Bob"))
    text = owner.seen("/upkeep/graph").text
    assert ("Ann mentions Bob" in text, "1 pair that stays unrelated" in text) == (False, True)
    owner.done(refused.pop("path"), **refused)
    assert owner.post("/upkeep/apart", what="else", one="Ann", other="Bob").status_code == 400
    html = owner.seen("/upkeep/graph")
    assert "Ann mentions Bob" in html.text
    fields = {own["name"]: own.get("value", "") for own in html.all("input")}
    made = owner.done("/n", **fields)
    assert "Ann mentions Bob" not in owner.seen("/upkeep/graph").text
    owner.done(undo_of(made).pop("path"), **undo_of(made))
    assert "Ann mentions Bob" in owner.seen("/upkeep/graph").text


@pytest.mark.stores
def test_similar_nodes_are_merged_or_stay_separate(home: Path) -> None:
    def alike(visitor: Visitor) -> list[dict[str, str]]:
        buttons = visitor.seen("/upkeep/graph").all("button")
        sent = [json.loads(own["hx-vals"]) for own in buttons if own.get("hx-post", "").endswith("/apart")]
        return [one for one in sent if one.pop("what") == "pair"]

    with ollama() as model:
        settings = {"MEMORY_EMBEDDER": NOMIC, "OLLAMA_HOST": model.url}
        with site(home, **settings) as here:
            here.engine.helpers.embedder.start()
            graph, owner = Graph(here.scope), here.owner()
            for name in ("Bob", "Bobby", "Robert"):
                entities.create(graph, [NewEntity(name=name, type="person", observations=("rows at dawn",))])
            here.engine.embedding.catch_up(never)
            assert len(alike(owner)) == 3
            undo = undo_of(owner.done("/upkeep/apart", what="pair", one="Robert", other="Bob"))
            assert len(alike(owner)) == 2
            owner.done(undo.pop("path"), **undo)
            assert len(alike(owner)) == 3
            owner.done("/upkeep/apart", what="pair", one="Bob", other="Robert")
            renaming.rename(graph, "Robert", "Rob")
            assert list(scheduler.maintain(here.engine, here.scope.workspace, never)) == []
            assert owner.post("/upkeep/apart", what="pair", one="Bob", other="Stranger").status_code == 404
            assert (
                here.granted("reader").post("/upkeep/apart", what="pair", one="Bob", other="Bobby").status_code == 403
            )
        with site(home, **settings) as here:
            here.engine.helpers.embedder.start()
            assert here.engine.helpers.embedder.get(wait=30)
            owner = here.owner()
            here.engine.embedding.catch_up(never)
            assert sorted(sorted(each.values()) for each in alike(owner)) == [
                ["Bob", "Bobby"],
                ["Bobby", "Rob"],
            ]
            assert "1 pair that stays separate" in owner.seen("/upkeep/graph").text
            assert "by memoryd ui · ui.apart" in owner.seen("/upkeep/graph").text
            merged = owner.done("/n", verb="merge", name="Bobby", into="Bob")
            assert alike(owner) == []
            owner.done("/restore", id=undo_of(merged)["id"], at="")
            here.engine.embedding.catch_up(never)
            assert len(alike(owner)) == 2
