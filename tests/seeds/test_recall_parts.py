"""What a recall shows of texts that do not fit, and what it finds for a query that was pasted, with the models."""

import pytest

from tests.clients import Agent

CALL = (
    "Notes from the call with Ashdown House. Colin Reyes says the trustees like the orchard, but they have cut the "
    "budget for the walled garden from 18,000 to 12,500 pounds. He would rather lose the second pergola than the brick "
    "paths, because Lady Ashdown walks there every day. The pond repair is separate and is paid by the insurance once "
    "the assessor, a Dr. Lindqvist, has been. He comes on 3 December at 10 a.m. and needs the liner's data sheet. He "
    "also asked whether we can lend two people for the Christmas market on 5 and 6 December. The deer fence has to be "
    "1.8 m high. At the end he mentioned that the neighbour has complained about the chipper's noise before 8 o'clock."
)
PLAN = """Planting plan for Ashdown House, long border, agreed with Colin Reyes on site:

| bay | plant | number | spacing cm | note |
| --- | --- | --- | --- | --- |
| 1 | Salvia nemorosa Caradonna | 24 | 35 | cut back in July |
| 2 | Geranium Rozanne | 15 | 45 | covers the manhole |
| 3 | Echinacea pallida | 18 | 40 | from Bernhard's |
| 4 | Molinia Transparent | 9 | 80 | stands until February |
| 5 | Aster Little Carlow | 21 | 45 | stake with hazel |
| 6 | Helleborus, mixed | 30 | 30 | under the amelanchier |

Edging is reclaimed brick on edge. Mulch with 5 cm composted bark. Water twice a week until October."""
OTHERS = [
    "Soil at Ashdown House is sandy loam, pH 6.1.", "The pond at Ashdown House leaks on the north side.",
    "Our accountant is Judith Vance.", "The yard opens at 6:45 and closes at 17:30.", "Alma may not eat nuts.",
    "The dumper is insured with Hartwell Mutual.", "Buy peat-free compost only.", "Skip hire is with Donnelly.",
    "Turf is ordered from Rolawn by Wednesday noon.", "Payment provider is Adyen; refunds take five working days.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("What was noted about noise at Ashdown House?", "noise before 8"),
        ("Who goes to the Christmas market from Ashdown House?", "lend two people"),
        ("Which plant stands until February at Ashdown House?", "| 4 | Molinia"),
        ("How often do we water the border at Ashdown House?", "Water twice a week"),
        ("How much was the budget for the walled garden of Ashdown House cut?", "12,500"),
    ],
)
def test_a_part_that_does_not_repeat_what_the_text_is_about_is_shown(memory: Agent, question: str, says: str) -> None:
    memory.store_all([CALL, PLAN])
    answer = memory.text("memory_recall", query=question, token_budget=130)
    assert says in answer
    assert "more tokens" in answer


def test_a_small_budget_shows_the_first_hit_cut_and_not_only_shorter_ones(memory: Agent) -> None:
    memory.store_all([PLAN, *OTHERS])
    answer = memory.text("memory_recall", query="How is the Aster in bay 5 at Ashdown House staked?", token_budget=100)
    assert "| 5 | Aster" in answer


TRACE = "".join(
    f'  File "/srv/shop/m_{n}.py", line {7 * n}, in h_{n}\n    return await call_{n}(request)\n' for n in range(9)
)


@pytest.mark.parametrize("times", [1, 5])
def test_a_pasted_traceback_finds_first_what_its_error_is_about_and_hardly_more(memory: Agent, times: int) -> None:
    memory.store_all(OTHERS)
    query = f"Traceback (most recent call last):\n{TRACE * times}TimeoutError: Adyen refund did not answer"
    answer = memory.text("memory_recall", query=query)
    assert OTHERS[-1] in answer.partition("] ")[2].splitlines()[0]
    assert answer.count("\n- ") <= 3


def test_a_long_query_of_one_line_may_have_syntax(memory: Agent) -> None:
    memory.store_all(OTHERS)
    query = " OR ".join([f"turf{n}" for n in range(80)] + ["dumper"])
    assert memory.found(query) == ["The dumper is insured with Hartwell Mutual."]


def test_a_question_before_a_pasted_text_is_answered(memory: Agent) -> None:
    memory.store_all(OTHERS)
    query = f"Who is our accountant? She has to see this.\n{TRACE * 5}"
    assert memory.found(query, token_budget=500)[0] == "Our accountant is Judith Vance."
