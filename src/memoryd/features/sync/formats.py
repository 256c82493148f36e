"""Markdown as a format of exports."""

from memoryd.core.transfer.export_formats import ExportFormat
from memoryd.features.sync import edited, folder

MARKDOWN = ExportFormat(folder=folder.export, archive=folder.archive, is_own=edited.is_own, compare=edited.compare)
