"""The projects of synced workspaces: a clone of a repository finds the memory that another machine has of it."""

import json

from memoryd.core.workspaces.registry import PERSONAL
from memoryd.features.sync.sync import Sync
from tests.features.sync.kit import Clone, Machine, settle

COMMIT, OTHER, FILE, PATH = f"commit:{'a' * 40}", f"commit:{'b' * 40}", "file:shop", "path:/srv/shop/.git"


def _leads(machine: Machine, *keys: str) -> list[str]:
    """Return the workspaces to which keys lead, '' for none."""
    found = [machine.engine.workspaces.of_keys([key]) for key in keys]
    return [one.name if one else "" for one in found]


def test_a_project_finds_its_workspace_on_another_machine_but_not_by_a_path(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    two.engine.workspaces.ensure(PERSONAL)
    one.engine.workspaces.ensure_of_keys([COMMIT, PATH], "shop")
    settle(one, two)
    assert _leads(two, COMMIT, PATH) == ["shop", ""]
    shop = two.engine.workspaces.ensure_of_keys([COMMIT, "path:/srv/clone/.git"], "clone")
    assert (shop.name, [each.name for each in two.engine.workspaces.included(shop)]) == ("shop", [PERSONAL])
    one.sync()  # gets `personal`
    assert two.sync().sent == one.sync().sent == 0


def test_a_new_machine_reads_what_is_about_the_user_in_its_projects(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    one.engine.workspaces.ensure(PERSONAL)
    one.engine.workspaces.ensure_of_keys([COMMIT], "atlas")
    one.engine.workspaces.ensure("notes")
    settle(one, two)
    read = {name: two.engine.workspaces.included(two.engine.workspaces.find(name)) for name in ("atlas", "notes")}
    assert {name: [each.name for each in found] for name, found in read.items()} == {"atlas": [PERSONAL], "notes": []}


def test_a_key_that_a_workspace_gets_later_is_sent_alone(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    one.engine.workspaces.ensure("shop")
    settle(*pair)
    one.engine.workspaces.lead([FILE], "shop")
    two.engine.workspaces.lead([COMMIT], "shop")
    assert [bool(machine.sync().sent) for machine in (one, two, one, two)] == [True, True, False, False]
    assert _leads(one, FILE, COMMIT) == _leads(two, FILE, COMMIT) == ["shop", "shop"]


def test_a_key_that_leads_somewhere_here_stays_with_that(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    one.engine.workspaces.ensure_of_keys([COMMIT], "shop")
    two.engine.workspaces.ensure_of_keys([COMMIT], "clone")
    settle(one, two, one, two)
    assert _leads(one, COMMIT) + _leads(two, COMMIT) == ["shop", "clone"]
    assert one.sync().sent == two.sync().sent == 0


def test_a_dropped_history_keeps_the_keys(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    one.engine.workspaces.ensure_of_keys([COMMIT], "shop")
    one.sync()
    one.sync(drop_history=True)
    two.sync()
    assert _leads(two, COMMIT) == ["shop"]


def test_who_shares_only_named_workspaces_gets_no_keys(pair: tuple[Machine, Machine]) -> None:
    one, two = pair
    one.engine.workspaces.ensure_of_keys([COMMIT], "team")
    one.sync()
    Sync(two.engine).git.configure("memoryd.workspace", ["team"])
    two.sync()
    assert two.engine.workspaces.get("team")
    assert _leads(two, COMMIT) == [""]


def test_what_belongs_to_no_project_gets_none(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    keys = {"default": [FILE], PERSONAL: [COMMIT]}
    for name in keys:
        one.engine.workspaces.ensure(name)
    one.sync()
    clone.write_all({f"{name}/workspace.json": json.dumps({"name": name, "keys": own}) for name, own in keys.items()})
    two.sync()
    assert _leads(two, FILE, COMMIT) == ["", ""]


def test_only_what_can_be_a_key_is_taken_from_a_file(pair: tuple[Machine, Machine], clone: Clone) -> None:
    one, two = pair
    odd = [PATH, "commit:abc", "file:", "file:a\nb", 7, None, [OTHER]]
    given: dict[str, object] = {"text": OTHER, "mapping": {OTHER: 1}, "none": None, "shop": odd}
    for name in given:
        one.engine.workspaces.ensure(name)
    one.sync()
    clone.write_all({f"{name}/workspace.json": json.dumps({"name": name, "keys": own}) for name, own in given.items()})
    assert not two.sync().remarks
    assert _leads(two, OTHER, *(key for key in odd if isinstance(key, str))) == [""] * 5
    clone.write("shop/workspace.json", json.dumps({"name": "shop", "keys": [*odd, OTHER]}))
    two.sync()
    assert _leads(two, OTHER) == ["shop"]
