"""What writes text."""

from typing import Protocol


class Llm(Protocol):
    """A language model behind one verb. Safe to use from several threads."""

    name: str

    def complete(self, system: str, prompt: str, max_tokens: int) -> str:
        """The model's answer of at most `max_tokens` tokens. Raises ModelError."""
        ...
