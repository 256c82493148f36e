"""The cross-encoder does not judge what it cannot read: texts in other scripts are found by their words."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoryd.core.engine import Engine
from memoryd.core.scope import Scope
from memoryd.core.search.briefing import chosen
from memoryd.core.search.pipeline import Search
from memoryd.model import Filter
from tests.core.kit import memories, with_models

ENGLISH = [
    "Marta is allergic to peanuts and always carries an adrenaline pen.",
    "The release moved from Tuesday to Friday because a test failed.",
    "The web server writes its logs to a separate disk.",
    "Grandmother was born in the spring of 1938.",
]
OTHERS = [
    "我们的生产数据库运行在法兰克福的一台服务器上。", "玛尔塔对花生过敏，总是随身带着肾上腺素笔。",
    "リリースは火曜日から金曜日に延期されました。", "祖母は1938年の春に生まれました。",
    "Ночью резервная копия сохраняется в Дублине.", "Вход во двор открывается ключом из серой коробки.",
    "الجدة تحب الشاي بالنعناع في المساء.", "مفتاح المكتب في الصندوق الرمادي خلف الباب.",
    "Пауль переехал в Лиссабон прошлой осенью.", "猫の名前はミソで、窓辺で寝ます。",
]  # fmt: skip
STRANGE = ["Which TLS version does the billing API require?", "What is the license plate of the rental car?"]


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Iterator[Engine]:
    with with_models(tmp_path_factory.mktemp("mixed"), model_dir) as here:
        assert here.helpers.other(60)
        for text in OTHERS:
            memories(here, name="others").store(text)
            memories(here).store(text)
        for text in ENGLISH:
            memories(here).store(text)
        yield here


def found(engine: Engine, question: str, workspace: str = "default") -> list[str]:
    search = Search(Scope(engine, engine.workspaces.ensure(workspace)))
    return [hit.record.body for hit in chosen(search.hits(question, Filter()).best)]


@pytest.mark.parametrize("question", STRANGE)
def test_a_question_without_relevant_records_gets_no_texts_in_other_scripts(mixed: Engine, question: str) -> None:
    assert set(found(mixed, question)) & set(OTHERS) == set()


def test_texts_in_other_scripts_do_not_displace_those_that_are_read(mixed: Engine) -> None:
    assert found(mixed, "What must Marta not eat?") == [ENGLISH[0]]


def test_a_text_in_another_script_is_found_by_its_words(mixed: Engine) -> None:
    here = memories(mixed)
    here.store("テスト環境のPostgresはポート5433です。")
    assert found(mixed, "Which port has Postgres?")[:1] == ["テスト環境のPostgresはポート5433です。"]


@pytest.mark.parametrize("question", STRANGE)
def test_if_nothing_can_be_read_and_nothing_answers_nothing_bears(mixed: Engine, question: str) -> None:
    search = Search(Scope(mixed, mixed.workspaces.ensure("others")))
    assert not any(hit.bears for hit in search.hits(question, Filter()).best)


def test_texts_that_cannot_be_read_do_not_wait_for_the_reranker(mixed: Engine) -> None:
    assert memories(mixed, name="others").recall("真实的数据存放在哪个城市？", 500).degraded == ""
    assert memories(mixed, name="others").recall(STRANGE[0], 500).degraded == ""
