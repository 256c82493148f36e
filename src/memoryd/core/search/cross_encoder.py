"""What the cross-encoder says of texts; if it fails, it is absent for a while."""

import logging
from collections.abc import Sequence

from memoryd.errors import ModelError
from memoryd.models.helpers import Helpers
from memoryd.models.rerankers import Reranker

log = logging.getLogger(__name__)


def logits(helpers: Helpers, reranker: Reranker, question: str, texts: Sequence[str]) -> list[float]:
    """Return the logit of each text as an answer to a question; none if the cross-encoder fails."""
    try:
        return reranker.score(question, texts)
    except ModelError as error:
        log.warning("not reranked: %s", error)
        helpers.reranker.fail(str(error))
        return []


def matter(helpers: Helpers, reranker: Reranker | None, older: str, newer: str) -> float | None:
    """Return the logit of a newer text, asked with an older one: whether both are about one matter; None if unknown."""
    if reranker is None or not (reranker.reads(older) and reranker.reads(newer)):
        return None
    return next(iter(logits(helpers, reranker, older, [newer])), None)
