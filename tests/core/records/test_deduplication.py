"""Memories that count as the same without a language model; `bench/duplicates.py` measures it on many more."""

from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.core.records.deduplication import may_differ, plain, same

ALIKE = {
    "marks": ("The deploy key lives in `vault-2`.", "The deploy key lives in vault-2!"),
    "article": ("The user prefers the dark theme", "User prefers dark theme"),
    "a": ("The user has a cat and works as a nurse", "User has cat and works as nurse"),
    "list": ("- The user is vegetarian", "The user is vegetarian."),
    "stress": ("**Never** force-push. You MUST ask.", "Never force-push. You must ask."),
    "width": ("端口是８０８０。", "端口是8080"),
    "unseen": ("The soft\u00adware is licensed", "The software is licensed"),
    "dash": ("It takes 5–10 days", "It takes 5-10 days"),
    "blank before a unit": ("The limit is 10MB", "The limit is 10 MB"),
    "small number": ("The flat has three rooms", "The flat has 3 rooms"),
    "not": ("They won’t support it, and we can't.", "They will not support it, and we cannot."),
    "no apostrophe": ("dont restart it", "Do not restart it"),
    "is": ("It's late and there's no bus", "It is late and there is no bus"),
    "has": ("He's got a car", "He has got a car"),
    "lower case": ("project phoenix uses rust", "Project Phoenix uses Rust"),
    "capitals": ("USER PREFERS TEA", "User prefers tea"),
    "title": ("Run The Formatter Before Lunch", "Run the formatter before lunch"),
}

APART = {
    "negation": ("The user doesn't eat fish", "The user eats fish"),
    "order": ("Nora lent Ivan her car", "Ivan lent Nora her car"),
    "number": ("The flat has three rooms", "The flat has four rooms"),
    "unit": ("The link does 10Mb", "The link does 10MB"),
    "power": ("The array has 10² cells", "The array has 102 cells"),
    "tense": ("The user had a car", "The user has a car"),
    "may and must": ("You may restart it", "You must restart it"),
    "question": ("Is it late?", "It is late"),
    "one word of many": (
        "If the build fails, delete the tag and start again from the first step of the list",
        "If the build fails, keep the tag and start again from the first step of the list",
    ),
    "its": ("Its lead is May", "It's lead is May"),
    "had or would": ("We'd put it there", "We would put it there"),
    "is or owns": ("Tom's manager", "Tom is manager"),
    "a name in a text without capitals": ("ask us about visas", "Ask US about visas"),
    "a plan in a text without capitals": ("we chose plan b", "We chose plan B"),
    "a unit": ("the stick has 5 mb", "The stick has 5 MB"),
    "a month": ("ask again in may", "Ask again in May"),
    "a flag": ("the flag is -f", "The flag is -F"),
    "an identifier": ("the variable is userid", "The variable is userId"),
    "one capital of several": ("We polish the table of Tom", "We Polish the table of Tom"),
    "a sign that is spoken of": ("Use – for ranges", "Use - for ranges"),
    "a wide sign that is spoken of": ("Separate them with ，", "Separate them with ,"),
    "a little": ("The user has a little money", "The user has little money"),
    "a name": ("Copy the disk from b to a before lunch", "Copy the disk from b to before lunch"),
    "another language": ("Van a Madrid", "Van Madrid"),
    "more": ("A few tickets are open", "Few tickets are open"),
    "paraphrase": ("The user lives in Berlin", "The user resides in Berlin"),
}


def test_the_same_text_in_another_form_is_the_same() -> None:
    assert [form for form, pair in ALIKE.items() if not (same(*pair) and same(*reversed(pair)))] == []


def test_what_differs_or_is_uncertain_is_not_the_same() -> None:
    assert [difference for difference, pair in APART.items() if same(*pair) or same(*reversed(pair))] == []


@given(st.text(max_size=40) | st.text(alphabet="aThe t'sn–-`*.1 mMB\n", max_size=40))
def test_every_text_is_the_same_as_itself(text: str) -> None:
    assert same(text, text)
    assert not may_differ(text, text)


@given(
    st.lists(
        st.sampled_from("The the a A it's don't no 5 ms – ` ** - Tom few can't two cat is 10MB percent".split()),
        max_size=6,
    )
)
@example(["`", "`", "5", "`", "`"])
def test_a_text_is_the_same_as_its_plain_form(parts: list[str]) -> None:
    text = " ".join(parts)
    assert plain(plain(text)) == plain(text)
    assert same(text, plain(text))
