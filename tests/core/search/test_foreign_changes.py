"""Which words tell a change from two facts that both hold, in ten languages."""

import pytest

from memoryd.core.search import foreign_changes
from memoryd.core.search.changes import ENOUGH, SUGGESTED

NEAR = 0.5
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


@pytest.mark.parametrize("name", CHANGED)
def test_a_change_is_found(name: str) -> None:
    found = foreign_changes.evidence(*CHANGED[name], NEAR)
    assert found.total >= ENOUGH, found.parts


@pytest.mark.parametrize("name", BOTH)
def test_both_hold(name: str) -> None:
    found = foreign_changes.evidence(*BOTH[name], NEAR)
    assert found.total < ENOUGH, found.parts


def test_unrelated_texts_with_words_of_a_change_change_nothing() -> None:
    others = [newer for _, _, newer in CHANGED.values()]
    wrong = [
        (name, newer)
        for name, (question, older, own) in CHANGED.items()
        for newer in others
        if newer != own and foreign_changes.evidence(question, older, newer, near=0.3).total >= ENOUGH
    ]
    assert wrong == []


def test_a_new_text_may_replace_what_it_changes() -> None:
    def named(cases: dict[str, tuple[str, str, str]]) -> set[str]:
        likely = {name: foreign_changes.may_replace(old, new, NEAR).total for name, (_, old, new) in cases.items()}
        return {name for name, total in likely.items() if total >= SUGGESTED}

    assert len(named(CHANGED)) >= 12
    assert len(named(BOTH)) <= 3
