"""Speed and retrieval quality, run by hand; the figures are in docs/benchmarks.md."""

from memoryd import environment

environment.limit_threads()
