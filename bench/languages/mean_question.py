"""Makes src/memoryd/core/search/mean_question.txt: the mean vector of plain questions in 21 languages.

    python -m bench.languages.mean_question

mean_question.txt here has the same sixteen questions in each language, a language a line. Run it again for another
multilingual model.
"""

import base64
from pathlib import Path

import numpy as np

from memoryd.core.search.unread import MEAN_QUESTION
from memoryd.models.embedders import MULTILINGUAL, load_embedder
from memoryd.settings import Settings


def main() -> None:
    embedder = load_embedder(MULTILINGUAL, Settings.read())
    assert embedder
    lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    questions = [question for line in lines for question in line.split("|")[1:]]
    mean = np.mean([embedder.embed_query(question) for question in questions], axis=0)
    MEAN_QUESTION.write_bytes(base64.encodebytes(mean.astype("<f2").tobytes()))
    print(f"{MEAN_QUESTION}: {len(questions)} questions")


if __name__ == "__main__":
    main()
