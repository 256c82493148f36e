"""The times that questions name: expressions, texts that contain such words but name no time, zones."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest

from memoryd.core.base.clock import FOREVER
from memoryd.core.search import ranking, times
from memoryd.core.search.times import Span

NOW = datetime(2026, 11, 19, 10, 0, tzinfo=UTC)  # a Thursday

NAMED = [
    ("What happened yesterday?", "2026-11-18..2026-11-19"),
    ("what did we do today", "2026-11-19..2026-11-20"),
    ("What did I store the day before yesterday?", "2026-11-17..2026-11-18"),
    ("What did we decide this week?", "2026-11-16..2026-11-23"),
    ("What did we decide last week?", "2026-11-09..2026-11-16"),
    ("memories from last week", "2026-11-09..2026-11-16"),
    ("Who joined last month?", "2026-10-01..2026-11-01"),
    ("What changed this month?", "2026-11-01..2026-12-01"),
    ("What did we pay last year?", "2025-01-01..2026-01-01"),
    ("What did we do last weekend?", "2026-11-14..2026-11-16"),
    ("What did we cook at the weekend?", "2026-11-14..2026-11-16"),
    ("Which bug did I fix 3 days ago?", "2026-11-16..2026-11-17"),
    ("What did Anna say two weeks ago?", "2026-11-02..2026-11-09"),
    ("What was the plan a month ago?", "2026-10-01..2026-11-01"),
    ("Where did I live two years ago?", "2024-01-01..2025-01-01"),
    ("What did I note a few days ago?", "2026-11-13..2026-11-18"),
    ("What did I note a couple of days ago?", "2026-11-16..2026-11-18"),
    ("What came up an hour ago?", "2026-11-19T08:30..2026-11-19T09:30"),
    ("What did I store in the last 2 hours?", "2026-11-19T08:00.."),
    ("What changed in the last three days?", "2026-11-16.."),
    ("the past week", "2026-11-12.."),
    ("What did I learn in the last month?", "2026-10-19.."),
    ("What did we ship over the past two months?", "2026-09-19.."),
    ("What broke since Monday?", "2026-11-16.."),
    ("What has changed since yesterday?", "2026-11-18.."),
    ("What has changed since July?", "2026-07-01.."),
    ("What is new since 2026-10-01?", "2026-10-01.."),
    ("What did we decide on Monday?", "2026-11-16..2026-11-17"),
    ("What did we decide last Friday?", "2026-11-13..2026-11-14"),
    ("What was discussed on Thursday?", "2026-11-12..2026-11-13"),
    ("What happened on 19 November?", "2026-11-19..2026-11-20"),
    ("What happened on November 3rd?", "2026-11-03..2026-11-04"),
    ("What happened on Nov 3, 2025?", "2025-11-03..2025-11-04"),
    ("Notes of 19.11.2025", "2025-11-19..2025-11-20"),
    ("notes 2026-11-02", "2026-11-02..2026-11-03"),
    ("What did we decide in July?", "2026-07-01..2026-08-01"),
    ("Which notes are from July?", "2026-07-01..2026-08-01"),
    ("decisions from July 2025", "2025-07-01..2025-08-01"),
    ("What did we decide in December?", "2025-12-01..2026-01-01"),
    ("what did i do in may", "2026-05-01..2026-06-01"),
    ("What did we decide in July 2025?", "2025-07-01..2025-08-01"),
    ("July 2025 decisions", "2025-07-01..2025-08-01"),
    ("What did we decide in July of 2024?", "2024-07-01..2024-08-01"),
    ("Where did we travel in 2025?", "2025-01-01..2026-01-01"),
    ("What did the doctor say this morning?", "2026-11-19..2026-11-19T12:00"),
    ("What failed last night?", "2026-11-18T18:00..2026-11-19T06:00"),
    ("What did we talk about yesterday afternoon?", "2026-11-18T12:00..2026-11-18T18:00"),
    ("What happened between Monday and Wednesday?", "2026-11-16..2026-11-19"),
    ("What did we release between 1 July and 15 August?", "2026-07-01..2026-08-16"),
    ("What did we do from July to September?", "2026-07-01..2026-10-01"),
    ("What did we know before July?", "..2026-07-01"),
    ("What was open until last week?", "..2026-11-16"),
    ("Which decisions fell after 3 October 2026?", "2026-10-04.."),
    ("What was decided in yesterday's meeting?", "2026-11-18..2026-11-19"),
    ("What came up in last week's retro?", "2026-11-09..2026-11-16"),
    ("What did we decide last July?", "2026-07-01..2026-08-01"),
    ("What did we decide in mid-May?", "2026-05-10..2026-05-23"),
    ("What happened on the last day of August?", "2026-08-31..2026-09-01"),
    ("What broke in the first week of March 2025?", "2025-03-01..2025-03-08"),
    ("What did we ship a fortnight ago?", "2026-11-02..2026-11-09"),
    ("What did we ship in Q3?", "2026-07-01..2026-10-01"),
    ("What did we ship in Q4 2025?", "2025-10-01..2026-01-01"),
    ("What did we decide last November?", "2025-11-01..2025-12-01"),
    ("What did Tom promise on the 3rd of October?", "2026-10-03..2026-10-04"),
    ("flight on 3 October", "2026-10-03..2026-10-04"),
    ("What did we plan on Monday? Was it the release?", "2026-11-16..2026-11-17"),
    ("on may 3", "2026-05-03..2026-05-04"),
    ("What did we talk about on Tuesday?", "2026-11-17..2026-11-18"),
    ("what was i working on last tuesday", "2026-11-17..2026-11-18"),
    ("Which tickets did Lena close since last Monday?", "2026-11-16.."),
    ("Did anything change in the last 24 hours?", "2026-11-18T10:00.."),
    ("What have we decided so far this year?", "2026-01-01..2027-01-01"),
    ("Show me everything from yesterday evening", "2026-11-18T18:00..2026-11-19"),
    ("What were my expenses in September?", "2026-09-01..2026-10-01"),
    ("What were my expenses in Sept 2025?", "2025-09-01..2025-10-01"),
    ("notes from 3 weeks ago", "2026-10-26..2026-11-02"),
    ("Who did I meet on 5 November?", "2026-11-05..2026-11-06"),
    ("Who did I meet on the 5th of November 2025?", "2025-11-05..2025-11-06"),
    ("What was decided on October 31, 2026?", "2026-10-31..2026-11-01"),
    ("What did we say about Redis in early October?", "2026-10-01..2026-10-14"),
    ("What did we say about Redis late in October 2025?", "2025-10-19..2025-11-01"),
    ("What did we ship in the second half of September?", "2026-09-16..2026-10-01"),
    ("What did we decide at the beginning of 2026?", "2026-01-01..2026-05-27"),
    ("notes from late August", "2026-08-19..2026-09-01"),
    ("What did we do during the last weekend?", "2026-11-14..2026-11-16"),
    ("Why did the build fail earlier today?", "2026-11-19..2026-11-20"),
    ("Recap the past 5 days", "2026-11-14.."),
    ("Summarize the last two weeks", "2026-11-05.."),
    ("what's new since last month", "2026-10-01.."),
    ("What did I eat last evening?", "2026-11-18T18:00..2026-11-19"),
    ("Which books did I read in 2024?", "2024-01-01..2025-01-01"),
    ("Which books did I read before 2025?", "..2025-01-01"),
    ("What happened at the end of October?", "2026-10-19..2026-11-01"),
    ("What did I note 10 minutes ago?", "2026-11-19T09:49..2026-11-19T09:50"),
    ("Decisions between 2026-10-01 and 2026-10-15", "2026-10-01..2026-10-16"),
    ("What did we do in the week of 2 November?", "2026-11-02..2026-11-03"),
    ("What did Bob say a year ago?", "2025-01-01..2026-01-01"),
    ("What did we agree on in last Monday's call?", "2026-11-16..2026-11-17"),
    ("Which bugs came in over the weekend?", "2026-11-14..2026-11-16"),
    ("Who did I meet two Fridays ago?", "2026-11-06..2026-11-07"),
    ("Who did I meet two Thursdays ago?", "2026-11-05..2026-11-06"),
    ("What came up on the Monday before last?", "2026-11-09..2026-11-10"),
    ("What has changed since the Friday before last?", "2026-11-06.."),
    ("What did we decide the week before last?", "2026-11-02..2026-11-09"),
    ("What did I do on Friday last week?", "2026-11-13..2026-11-14"),
    ("What did I do on Friday of last week?", "2026-11-13..2026-11-14"),
    ("What did we agree last week on Thursday?", "2026-11-12..2026-11-13"),
    ("What came up in last week's Thursday call?", "2026-11-12..2026-11-13"),
    ("Anything from the past fortnight?", "2026-11-05.."),
    ("Who rang on Friday 6 November?", "2026-11-06..2026-11-07"),
    ("Who rang on Friday, the 6th of November 2026?", "2026-11-06..2026-11-07"),
    ("Who rang on Friday, November 6?", "2026-11-06..2026-11-07"),
    ("What did I note on Thursday the 5th?", "2026-11-05..2026-11-06"),
    ("What did I store on the 27th?", "2026-10-27..2026-10-28"),
    ("What did we do in November last year?", "2025-11-01..2025-12-01"),
    ("What happened between 10 and 12 October?", "2026-10-10..2026-10-13"),
    ("notes from 10 to 12 October 2025", "2025-10-10..2025-10-13"),
    ("What happened October 10-12?", "2026-10-10..2026-10-13"),
]
"""Questions, and the bounds of the span that each names, without midnights and open ends."""

UNNAMED = [
    "May I deploy?",
    "Which port may the second router use?",
    "second router",
    "Which wire is on the 3rd floor?",
    "the version before last",
    "When is the meeting on Friday 6 November?",
    "In which order do 10 to 12 march?",
    "How long does a second take?",
    "March Networks camera",
    "Who sells cameras in March Networks style?",
    "the last migration",
    "Sun server",
    "Which Sun server has the disk?",
    "Friday's branch",
    "the Friday branch",
    "Who is on Black Friday duty?",
    "When did Sat fail on the exam?",
    "who last sat on the fence",
    "The rocket sat on the pad",
    "Where do we march next?",
    "In which order do the soldiers march?",
    "What is my last name?",
    "Which was the last release?",
    "the last day of the sprint",
    "In the last week of the trip, where did we sleep?",
    "the last minute change",
    "Which version is 1.2.3?",
    "upgrade from 2.0 to 3.1",
    "since version 2024.1.3",
    "after 2000 requests",
    "Does it fit in 2000 characters?",
    "What runs on port 2024?",
    "in 2048 bits",
    "1 may be wrong",
    "Why do 3 may fail?",
    "May 3 replicas fail at once?",
    "What does April think about the budget?",
    "email from April",
    "Did June call?",
    "Who is August Wilson?",
    "Which tasks are on Monday.com?",
    "every Monday meeting",
    "What do we do on Mondays?",
    "on Monday mornings",
    "fall back to words",
    "the fall of Rome",
    "spring boot version",
    "What is due in July?",
    "What is the rent from July?",
    "Show the notes from March Networks",
    "The decisions from July on",
    "When is the meeting on Monday?",
    "What is planned for July?",
    "What will happen on Friday?",
    "tomorrow",
    "next week",
    'What did "yesterday once more" cost?',
    "day-to-day work",
    "What is the time zone of Berlin?",
    "How many days a week do I train?",
    "Which dose do I take twice a day?",
    "How often a month is the rent due?",
    "What changed in 3 days?",
    "RFC 2026-11",
    "CVE-2026-11-19",
    "feature/2026-11-19-x",
    "31.2.2026",
    "one day at a time",
    "Is the deadline before the holidays?",
    "before I deploy",
    "after the merge",
    "since the outage",
    "until it works",
    "How many years of support are left?",
    "the week number",
    "What is in the monthly report?",
    "dec 3 registers",
    "set sep 4 characters wide",
    "a month in Italy",
    "the year 2000 bug",
    "Ask me in two weeks",
    "Saturday night fever",
    "Where is the Sunday Times?",
    "mar 3 columns",
    "Does the job run on weekdays?",
    "Which of the two may be deleted?",
    "Is the sun sensor calibrated?",
    "How do I install Sun's JDK?",
    "mar and apr columns",
    "What is the first rule of the team?",
    "Who comes second?",
    "How many weeks of holiday do I have?",
    "What is the weekly limit?",
    "the daily standup",
    "When do we usually meet?",
    "How long is the sprint, two weeks?",
    "Does the cache live for 3 days?",
    "after 5 days the token expires",
    "What's the SLA, 24 hours or 48 hours?",
    "retention of 30 days",
    "What year was the house built?",
    "Which year is on the label?",
    "the May family",
    "Where does Theresa May live?",
    "Robert June's phone number",
    "April's birthday",
    "When is April's birthday?",
    "Call sign of Augustus",
    "Who owns the Wednesday dashboard?",
    "What is Freaky Friday about?",
    "Postgres 16 or 17?",
    "ISO 8601",
    "Python 3.12.1",
    "10.0.0.1",
    "192.168.19.26",
    "a hundred days of code",
    "the 2024 roadmap",
    "Who won the 2022 world cup?",
    "the 19th century",
    "on the 19th floor",
    "What does 'now' mean in cron?",
    "what is the current plan",
    "the latest release",
    "Which one was last?",
    "Last, Friday Inc.",
    "past performance",
    "in the past",
    "over time",
    "the night shift",
    "good morning",
    "Which morning routine works?",
    "day zero",
    "Y2K",
    "on call",
    "How old is Anna?",
    "When was Ben born?",
    "the marching band",
    "Where is the week calendar?",
    "the weekend house",
    "rent a car for the weekend",
    "Who sits in the autumn room?",
    "Which month has the fewest sales?",
    "minute taker",
    "What did the customer complain about half a year ago?",
    "What did I tell you this afternoon?",
]
"""Texts that contain the words of such expressions but name no time, or one that is still to come."""


def shown(span: Span | None) -> str:
    if span is None:
        return "none"
    ends = ["" if time == FOREVER else time[:16].removesuffix("T00:00") for time in (span.after, span.before)]
    return "..".join(ends)


def test_questions_name_a_time() -> None:
    for question, bounds in NAMED:
        assert shown(times.span(question, NOW, UTC)) == bounds, question
        assert shown(times.span(f"  {question.upper().replace(' ', '  ')}", NOW, UTC)) in (bounds, "none"), question


def test_other_questions_name_none() -> None:
    assert [question for question in UNNAMED if shown(times.span(question, NOW, UTC)) != "none"] == []


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("What did we decide in July?", "What did we decide ?"),
        ("Since last Monday, which tickets did Lena close?", ", which tickets did Lena close?"),
        ("Which bugs came in over the last two weeks from Acme?", "Which bugs came in from Acme?"),
        ("yesterday", ""),
    ],
)
def test_the_rest_of_a_question(question: str, rest: str) -> None:
    found = times.span(question, NOW, UTC)
    assert found
    assert times.without(question, found) == rest


@pytest.mark.parametrize(
    ("question", "alone"),
    [
        ("What happened yesterday?", True), ("memories from last week", True), ("yesterday", True),
        ("What changed in the last three days?", True), ("What did I do on Monday?", True),
        ("What did we decide yesterday?", False), ("Which memories about Anna are from last week?", False),
        ("What happened to the router yesterday?", False),
    ],
)  # fmt: skip
def test_some_questions_ask_for_nothing_else(question: str, alone: bool) -> None:
    found = times.named(question, NOW)
    assert found
    assert found.alone is alone


def test_a_limited_question_is_about_its_limits() -> None:
    limits = ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z")
    everything = times.named("What happened last week?", NOW, *limits)
    assert everything == Span(*limits, (0, 0), alone=True)
    assert times.named("What did we decide last week?", NOW, *limits) is None, "the limits apply to all that is found"
    assert times.named("What happened?", NOW) is None


@pytest.mark.parametrize(
    ("zone", "begin", "end"),
    [
        (ZoneInfo("Europe/Berlin"), "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"),  # 23 hours long
        (ZoneInfo("America/Los_Angeles"), "2026-03-29T07:00:00.000Z", "2026-03-30T07:00:00.000Z"),
        (ZoneInfo("Pacific/Auckland"), "2026-03-29T11:00:00.000Z", "2026-03-30T11:00:00.000Z"),  # already the 31st
    ],
)
def test_a_day_is_that_of_the_zone(zone: tzinfo, begin: str, end: str) -> None:
    found = times.span("yesterday", datetime(2026, 3, 30, 12, tzinfo=UTC), zone)
    assert found
    assert (found.after, found.before) == (begin, end)
    assert found.share(begin) == 1
    assert found.share(end) == 0.5, "what happened is often noted on the day after"


def test_being_of_the_time_takes_the_place_of_recency() -> None:
    parts = {"fusion": 1.0, "recency": 0.5, "importance": 1.0, "access": 1.0}
    profile = ranking.RECALL
    of_time, others = (ranking.composite(parts | {"time": time}, profile) for time in (1.0, 0.0))
    assert others < ranking.composite(parts, profile) < of_time == pytest.approx(1)
    with_time, without = (ranking.blend(0.0, {"time": time}, 0.5, profile) for time in (1.0, 0.0))
    assert with_time - without == profile.time
    assert without == ranking.blend(0.0, {}, 0.5, profile)
