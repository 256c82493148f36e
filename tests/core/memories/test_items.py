"""What a program keeps under a key of its own is searched without the key."""

from pathlib import Path

import numpy as np
import pytest

from memoryd.core.memories.memories import Memories
from memoryd.core.memories.vault import KeyedChange, Vault
from memoryd.core.records.records import ITEM, full_text
from memoryd.core.scope import Scope
from memoryd.model import GENERAL, VectorSet
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
