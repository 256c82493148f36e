"""The foundations of core: the clock, leases, background threads, batches, token budgets."""
