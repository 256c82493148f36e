"""The memory as a tree of readable files: for people and Obsidian, and on several machines through git."""

from memoryd.features.base import Feature

FEATURE = Feature(
    needs="imports",
    commands={"Memories": {"sync": "memoryd.features.sync.command:app"}},
    exports={"markdown": "memoryd.features.sync.edited:MARKDOWN"},
    session_hook="memoryd.features.sync.sync:sync_later",
    state="memoryd.features.sync.status:described",
)
