"""Summaries of sessions without a language model, by rules that quote and count.

Title: the first sentence of the first prompt that is no small talk. Summary: the first sentence of each other prompt,
and of the last response, up to a length. Category: the one of CATEGORIES whose words occur in most prompts, the first
one in a tie, else `other`. Technologies: the mentioned ones of TECHNOLOGIES, most frequent first. There are no
scores: rules cannot judge.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from memoryd.core.search.small_talk import is_small_talk
from memoryd.excerpts import cut
from memoryd.model import Interaction
from memoryd.sentences import sentences

TITLE, LINE = 25, 50  # tokens
SUMMARY = 2_000  # characters
NAMED = 12  # maximum technologies

CATEGORIES = {
    "bugfix": "bug bugs bugfix fix fixed fixes error errors crash crashes broken fails failing failure regression",
    "refactoring": "refactor refactoring rename restructure cleanup simplify extract deduplicate",
    "testing": "test tests testing coverage pytest jest",
    "documentation": "docs doc documentation readme changelog docstring tutorial guide",
    "performance": "slow faster performance optimize optimise latency throughput profiling",
    "deployment": "deploy deployment release docker kubernetes ci pipeline rollout",
    "analysis": "analyse analyze research investigate explore compare evaluate why explain understand",
    "feature": "add implement feature create build support introduce new",
}
"""The words of each category. In a tie the first category wins."""

TECHNOLOGIES = frozenset(
    """python javascript typescript java kotlin swift rust golang ruby php c++ c# scala elixir haskell bash powershell
    sql html css nodejs node.js deno react vue svelte angular next.js nuxt django flask fastapi starlette rails laravel
    postgres postgresql mysql sqlite redis mongodb elasticsearch chromadb pgvector kafka rabbitmq docker kubernetes
    terraform ansible aws gcp azure linux macos windows git github gitlab jenkins pytest jest playwright numpy pandas
    pytorch tensorflow onnx openai anthropic claude ollama langchain mcp graphql grpc webpack vite tailwind
    neo.mjs""".split()
)
"""Names of technologies that are not also common English words."""
_TERM = re.compile(r"[a-z0-9][a-z0-9.+#-]*[a-z0-9+#]|[a-z0-9]")


def of(turns: Sequence[Interaction]) -> dict[str, Any]:
    """Return the title, summary, category and technologies of a session, given its turns, at least one."""
    asked = [turn.prompt for turn in turns if not is_small_talk(turn.prompt)] or [turns[0].prompt]
    return {
        "title": title(asked[0]),
        "summary": _summary(asked, turns),
        "category": _category(turns),
        "technologies": tuple(_technologies(turns)),
    }


def title(prompt: str) -> str:
    """Return the title of a session that begins with a prompt."""
    return cut(_first(prompt), TITLE).rstrip(".") or "Untitled"


def _summary(asked: Sequence[str], turns: Sequence[Interaction]) -> str:
    """Return the prompts, turn by turn, and the end, without small talk; if too long, without turns from the middle."""
    prompts = list(dict.fromkeys(filter(None, (cut(_first(prompt), LINE) for prompt in asked))))
    answers = [turn.response for turn in turns if not is_small_talk(turn.response)]
    ended = cut(_first((answers or [turns[-1].response])[-1]), LINE)
    while prompts and sum(map(len, prompts)) + len(prompts) + len(ended) > SUMMARY:
        prompts.pop(len(prompts) // 2)
    further = prompts[1:]  # the first one is the title
    also = ["Also asked:", *map(_closed, further)] if further else []
    return " ".join([*also, *(["At the end:", _closed(ended)] if ended else [])]) or "Asked, without an answer."


def _closed(sentence: str) -> str:
    marks = (".", "!", "?", ":", "\N{HORIZONTAL ELLIPSIS}", "\N{IDEOGRAPHIC FULL STOP}")
    return sentence if sentence.endswith(marks) else f"{sentence}."


def _category(turns: Sequence[Interaction]) -> str:
    prompts = [set(_TERM.findall(turn.prompt.lower())) for turn in turns]
    counts = {name: sum(not terms.isdisjoint(words.split()) for terms in prompts) for name, words in CATEGORIES.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else "other"


def _technologies(turns: Sequence[Interaction]) -> list[str]:
    texts = (text.lower() for turn in turns for text in (turn.prompt, turn.response))
    counts = Counter(term for text in texts for term in _TERM.findall(text) if term in TECHNOLOGIES)
    return [name for name, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:NAMED]]


def _first(text: str) -> str:
    return " ".join(next(iter(sentences(text)), "").split())
