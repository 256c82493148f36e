"""What the official conformance suite calls: each feature of the protocol once, over the real server's transports."""
