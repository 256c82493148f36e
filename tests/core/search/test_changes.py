"""Which words tell a change from two facts that both hold: for a question, and for what a new text may replace."""

from dataclasses import replace
from itertools import filterfalse, permutations

import pytest

from memoryd.core.search import changes
from memoryd.core.search.asked_values import has_asked_value, lacks_asked_value
from memoryd.core.search.compared import compared, stems
from memoryd.core.search.current import COMMON, common_stems, is_statement

READ = changes.Logits(older=8.5, newer=4.5, matter=3.0)
"""What the cross-encoder says where both texts answer, and are about one matter."""
APART = changes.Logits(older=8.5, newer=-11.0, matter=-10.5)
UNREAD = changes.Logits(older=8.5)

CHANGED = {
    "value": (
        "How long may a tenant keep the bike in the cellar?",
        "A tenant may keep a bike in the cellar for 14 days.",
        "A tenant may keep a bike in the cellar for 30 days.",
    ),
    "time": (
        "When does the ferry leave for the island?",
        "The ferry leaves for the island at 08:40.",
        "The timetable changed: the ferry to the island leaves at 09:05.",
    ),
    "person": (
        "Who is responsible for the greenhouse?",
        "Torben is responsible for the greenhouse.",
        "Signe took over the greenhouse from Torben.",
    ),
    "place": (
        "Where are the spare fuses?",
        "The spare fuses are in the drawer below the oven.",
        "The spare fuses have moved to the box beside the meter.",
    ),
    "negation": (
        "Does Runa drink coffee?",
        "Runa drinks coffee with oat milk.",
        "Runa no longer drinks coffee, only mint tea.",
    ),
    "named old value": (
        "Which map library does the tracker use?",
        "The tracker draws its maps with Leaflet.",
        "We switched the tracker's maps from Leaflet to MapLibre.",
    ),
    "end": (
        "Is the pool in the Weststrasse open?",
        "The pool in the Weststrasse is open from 7:00 on.",
        "The pool in the Weststrasse has closed for good.",
    ),
    "amount": (
        "What does a season ticket of the museum cost?",
        "A season ticket of the museum costs 48 euros.",
        "Since spring a season ticket of the museum costs 55 euros.",
    ),
    "label": (
        "Which port does the mail relay use?",
        "The mail relay listens on port 2525.",
        "The mail relay now listens on port 2587.",
    ),
    "correction": (
        "How many seats has the small hall?",
        "The small hall has 120 seats.",
        "Correction: the small hall has 96 seats.",
    ),
    "weekday": (
        "On which day is the choir?",
        "The choir meets on Mondays.",
        "The choir was rescheduled to Thursdays.",
    ),
    "pronoun": (
        "Where does Odile work?",
        "Odile works at the observatory.",
        "Odile left the observatory in May; she teaches in Graz now.",
    ),
    "span of days": (
        "Which days does Aino mind the phone?",
        "The phone is with Aino from Friday to Sunday.",
        "On-call phone: Aino has it from Monday to Wednesday, Torben has the weekends.",
    ),
    "old one leaves": (
        "Who stands in for me at the clinic?",
        "Runa stands in for me at the clinic.",
        "At the clinic Ivo stands in for me; Runa is leaving for Graz.",
    ),
    "whole clause": (
        "Who coxes the launch on Sunday?",
        "Torben Lund coxes the safety launch on Sundays.",
        "Torben's knee is bad, so it's Signe Holt in the safety launch on Sundays.",
    ),
    "end of a contract": (
        "Who insures the boat?",
        "Insurance of the boat: Nordhus, 412 euros.",
        "Signed with Sparring for the boat; the Nordhus contract ends on 31 October.",
    ),
    "a part of a name": (
        "What grows on the upper terrace at Wenlock Farm?",
        "The upper terrace at Wenlock Farm is planted with leeks.",
        "Sown rye and vetch on Wenlock's upper terrace after the leeks.",
    ),
    "a new one of its kind": (
        "Which laptop does Ingrid use?",
        "Ingrid uses a ThinkPad.",
        "Ingrid has a new laptop, a Framework.",
    ),
    "since then": (
        "When is the bar open?",
        "The bar is open until 22:00.",
        "Since last week the bar is open until 23:30.",
    ),
}  # fmt: skip
"""Questions, with a fact and what changed it."""

BOTH = {
    "front and back": (
        "What is the code of the back gate?",
        "The code of the back gate is 7719.",
        "The code of the front gate is 3302.",
    ),
    "two people": (
        "Which size of boots has Jorun?",
        "Jorun has boots of size 39.",
        "Eskil has boots of size 44.",
    ),
    "two environments": (
        "Which port has the queue in staging?",
        "The queue in staging listens on port 5672.",
        "The queue in production listens on port 5671.",
    ),
    "two months": (
        "What did we pay for heating in January?",
        "Heating cost 212 euros in January.",
        "Heating cost 187 euros in February.",
    ),
    "two versions": (
        "Which Java does version 3 of the importer need?",
        "Version 3 of the importer needs Java 11.",
        "Version 4 of the importer needs Java 17.",
    ),
    "two rooms": (
        "Which bulb fits the kitchen lamp?",
        "The kitchen lamp takes a bulb of 9 watts.",
        "The hallway lamp takes a bulb of 5 watts.",
    ),
    "two animals": (
        "When is the vaccination of the cat due?",
        "The cat's vaccination is due on 3 March.",
        "The dog's vaccination is due on 19 April.",
    ),
    "more of the same": (
        "What does Benedikt like to eat?",
        "Benedikt likes to eat lentil soup.",
        "Benedikt also likes plum cake.",
    ),
    "cause": (
        "Why did the export fail?",
        "The export failed because the disk was full.",
        "The export writes one file a day.",
    ),
    "two siblings": (
        "When is my sister's birthday?",
        "My sister's birthday is on 4 June.",
        "My brother's birthday is on 21 October.",
    ),
    "internal and external": (
        "What is the address of the internal wiki?",
        "The internal wiki is at wiki.lan.",
        "The external wiki is at docs.example.org.",
    ),
    "two floors": (
        "How much does the first-floor studio cost?",
        "The studio on the first floor costs 640 euros.",
        "The studio on the second floor costs 720 euros.",
    ),
    "two spans": (
        "What is added for a visit between 20:00 and midnight?",
        "Visits between 20:00 and midnight cost 38 euros more.",
        "Visits between midnight and 6:00 cost 44 euros more.",
    ),
    "two things done": (
        "Who coxes the launch on Sunday?",
        "Torben coxes the launch on Sundays.",
        "Signe scrubs the launch on Sundays.",
    ),
    "another subject": (
        "Which paint did we use for the fence?",
        "We painted the fence with larch oil.",
        "We painted the shed with red ochre.",
    ),
}  # fmt: skip
"""Questions, with a fact that answers, and a later one that changes nothing about it."""


def is_change(pair: tuple[str, str, str], logits: changes.Logits = READ) -> bool:
    return changes.evidence(*pair, logits).total >= changes.ENOUGH


@pytest.mark.parametrize("least", [0.25, 1.5, changes.ENOUGH])
@pytest.mark.parametrize("logits", [READ, APART, UNREAD])
def test_what_is_left_out_below_a_sum_decides_nothing(logits: changes.Logits, least: float) -> None:
    for pair in BOTH.values():
        whole, part = changes.evidence(*pair, logits), changes.evidence(*pair, logits, least=least)
        assert (part.total >= least) == (whole.total >= least)
        assert part.total >= whole.total


def test_a_change_that_answers_is_one() -> None:
    assert [name for name, pair in CHANGED.items() if not is_change(pair)] == []


@pytest.mark.parametrize("logits", [UNREAD, APART, changes.Logits(older=8.5, newer=-5.7, matter=-5.3)])
def test_two_facts_that_both_hold_are_no_change(logits: changes.Logits) -> None:
    assert [name for name, pair in BOTH.items() if is_change(pair, logits)] == []


ADDED = [
    ("Which languages does Oskar speak?", "Oskar speaks Danish.", "Oskar speaks Polish, too."),
    ("What is Lene allergic to?", "Lene is allergic to hazelnuts.", "Lene is allergic to cat hair."),
    ("Who is in the garden committee?", "Frieda is in the garden committee.", "Matthis is in the garden committee."),
    ("Where do we have servers?", "We have a server in Falkenstein.", "We have another server in Ashburn."),
    ("What does the linter complain about?", "The linter complains about unused imports.",
     "The linter complains about long lines."),
    ("When can I see the doctor?", "The doctor is there at 8:30 on Mondays.", "The doctor is also there at 14:00."),
]  # fmt: skip
"""Questions with several answers, and two of them."""


ASIDE = [
    ("Who is captain of the club?", "The club's captain is Aino.", "The club has a new mascot, a stork."),
    ("Which bank has our loan?", "Our loan is with Nordhus.", "We opened another new account at Sparring."),
    ("Where is Chidi's passport?", "Chidi's passport is in the hall.", "Chidi's green card is in the kitchen now."),
    ("What does Aino play in the band?", "Aino plays the cello in the band.", "Aino's sister has joined the band."),
    ("When is the shop locked?", "The shop is locked at 19:00.", "Last Friday the shop stayed open until 22:00."),
    ("When is Juniper deployed?", "Juniper is deployed on Tuesdays.", "A fix of Juniper went out on Sunday night."),
    ("When is Aino's birthday?", "Aino was born on 3 May 2016.", "Aino's elder brother Timo was born on 9 June 2012."),
    ("When is Aino's handball?", "Aino's football is on Mondays.", "Aino has handball on Fridays now."),
    ("When may I visit gran?", "Gran has visitors from 14:00.", "Since Monday grandad has visitors until 20:00."),
    ("How many approvals does it need?", "A change needs two approvals.", "Exception: a text in docs/ needs one only."),
    ("What did the fair of 2023 cost?", "The fair of 2023 cost 800 euros.", "The fair of 2024 was 240 euros cheaper."),
    ("When must Aino be in bed?", "Aino's bedtime is 19:45.", "Since spring her big brother may stay up until 21:00."),
    ("Until when is it open in July?", "Until 17:00 it is open in July.", "April to June it is open until 21:30 now."),
    ("How is heron-02 renewed?", "Certbot renews heron-02.", "Since May kestrel-01 is renewed by hand."),
    ("How many parts has orders.made?", "Topic orders.made: 24 parts.", "Topic orders.gone has only 6 parts."),
    ("When does it take calls?", "From 8:00 to 12:00 it takes calls.", "From 13:00 to 15:00 it is open to visitors."),
    ("At what hour is the server saved?", "The server is saved at 02:30.", "A test of it was done in 41 minutes."),
    ("What is the timeout of the pool?", "The pool's timeout is 5 s.", "The export overrides its timeout: 90 s."),
]  # fmt: skip
"""Questions with an answer, and a later text about another thing of the same owner, or about what took place once."""


def test_what_is_about_another_thing_or_happened_once_changes_nothing() -> None:
    assert list(filter(is_change, ASIDE)) == []


@pytest.mark.parametrize(("question", "older", "newer", "other"), [
    ("Which boiler do we have?", "Our boiler is a Calorex 24, serviced by Brightwater.",
     "Brightwater replaced the expansion vessel, 240 pounds.", True),
    ("Which boiler do we have?", "Our boiler is a Calorex 24, serviced by Brightwater.",
     "Brightwater replaced the boiler with a heat pump.", False),
    ("What reports our errors?", "Sentry reports our errors.", "We replaced Sentry with Glitchtip.", False),
    ("What reports our errors?", "Sentry reports our errors.", "Sentry was replaced by Glitchtip.", False),
])  # fmt: skip
def test_what_replaces_a_part_changes_nothing_about_the_whole(
    question: str, older: str, newer: str, other: bool
) -> None:
    assert ("other_part" in changes.evidence(question, older, newer, READ).parts) == other


def test_a_change_is_near_what_it_changes_among_other_facts() -> None:
    question, older, newer = CHANGED["time"]
    frequent = stems(question)  # the ferry is in all of the texts, so it does not tell

    def total(between: int | None) -> float:
        return changes.evidence(question, older, newer, READ, frequent=frequent, between=between).total

    assert total(0) > total(None) > total(10) > total(40)


def test_whom_a_text_names_beside_those_of_the_question_does_not_keep_it_from_being_a_change() -> None:
    assert list(filterfalse(is_change, [
        ("Which SorrelSQL does it run on?", "It runs on SorrelSQL 14.", "It is on Sorr 16 now."),
        ("Where does api-gateway run?", "api-gateway runs on node-3.", "The gateway was moved to node-5."),
        ("Who runs the shop?", "Tom runs the shop.", "Tom's brother runs the shop now."),
        ("What does Tobias drive?", "Tobias drives a Skoda.", "He sold the Skoda and bought a Kia from Marta."),
        ("When is the review with Priya?", "The review with Priya is on 3 May.", "The review is on 9 May now."),
        ("Do I eat fish?", "I live without fish.", "I have started to eat fish."),
        ("When does the Sorrel dump start?", "The Sorrel dump starts at 02:30.", "Shifted the dump to 04:15."),
        ("What is the limit?", "The limit is 600 a minute.", "We got the limit wrong: it is 600 an hour."),
    ])) == []  # fmt: skip


def test_others_in_place_of_whom_the_question_names_are_evidence_against_a_change() -> None:
    question, older = "What is the tax in Leeds?", "The tax for the flat in Leeds is 142 pounds."
    lenses = ("Which strength are my lenses?", "My lenses are -3.25.", "Henrik's lenses are -1.5 now.")
    assert "other_owner" in changes.evidence(*lenses, READ).parts
    for newer, others in ("The tax on the Hull house is lower now.", True), ("Tax is 150 from Monday on.", False):
        assert ("other_owner" in changes.evidence(question, older, newer, READ).parts) == others


def test_too_adds_only_at_the_end_of_a_clause() -> None:
    question, older = "How often is the dough fed?", "The dough is fed daily."
    assert not is_change((question, older, "The dough is fed at night, too."))
    assert is_change((question, older, "The dough is fed weekly; daily was too much."))


def test_a_second_answer_without_a_sign_of_a_change_is_none() -> None:
    assert list(filter(is_change, ADDED)) == []


def test_what_answers_far_better_or_what_did_not_answer_was_not_changed() -> None:
    question, older, newer = CHANGED["weekday"]
    assert changes.evidence(question, older, newer, READ).total >= changes.ENOUGH
    for logits in (replace(READ, older=-4.0), replace(READ, newer=9.0, older=3.0), replace(READ, matter=-10.0)):
        assert (
            changes.evidence(question, older, newer, logits).total
            < changes.evidence(question, older, newer, READ).total
        )


def test_a_name_with_a_hyphen_or_a_day_from_which_on_is_no_condition() -> None:
    question, older = "Who has the phone?", "Aino has the phone."
    for newer, case in (
        ("On-call phone: Torben has it.", False),
        ("On call Torben has the phone.", True),
        ("From 1 April Torben has the phone.", False),
        ("From 13:00 to 15:00 Torben has the phone.", True),
    ):
        assert ("condition" in changes.evidence(question, older, newer, READ).parts) == case


def test_a_change_of_something_else_is_none() -> None:
    for (question, older, _), (_, _, other) in permutations(list(CHANGED.values())[:4], 2):
        assert not is_change((question, older, other), APART), (older, other)


def test_each_part_of_the_evidence_has_a_name() -> None:
    question, older, newer = CHANGED["named old value"]
    parts = changes.evidence(question, older, newer, READ).parts
    assert {"change_words", "old_value", "answers"} <= set(parts)
    assert changes.evidence(*BOTH["front and back"], READ).parts["counterpart"] < 0


def test_words_that_many_facts_have_are_no_evidence() -> None:
    texts = [f"The tracker has feature {name}." for name in "abcdefghij"]
    common = common_stems([*texts, "Leaflet"])
    assert {"tracker", "featur"} <= common
    assert "leaflet" not in common
    assert common_stems(texts[:COMMON]) == frozenset()
    question, older, newer = CHANGED["value"]
    assert changes.evidence(question, older, newer, READ).parts["same_subject"]
    frequent = stems(question)
    assert "same_subject" not in changes.evidence(question, older, newer, READ, frequent=frequent).parts


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("The choir meets on Mondays.", True),
        ("  The choir meets on Mondays.\n", True),
        ("The choir meets:\n- on Mondays\n- in the hall", False),
        ("Anna: The choir meets on Mondays.", True),
        ("The choir meets on Mondays. " * 20, False),
    ],
)
def test_one_sentence_on_a_line_is_a_statement(text: str, states: bool) -> None:
    assert is_statement(text) is states


# what a new text may replace -----------------------------------------------------------------------------------------

SUGGESTED = 2.5
NEAR = 0.45
"""A rescaled cosine as two sentences about one thing have it."""


def test_a_new_text_may_replace_what_it_changes() -> None:
    named = [name for name, (_, old, new) in CHANGED.items() if changes.may_replace(old, new, NEAR).total >= SUGGESTED]
    assert len(named) >= 8, named  # a suggestion need not find all: without a question there is less evidence


def test_a_new_text_hardly_ever_replaces_what_still_holds() -> None:
    named = [name for name, (_, old, new) in BOTH.items() if changes.may_replace(old, new, NEAR).total >= SUGGESTED]
    assert len(named) <= 1, named


def test_texts_that_are_far_apart_replace_each_other_less() -> None:
    for name, (_, older, newer) in CHANGED.items():
        near, far = (changes.may_replace(older, newer, cosine).total for cosine in (0.6, 0.1))
        assert far < near, name


def test_a_word_that_says_which_one_is_meant_is_no_common_subject() -> None:
    question, panel = "Which port does the dashboard have in production?", "The production control panel has port 8443."
    database = "The production database can be reached only through the tunnel."
    logits = changes.Logits(older=5.6, newer=-5.0, matter=-5.0)
    other = changes.evidence(question, panel, database, logits)
    assert "same_subject" not in other.parts
    assert other.total < changes.ENOUGH
    old, new = "The production dashboard has port 8443.", "In production the dashboard has port 9443 now."
    assert "same_subject" in changes.evidence(question, old, new, logits).parts


def test_the_first_word_of_a_text_is_beside_a_negation_only_if_there_is_one() -> None:
    assert not compared("Gannet was rainy, the ferry back was rough.").beside_change
    assert compared("Gannet is not ours any more.").beside_change


def test_what_answers_far_worse_needs_something_in_the_place_of_the_answer() -> None:
    question, older = "router admin page Mill Lane", "Mill Lane has an ER605 router, admin page 192.168.30.1, 12 GB."
    far_worse = changes.Logits(older=7.5, newer=0.5, matter=-0.2)
    aside = "At Mill Lane the microwave beside the router was moved."
    assert changes.evidence(question, older, aside, far_worse).parts["off_the_point"] < 0
    instead = "At Mill Lane the router was moved to 192.168.40.1, with 24 GB."
    assert "off_the_point" not in changes.evidence(question, older, instead, far_worse).parts


@pytest.mark.parametrize(
    ("question", "older", "newer", "lacks"),
    [
        ("When is the stand-up?", "The stand-up is at 9:45.", "Stand-up at noon.", False),
        ("When is the stand-up?", "The stand-up is at 9:45.", "The stand-up was put off until further notice.", False),
        ("When is the stand-up?", "The stand-up is at 9:45.", "In the stand-up Lena showed the dashboard.", True),
        ("When does the lease end?", "The lease ends on 31 May.", "It runs until the end of the year.", False),
        ("When does the lease end?", "The lease ends on 31 May.", "The lease was signed at 10:15 by both.", True),
        ("Who does the accounts?", "Paul does the accounts.", "My sister looks after that.", False),
        ("Who does the accounts?", "Paul does the accounts.", "deloitte looks after that", False),
        ("Who does the accounts?", "Paul does the accounts.", "They were late because the office was moved.", True),
        ("Who owns billing?", "The platform team owns billing.", "Invoices are the infra crew's job.", False),
        ("How much is the parking?", "Parking costs 4 euros a day.", "Visitors leave their cars for free.", False),
        ("How much is the parking?", "Parking costs 4 euros a day.", "It went up to 6.", False),
        ("How much is the parking?", "Parking costs 4 euros a day.", "The parking lot is muddy.", True),
        ("Which port does the API use?", "The API uses port 8080.", "It was given 9090 in May.", False),
        ("Which port does the API use?", "The API uses port 8080.", "It uses the default port.", False),
        ("Which port does the API use?", "The API uses port 8080.", "The API has a limit of 100 requests.", True),
        ("How many replicas has web?", "web has 3 replicas.", "It runs with 5.", False),
        ("How many replicas has web?", "web has 3 replicas.", "web restarts after 30 seconds.", True),
        (
            "How often is the tank cleaned?",
            "The tank is cleaned once a month.",
            "The tank leaked for 20 minutes.",
            True,
        ),
        ("How often is the tank cleaned?", "The tank is cleaned once a month.", "We do the tank every week.", False),
        ("How often is the tank cleaned?", "The tank is cleaned once a month.", "We stopped doing the tank.", False),
        ("Is invoice 2291 unpaid?", "Invoice 2291 is unpaid.", "The money for 2291 came in.", False),
        ("Where is the retro?", "The retro is in room 14.", "We meet in the library.", False),
    ],
)
def test_a_text_without_what_is_asked_for_changes_nothing(
    question: str, older: str, newer: str, *, lacks: bool
) -> None:
    assert lacks_asked_value(compared(question), compared(older), compared(newer)) == lacks


@pytest.mark.parametrize(
    ("newer", "has"),
    [
        ("The stand-up starts at 9:15, so that Ayumi can join.", True),
        ("The stand-up starts at 9:45, as ever.", False),
        ("In the stand-up Lena showed the dashboard.", False),
        ("Lena's train leaves at 9:15.", False),
        ("Conveyor plans at 13:00.", False),
    ],
)
def test_another_time_for_the_same_matter_speaks_for_a_change(newer: str, *, has: bool) -> None:
    asked, older = compared("When is Conveyor's stand-up?"), compared("The stand-up of Conveyor is at 9:45.")
    assert has_asked_value(asked, older, compared(newer), ()) == has


def test_who_has_gone_is_a_change_without_another_name() -> None:
    parts = changes.evidence("Who is our plumber?", "Our plumber is Mr. Voss.", "Voss has retired.", READ).parts
    assert "lacks_value" not in parts


def test_steps_and_what_holds_for_some_only_change_nothing() -> None:
    assert list(filter(is_change, [
        ("How long is the cordial steeped?", "Cordial, step one: steep for a day.", "Cordial, step two: heat to 80."),
        ("What is done first?", "First step of a release: tag it.", "Second step of a release: sign it."),
        (
            "After how long are accounts deleted?",
            "Accounts for merchants are deleted after 60 days.",
            "Accounts of the partner Bol are deleted after 90 days.",
        ),
    ])) == []  # fmt: skip
    assert is_change(
        ("When are accounts deleted?", "Accounts are deleted after 60 days.", "Accounts are deleted after 90 days.")
    )


def test_other_words_for_what_is_done_do_not_tell_two_things_apart() -> None:
    assert list(filterfalse(is_change, [
        ("When is waste collected?", "Waste is collected on Thursdays.", "Waste is picked up on Tuesdays."),
        ("How many calls are allowed?", "Limit of the API: 600 calls a minute.", "The API allows 900 calls a minute."),
        ("Which plot do we have?", "Our plot is plot 17 by the line.", "We have plot 4 by the tap; 17 went to Ann."),
    ])) == []  # fmt: skip
