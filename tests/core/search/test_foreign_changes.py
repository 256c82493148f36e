"""Which words tell a change from two facts that both hold, in ten languages."""

import pytest

from memoryd.core.search import foreign_changes
from memoryd.core.search.changes import ENOUGH, SUGGESTED

NEAR, SHARE = 0.6, 0.8
"""How near a change is to what it changes, and to the question as a share of how near that is."""
FAR, LESS = 0.45, 0.5
"""The same of a text about another matter."""
CHANGED = {
    "de, time": ("Wann ist die Chorprobe?", "Die Chorprobe ist um 19:00.", "Die Chorprobe wurde auf 19:30 verlegt."),
    "de, old value": ("Womit schreibt Ole?", "Ole schreibt mit Word.", "Ole ist von Word zu Typst gewechselt."),
    "de, now": ("Was kostet das Abo?", "Das Abo kostet 9 Euro.", "Das Abo kostet jetzt 11 Euro."),
    "de, same sentence": ("Was kostet die Box?", "Die Box kostet 40 Euro.", "Die Box kostet 45 Euro."),
    "es, place": ("¿Dónde vive Elena?", "Elena vive en Toledo.", "Elena se mudó a Bilbao."),
    "es, no longer": ("¿Fuma Raúl?", "Raúl fuma en pipa.", "Raúl ya no fuma."),
    "fr, person": (
        "Qui dirige l'atelier ?",
        "L'atelier est dirigé par Anne.",
        "Depuis mai, l'atelier est dirigé par Yves.",
    ),
    "fr, correction": (
        "Quand part le bus ?",
        "Le bus part à 8:10.",
        "Correction : le bus part à 8:20, pas à 8:10.",
    ),
    "pt, tool": ("Que banco usa a loja?", "A loja usa o banco BPI.", "A loja mudou do banco BPI para o Montepio."),
    "ru, ending of a word": ("Где хранится краска?", "Краска хранится в гараже.", "Краску перенесли в подвал."),
    "ru, from a month on": ("Кто ведёт кружок?", "Кружок ведёт Антон.", "С мая кружок ведёт Полина."),
    "de, called by name": ("Wo lebt meine Tochter?", "Meine Tochter Ida lebt in Ulm.", "Ida ist nach Jena gezogen."),
    "es, called by name": ("¿Dónde vive mi hija?", "Mi hija Inés vive en Vigo.", "Inés se ha mudado a Lugo."),
    "fr, called by name": ("Où habite mon oncle ?", "Mon oncle Luc habite à Metz.", "Luc a déménagé à Pau."),
    "pt, called by name": ("Onde mora meu tio?", "Meu tio Caio mora em Belém.", "Caio se mudou para Natal."),
    "ru, called by name": ("Где живёт мой дядя?", "Мой дядя Лев живёт в Перми.", "Лев переехал в Омск."),
    "zh, place": ("小王住在哪里？", "小王住在南京。", "小王搬到了武汉。"),
    "zh, not but": ("合同哪天到期？", "合同三月五日到期。", "更正：合同不是三月五日到期，而是三月八日。"),
    "ja, tool": (
        "地図は何を使っていますか？",
        "地図はLeafletを使っています。",
        "地図をLeafletからMapLibreに乗り換えました。",
    ),
    "ja, no longer": ("ケンはお酒を飲みますか？", "ケンはお酒を飲みます。", "ケンはもうお酒を飲みません。"),
    "ko, from a month on": ("도서관 담당은 누구야?", "도서관 담당은 유진이다.", "6월부터 도서관 담당은 태오이다."),
    "hi, no longer": ("क्या अनु चाय पीती है?", "अनु चाय पीती है।", "अनु अब चाय नहीं पीती।"),
    "ar, place": ("أين يعمل طارق؟", "يعمل طارق في المكتبة.", "انتقل طارق من المكتبة إلى المتحف."),
}
BOTH = {
    "de, doors": ("Welchen Code hat das Nordtor?", "Das Nordtor hat den Code 41.", "Das Südtor hat jetzt den Code 77."),
    "de, people": ("Wann hat Ina Urlaub?", "Ina hat ab 3. Mai Urlaub.", "Ole hat ab 9. Juni Urlaub."),
    "de, a relative": ("Wo wohnt Ina?", "Ina wohnt in Kiel.", "Inas Bruder ist nach Ulm gezogen."),
    "de, servers": ("Wo läuft das Wiki?", "Das Wiki läuft auf elch-02.", "Der Chat zog von elch-03 auf elch-07 um."),
    "de, called, a car": ("Wo lebt meine Tochter?", "Meine Tochter Ida lebt in Ulm.", "Ida hat ihr Auto verkauft."),
    "de, called otherwise": ("Wo lebt meine Tochter?", "Meine Tochter Ida lebt in Ulm.", "Tom ist nach Jena gezogen."),
    "pt, called, a job": ("Onde mora meu tio?", "Meu tio Caio mora em Belém.", "Caio mudou de emprego."),
    "pt, called, when": ("Quando nasceu meu tio?", "Meu tio Caio nasceu em maio.", "Caio se mudou para Natal."),
    "es, genders": ("¿Qué talla usa el niño?", "El niño usa la talla 8.", "La niña usa la talla 10."),
    "es, addition": ("¿Qué toca Pía?", "Pía toca el piano.", "Pía ahora también toca el arpa."),
    "es, reported": (
        "¿Cuándo es la reunión?",
        "La reunión es cada lunes.",
        "En la reunión dijeron que han cambiado la impresora.",
    ),
    "fr, gates": ("Quel est le code nord ?", "Le code du portail nord est 77.", "Le code du portail sud est 33."),
    "pt, months": ("Quanto pagámos em maio?", "Em maio pagámos 80 euros.", "Em junho pagámos 95 euros."),
    "ru, people": ("Какой размер у сына?", "У сына 36 размер.", "У дочери теперь 33 размер."),
    "zh, doors": ("后门的号码是多少？", "后门的号码是41。", "前门的号码改成77了。"),
    "zh, a relative": ("林老师教什么？", "林老师教物理。", "林老师的妹妹现在改教化学。"),
    "ja, parents": ("父の靴のサイズは？", "父の靴は27センチです。", "母の靴は今は24センチです。"),
    "ko, doors": ("뒷문 번호가 뭐야?", "뒷문 번호는 41이다.", "앞문 번호는 이제 77이다."),
    "de and ja, the same number": (
        "Wann ist das Stand-up?",
        "Das Stand-up wurde auf 10:15 Uhr verschoben.",
        "朝会は10時に変更されました。",
    ),
    "hi, doors": ("पिछले दरवाज़े का कोड क्या है?", "पिछले दरवाज़े का कोड 41 है।", "सामने के दरवाज़े का कोड अब 77 है।"),
    "ar, people": ("متى إجازة ليلى؟", "إجازة ليلى في 3 مارس.", "إجازة نور الآن في 9 يونيو."),
}


ABOUT_A_NAME = {
    "de": ("Worauf ist Ina allergisch?", "Ina ist gegen Nüsse allergisch.", "Ina hat die Schule gewechselt."),
    "es": ("¿Qué talla usa Raúl?", "Raúl usa la talla 40.", "Raúl dejó el gimnasio."),
    "fr": ("À quoi Luc est-il allergique ?", "Luc est allergique au lait.", "Luc ne joue plus au rugby."),
    "pt": ("Do que a Bia tem medo?", "A Bia tem medo de avião.", "A Bia trocou de carro no mês passado."),
    "ru": ("Чего боится Лев?", "Лев боится собак.", "Лев уволился из банка."),
    "zh": ("赵敏怕什么？", "赵敏怕狗。", "赵敏换了部门。"),
    "ja": ("健太のアレルギーは何?", "健太は卵アレルギーがある。", "健太は四月に転校をやめた。"),
    "ko": ("지우는 뭘 무서워해?", "지우는 고양이를 무서워한다.", "지우는 부서를 옮겼다."),
    "hi": ("निखिल को किससे डर लगता है?", "निखिल को ऊँचाई से डर लगता है।", "निखिल ने नौकरी छोड़ दी।"),
    "ar": ("مم تخاف سلمى؟", "تخاف سلمى من الكلاب.", "تركت سلمى العمل في البنك."),
    "asked in English": ("What is Davi allergic to?", "O Davi tem alergia a ovo.", "O Davi mudou de escola."),
    "a name alone": ("Edson", "O Edson cuida da rede.", "Desde segunda o Edson está de férias."),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_found(name: str) -> None:
    found = foreign_changes.evidence(*CHANGED[name], NEAR, SHARE)
    assert found.total >= ENOUGH, found.parts


@pytest.mark.parametrize("name", BOTH)
def test_both_hold(name: str) -> None:
    found = foreign_changes.evidence(*BOTH[name], NEAR, SHARE)
    assert found.total < ENOUGH, found.parts


@pytest.mark.parametrize("name", ABOUT_A_NAME)
def test_what_is_new_about_somebody_changes_nothing_else(name: str) -> None:
    found = foreign_changes.evidence(*ABOUT_A_NAME[name], FAR, LESS)
    assert found.total < ENOUGH, found.parts


def test_words_of_the_question_or_what_was_before_outweigh_how_near_a_change_is() -> None:
    kept = "Fuma o Rui?", "O Rui fuma.", "O Rui já não fuma."
    named = "Womit schreibt Ole?", "Ole schreibt mit Word.", "Ole ist von Word zu Typst gewechselt."
    moved = "أين يسكن خالد؟", "يسكن خالد في جدة.", "انتقل خالد إلى الرياض."
    assert foreign_changes.evidence(*kept, FAR, SHARE).total >= ENOUGH
    assert foreign_changes.evidence(*named, NEAR, LESS).total >= ENOUGH
    assert foreign_changes.evidence(*moved, FAR, LESS).total >= ENOUGH


def test_measures_function_words_and_words_of_change_are_nothing_in_common() -> None:
    price = "Was kostet der Hort?", "Der Hort kostet 90 Euro.", "Das Menü wurde auf 14 Euro erhöht."
    small = "When may we deploy?", "Deploy só em dias úteis e até as 16h.", "O ensaio mudou e vai ser em maio e às 10h."
    before = "经费谁管？", "经费改由陈立管。", "晚饭改由妈妈做。"
    for texts in (price, small, before):
        assert foreign_changes.evidence(*texts, NEAR, LESS).total < ENOUGH
    name = "Wer leitet den Hort?", "Den Hort leitet Frau Ahlers.", "Frau Ahlers ist in Rente, nun macht es Herr Ott."
    assert foreign_changes.evidence(*name, NEAR, LESS).total >= ENOUGH
    assert foreign_changes.evidence(*name, FAR, LESS).total < ENOUGH, "a namesake"


def test_a_number_within_another_was_not_before() -> None:
    for value, was in (("800", True), ("8000", False)):
        new = foreign_changes.read(f"Der Wert ging von {value} auf 9220.")
        assert foreign_changes.names_before(["800"], new) == was


def test_a_text_that_answers_far_better_changes_nothing() -> None:
    texts = "Ест ли Даша рыбу?", "Нора ест рыбу.", "Даша больше не ест рыбу."
    assert foreign_changes.evidence(*texts, NEAR, 1.4).total < ENOUGH


def test_unrelated_texts_with_words_of_a_change_change_nothing() -> None:
    others = [newer for _, _, newer in CHANGED.values()]
    wrong = [
        (name, newer)
        for name, (question, older, own) in CHANGED.items()
        for newer in others
        if newer != own and foreign_changes.evidence(question, older, newer, 0.3, LESS).total >= ENOUGH
    ]
    assert wrong == []


def test_a_new_text_may_replace_what_it_changes() -> None:
    def named(cases: dict[str, tuple[str, str, str]]) -> set[str]:
        likely = {name: foreign_changes.may_replace(old, new, NEAR).total for name, (_, old, new) in cases.items()}
        return {name for name, total in likely.items() if total >= SUGGESTED}

    assert len(named(CHANGED)) >= 12
    assert len(named(BOTH)) <= 3
