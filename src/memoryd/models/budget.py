"""What may be asked of a language model within an hour."""

from limits import RateLimitItemPerHour
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

from memoryd.errors import ModelError


class HourlyBudget:
    """See models.llm.Budget."""

    def __init__(self, calls: int, tokens: int) -> None:
        self._calls, self._tokens = RateLimitItemPerHour(calls), RateLimitItemPerHour(tokens)
        self._spent = MovingWindowRateLimiter(MemoryStorage())

    def take(self, tokens: int) -> None:
        """One call of about so many tokens. Raises ModelError where that is more than there is left."""
        if not self._spent.test(self._tokens, cost=tokens) or not self._spent.hit(self._calls, "calls"):
            raise ModelError(
                f"The budget for this hour is spent: {self._calls.amount} calls (MEMORY_LLM_CALLS), "
                f"{self._tokens.amount} tokens (MEMORY_LLM_TOKENS)."
            )

    def spend(self, tokens: int) -> None:
        """So many were needed."""
        self._spent.hit(self._tokens, cost=max(tokens, 1))
