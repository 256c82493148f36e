"""Exports as Markdown: folders for git, Obsidian and other programs."""

from memoryd.features.base import Feature

FEATURE = Feature(exports={"markdown": "memoryd.features.notes.formats:MARKDOWN"})
