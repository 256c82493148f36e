"""Markdown as a format of exports."""

from memoryd.core.transfer.export_formats import ExportFormat
from memoryd.features.notes import folder, markdown_zip

MARKDOWN = ExportFormat(folder=folder.export, archive=markdown_zip.export)
