"""Times that questions in other languages name, and texts in which their words name none."""

from datetime import UTC, datetime

from memoryd.core.search import time_words, times
from tests.core.search.test_times import shown

NOW = datetime(2026, 11, 19, 10, 0, tzinfo=UTC)  # a Thursday

NAMED = [
    ("Was haben wir vorgestern besprochen?", "2026-11-17..2026-11-18"),
    ("Was haben wir letzte Woche entschieden?", "2026-11-09..2026-11-16"),
    ("Was hat Anna vor zwei Wochen gesagt?", "2026-11-02..2026-11-09"),
    ("Was ist seit Montag kaputt?", "2026-11-16.."),
    ("Was haben wir im Juli entschieden?", "2026-07-01..2026-08-01"),
    ("Wer kam am 3. Juli 2025 dazu?", "2025-07-03..2025-07-04"),
    ("Was wurde letzten Freitag besprochen?", "2026-11-13..2026-11-14"),
    ("¿Qué decidimos la semana pasada?", "2026-11-09..2026-11-16"),
    ("¿Qué dijo Ana hace dos semanas?", "2026-11-02..2026-11-09"),
    ("¿Qué acordamos el viernes pasado?", "2026-11-13..2026-11-14"),
    ("¿Qué gastamos el 19 de julio de 2025?", "2025-07-19..2025-07-20"),
    ("Qu'a dit Anna il y a deux semaines ?", "2026-11-02..2026-11-09"),
    ("Qu'est-ce qui est cassé depuis lundi ?", "2026-11-16.."),
    ("Qu'avons-nous appris en mars ?", "2026-03-01..2026-04-01"),
    ("Qu'avons-nous décidé lundi ?", "2026-11-16..2026-11-17"),
    ("De quoi as-tu parlé avec Anna mardi soir ?", "2026-11-17..2026-11-18"),
    ("Qu'a-t-on changé ce mois-ci ?", "2026-11-01..2026-12-01"),
    ("Qui est arrivé au cours des derniers jours ?", "2026-11-13.."),
    ("Was haben wir in den letzten Tagen entschieden?", "2026-11-13.."),
    ("¿Qué decidimos estos últimos días?", "2026-11-13.."),
    ("¿Cuánto gastamos en lo que va de mes?", "2026-11-01..2026-12-01"),
    ("O que decidimos nos últimos dias?", "2026-11-13.."),
    ("O que decidimos na segunda sobre o servidor?", "2026-11-16..2026-11-17"),
    ("Cosa abbiamo deciso lunedì?", "2026-11-16..2026-11-17"),
    ("Cosa è cambiato negli ultimi giorni?", "2026-11-13.."),
    ("O que decidimos na semana passada?", "2026-11-09..2026-11-16"),
    ("O que disse a Ana há duas semanas?", "2026-11-02..2026-11-09"),
    ("上周我们决定了什么？", "2026-11-09..2026-11-16"),
    ("两周前安娜说了什么？", "2026-11-02..2026-11-09"),
    ("2025年7月谁加入了？", "2025-07-01..2025-08-01"),
    ("8月底我们决定了什么？", "2026-08-19..2026-09-01"),
    ("Was haben wir Anfang Oktober beschlossen?", "2026-10-01..2026-10-14"),
    ("¿Qué decidimos a finales de agosto?", "2026-08-19..2026-09-01"),
    ("Qu'est-ce qui s'est passé à la mi-juillet ?", "2026-07-10..2026-07-23"),
    ("O que aconteceu no início de outubro?", "2026-10-01..2026-10-14"),
    ("Cosa è successo a fine agosto?", "2026-08-19..2026-09-01"),
    ("Что случилось в начале октября?", "2026-10-01..2026-10-14"),
    ("7月中旬に誰が来た？", "2026-07-10..2026-07-23"),
    ("10月中に何をした？", "2026-10-01..2026-11-01"),
    ("8월 말에 뭘 결정했지?", "2026-08-19..2026-09-01"),
    ("अगस्त के अंत में क्या तय हुआ?", "2026-08-19..2026-09-01"),
    ("ماذا حدث في بداية أكتوبر؟", "2026-10-01..2026-10-14"),
    ("先週の金曜日に何を話した？", "2026-11-13..2026-11-14"),
    ("過去3日間で何が変わった？", "2026-11-16.."),
    ("11月3日は誰が来た？", "2026-11-03..2026-11-04"),
    ("Cosa abbiamo deciso la settimana scorsa?", "2026-11-09..2026-11-16"),
    ("Cosa ha detto Anna due settimane fa?", "2026-11-02..2026-11-09"),
    ("Chi è arrivato venerdì scorso?", "2026-11-13..2026-11-14"),
    ("Cosa abbiamo imparato a marzo?", "2026-03-01..2026-04-01"),
    ("Что мы решили на прошлой неделе?", "2026-11-09..2026-11-16"),
    ("Что сказала Анна две недели назад?", "2026-11-02..2026-11-09"),
    ("О чём говорили в прошлую пятницу?", "2026-11-13..2026-11-14"),
    ("Что сломано с понедельника?", "2026-11-16.."),
    ("Что мы узнали в марте?", "2026-03-01..2026-04-01"),
    ("지난주에 뭘 결정했지?", "2026-11-09..2026-11-16"),
    ("두 주 전에 안나가 뭐라고 했지?", "2026-11-02..2026-11-09"),
    ("지난 금요일에 무슨 얘기를 했지?", "2026-11-13..2026-11-14"),
    ("3월에 뭘 배웠지?", "2026-03-01..2026-04-01"),
    ("पिछले हफ़्ते हमने क्या तय किया?", "2026-11-09..2026-11-16"),
    ("दो हफ़्ते पहले अन्ना ने क्या कहा?", "2026-11-02..2026-11-09"),
    ("मार्च में हमने क्या सीखा?", "2026-03-01..2026-04-01"),
    ("ماذا قررنا الأسبوع الماضي؟", "2026-11-09..2026-11-16"),
    ("ماذا قالت آنا قبل أسبوعين؟", "2026-11-02..2026-11-09"),
    ("ماذا ناقشنا يوم الجمعة الماضي؟", "2026-11-13..2026-11-14"),
    ("ماذا تعلمنا في مارس؟", "2026-03-01..2026-04-01"),
]
ALONE = """Was ist gestern passiert?
Was habe ich gestern gelernt?
Worüber haben wir gestern gesprochen?
Zeig mir die Notizen von gestern
¿Qué anoté ayer?
¿De qué hablamos ayer?
Muéstrame las notas de ayer
Qu'est-ce que j'ai noté hier ?
Qu'ai-je appris hier ?
De quoi avons-nous parlé hier ?
Montre-moi les notes d'hier
O que aprendi ontem?
Mostra-me as notas de ontem
¿Qué pasó ayer?
Que s'est-il passé hier ?
O que aconteceu ontem?
昨天发生了什么？
昨日は何があった？
Cosa è successo ieri?
Что случилось вчера?
어제 무슨 일이 있었지?
ماذا حدث أمس؟
Was habe ich gestern gemacht?
O que eu fiz ontem?
¿Qué hice ayer?
Qu'est-ce que j'ai fait hier ?
Cosa ho fatto ieri?
Что я делал вчера?
Что мы сделали вчера?
昨日何をしましたか
昨日は何をした？
昨日私は何をしていましたか
昨天我做了什么？
昨天都干了些啥
어제 뭐 했어?
어제 무엇을 했나요?
मैंने कल क्या किया?
ماذا فعلت أمس؟"""
SOMETHING = """昨日アンナは何をしましたか
昨日何を決めましたか
昨天安娜做了什么？
昨天我们决定了什么？
어제 안나는 뭐 했어?
어제 무엇을 결정했나요?
Cosa ha fatto Anna ieri?
Что Анна делала вчера?
ماذا فعلت آنا أمس؟"""
UNNAMED = """Wann ist das Treffen am Montag?
Ich trainiere montags und donnerstags.
Wer kümmert sich um Mai-Ling?
Wird am Freitag ausgeliefert?
die letzte Seite der Anleitung
Was kostet ein Abo im Monat?
¿Cuándo es la reunión del lunes?
los lunes y los jueves
¿Quién es Julio Iglesias?
La sonda llegó a Marte.
Où est la barre Mars ?
Quand est la réunion lundi ?
Il a sept jours pour répondre.
On a une réunion lundi ?
Nous avons huit visites lundi ?
Qu'avons-nous prévu pour lundi ?
Qui a choisi le lundi ?
On a décalé la réunion à lundi ?
Je m'entraîne le lundi et le jeudi.
Que veut dire mai ?
segunda opção do menu
sexta versão do contrato
O que decidimos na segunda reunião?
Quem espera na quarta linha?
周五下午可以上线吗？
每周一开会
日曜大工の本
月の裏側
年に何回？
毎年十月に点検する
Quando è la riunione di lunedì?
Mi alleno il lunedì e il giovedì.
Abbiamo una riunione lunedì?
Abbiamo spostato la riunione a lunedì?
Sei mesi di garanzia
La sonda è arrivata su Marte.
Кто такая Май-Линг?
Когда встреча в понедельник?
Март Антуан
세일 전에 가격이 얼마였지?
매월 3일에 월세를 낸다
월요일 회의는 언제야?
मार्चपास्ट कौन करता है?
सोमवार की बैठक कब है?
كل يوم جمعة
متى اجتماع الاثنين؟"""


def test_a_question_names_a_time_in_its_language() -> None:
    for question, expected in NAMED:
        assert shown(times.span(time_words.in_english(question), NOW, UTC)) == expected, question


def test_a_question_may_ask_for_nothing_but_a_day() -> None:
    for question in ALONE.splitlines():
        found = times.named(question, NOW)
        assert found, question
        assert found.alone, question
        assert shown(times.span(time_words.in_english(question), NOW, UTC)) == "2026-11-18..2026-11-19"


def test_who_or_what_is_asked_about_is_more_than_a_day() -> None:
    others = ("Was hat Anna gestern gelernt?", "¿Qué anotó Ana ayer?", "Qu'a appris Anna hier ?")
    for question in (*others, *SOMETHING.splitlines()):
        found = times.named(question, NOW)
        assert found, question
        assert not found.alone, question


def test_words_of_time_alone_name_none() -> None:
    assert [text for text in UNNAMED.splitlines() if times.named(text, NOW)] == []


def test_an_english_question_stays_as_it_is() -> None:
    assert time_words.in_english("Who is on the Mars team in May?") == "Who is on the Mars team in May?"
