"""Learned helpers behind small protocols: embedders, rerankers, language models. Each may be absent."""

from memoryd.environment import silence

silence()
