"""What a program keeps under a key of its own is searched without the key, and rated without its tags."""

from pathlib import Path

import numpy as np
import pytest

from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import KeyedChange, Vault
from memoryd.core.records.records import FILE, ITEM, full_text
from memoryd.core.scope import Scope
from memoryd.core.search.pipeline import Search
from memoryd.model import GENERAL, Filter, VectorSet
from tests.clients import PATIENCE
from tests.core.kit import with_models


@pytest.mark.models
def test_the_key_of_an_item_is_no_part_of_its_text(home: Path, model_dir: Path) -> None:
    with with_models(home, model_dir) as made:
        scope = Scope(made, made.workspaces.ensure("default"))
        vault, plain = Vault(scope), Memories(scope).store("Likes green tea.").id
        for text in ("Likes coffee.", "Likes green tea."):
            vault.change([KeyedChange(key="app/ann/7f3b", content=text, type=ITEM)])
        vault.change([KeyedChange(key="drinks", content="Likes green tea.")])
        item, keyed = vault.get("app/ann/7f3b"), vault.get("drinks")
        assert [full_text(one) for one in (item, keyed)] == ["Likes green tea.", "drinks: Likes green tea."]
        (passage,) = scope.passages(["Likes green tea."])
        assert passage
        of = VectorSet(GENERAL, passage.model)
        vectors = scope.read(lambda queries: scope.index.vectors(queries, of, [plain, item.id, keyed.id]))
        assert np.allclose(vectors[item.id], vectors[plain], atol=1e-6)
        assert not np.allclose(vectors[keyed.id], vectors[plain], atol=1e-2)


@pytest.mark.models
def test_the_tags_of_a_program_are_not_read_with_its_texts(home: Path, model_dir: Path) -> None:
    with with_models(home, model_dir) as made:
        scope = Scope(made, made.workspaces.ensure("default"))
        made.helpers.start()
        assert made.helpers.reranker.get(PATIENCE)
        for key, type_ in (("item", ITEM), ("file", FILE), ("own", "")):
            tags = ["agents", "field=text"]
            Vault(scope).change([KeyedChange(key=key, content="Ann likes green tea.", tags=tags, type=type_)])
        read = {
            key: Search(scope).hits("What does Ann drink?", Filter(among=(Vault(scope).get(key).id,))).best[0]
            for key in ("item", "file", "own")
        }
        assert read["item"].why["reranker"] > read["file"].why["reranker"] > read["own"].why["reranker"]
