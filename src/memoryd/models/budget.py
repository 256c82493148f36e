"""The hourly budget of requests to a language model."""

import threading

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from memoryd.errors import ModelError


class HourlyBudget:
    """See models.llm.UsageBudget."""

    def __init__(self, calls: int, tokens: int) -> None:
        self._calls, self._tokens = RateLimitItemPerHour(calls), RateLimitItemPerHour(tokens)
        self._spent = MovingWindowRateLimiter(MemoryStorage())
        self._lock = threading.Lock()

    def take(self, tokens: int) -> None:
        """Reserve one call of about `tokens` tokens. Raise ModelError if the budget does not allow it."""
        if not self._spent.test(self._tokens, cost=tokens) or not self._spent.hit(self._calls, "calls"):
            raise ModelError(
                f"The budget for this hour is spent: {self._calls.amount} calls, "
                f"{self._tokens.amount} tokens (MEMORY_LLM_TOKENS)."
            )

    def spend(self, tokens: int) -> None:
        """Record the number of tokens that were used; if that is more than is left, then all that is left."""
        with self._lock:
            left = self._spent.get_window_stats(self._tokens).remaining
            self._spent.hit(self._tokens, cost=max(min(tokens, left), 1))  # what does not fit would not be recorded
