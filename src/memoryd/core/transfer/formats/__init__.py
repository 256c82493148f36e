"""Readers of foreign formats, one module each: they yield the items of a source, and write nothing."""
