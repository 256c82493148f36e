"""Speed and retrieval quality, run by hand; the figures are in docs/benchmarks.md."""
