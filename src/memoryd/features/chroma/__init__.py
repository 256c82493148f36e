"""The journal in ChromaDB instead of the store."""

from memoryd.features.base import Feature

FEATURE = Feature(journal="memoryd.features.chroma.opening:opened")
