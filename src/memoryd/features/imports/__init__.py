"""Imports of the files of other memories, agents and notebooks."""

from memoryd.features.base import Feature

FEATURE = Feature(foreign_import="memoryd.features.imports.command:FOREIGN_IMPORT")
