"""What everything in core stands on: the clock, leases, background threads, batches."""
