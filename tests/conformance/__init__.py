"""The official conformance suite: a server with the features that it tests, and a runner."""
