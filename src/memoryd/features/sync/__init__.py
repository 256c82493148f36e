"""One memory on several machines, as a repository of git that holds it as readable files."""

from memoryd.features.base import Feature

FEATURE = Feature(
    commands={"Memories": {"sync": "memoryd.features.sync.command:app"}},
    session_hook="memoryd.features.sync.background:sync_later",
    state="memoryd.features.sync.status:described",
)
