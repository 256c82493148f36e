"""Readers of foreign formats, one module for each: they yield the items of a source, and write nothing."""
