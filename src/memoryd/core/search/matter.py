"""Whether two texts are about one matter, as far as the cross-encoder says."""

import logging

from memoryd.errors import ModelError
from memoryd.models.rerankers import Reranker

log = logging.getLogger(__name__)


def logit(reranker: Reranker | None, older: str, newer: str) -> float | None:
    """Return the cross-encoder's logit of the newer text, asked with the older one; None if it does not say."""
    if reranker is None or not (reranker.reads(older) and reranker.reads(newer)):
        return None
    try:
        return reranker.score(older, [newer])[0]
    except ModelError as error:
        log.warning("what replaces what is judged by words alone: %s", error)
        return None
