"""Exports as Markdown: folders for git, Obsidian and other programs."""

from memoryd.features.base import Feature

FEATURE = Feature(needs="imports", exports={"markdown": "memoryd.features.notes.formats:MARKDOWN"})
