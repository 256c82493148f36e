"""Greetings, thanks and approvals ask for nothing; what only looks like them does."""

from memoryd.core.search.small_talk import LONGEST, is_small_talk

SMALL_TALK = {
    "en": ["Good morning!", "ok thanks", "Sounds good, go ahead", "thanksss", "lol", "👍", "this is fine", "well done",
           "How are you today?", "What’s up?", "No, stop", "good evening everyone", "hahaha", "...",
           "great, thank you for your help", "no worries", "makes sense", "see you tomorrow", "You're the best",
           "go on", "cool cool", "thanks <3", "ok :D", "I like it", "Sounds good to me", "looks good to me!",
           "that works", "hi, everything ok?", "That'll do, thanks", "thanks ever so much", "go for it", "forget it",
           "will do", "roger that", "okie dokie", "you’re a star", "my bad", "one sec", "why not", "absolutely"],
    "de": ["Guten Morgen", "Vielen Dank!", "passt so", "alles klar, mach weiter", "Gute Nacht",
           "danke für deine Hilfe", "vielen Dank, super gemacht", "das reicht",
           "Hallo, wie geht's?", "alles klar bei dir?"],
    "fr": ["Bonjour", "merci beaucoup", "d’accord, on continue", "bonne nuit", "vas-y", "merci pour ton aide",
           "bien reçu, merci", "Bonjour, tout va bien ?", "comment vas-tu ?"],
    "es": ["¡Buenos días!", "muchas gracias", "vale", "de acuerdo", "vale, sigue", "todo bien", "jajaja", "muy bien",
           "Hola, ¿qué tal?", "¿cómo estás?", "sí, dale así"],
    "it": ["Buongiorno", "grazie mille", "va bene, continua", "va bene così", "ciao, come stai?"],
    "pt": ["Bom dia", "muito obrigada", "tá bom", "muito bem, obrigada", "bom dia, tudo certo?",
           "beleza, pode mandar ver", "ok, pode seguir assim"],
    "nl": ["Goedemorgen", "dank je wel", "ga maar door"],
    "pl": ["Dzień dobry", "dziękuję bardzo", "dobra robota", "spoko", "w porządku"],
    "ru": ["Доброе утро", "спасибо большое", "хорошо, продолжай", "хахаха", "вот и хорошо", "ну ладно",
           "Привет, как дела?", "как у тебя дела"],
    "tr": ["Günaydın", "teşekkürler"],
    "sv": ["God dag", "tack så mycket"],
    "ja": ["ありがとうございます。", "おはよう", "オーケー", "はい、お願いします", "お元気ですか？",
           "了解です、それでお願いします", "いいですね、そうしましょう"],
    "zh": ["谢谢！", "好的，继续", "早上好", "辛苦了", "你好吗？", "最近怎么样？"],
    "ko": ["감사합니다", "네, 좋아요", "ㅋㅋㅋ", "안녕하세요, 잘 지내세요?", "네, 그렇게 해주세요"],
    "ar": ["شكرا جزيلا", "شكرًا لك", "مرحبا، كيف حالك؟", "صباح الخير، كل شيء تمام؟", "نعم، افعل ذلك"],
    "hi": ["धन्यवाद", "ओके", "नमस्ते, कैसे हो?", "सब ठीक है?", "ठीक है, ऐसा ही करो"],
    "th": ["ขอบคุณครับ", "555"],
    "others": ["kiitos", "tusen takk", "mange tak", "děkuji", "köszönöm", "ευχαριστώ", "תודה רבה", "terima kasih",
               "дякую", "לא תודה", "diky", "mulțumesc", "hvala", "cảm ơn", "cám ơn bạn"],
}  # fmt: skip
ASKING = [
    # words that are small talk only beside others
    "door", "DAG", "vi", "SIM", "toll", "Rob", "c", "bom", "todo", "fine", "later", "STP", "top",
    # ... and not beside a word that says nothing
    "the door", "my SIM", "the toll", "la tante", "and the top?", "Do not forget the door",
    # ... nor beside one that says something else
    "morning routine", "thanks list?", "test day", "good night story", "OK Diner", "hello world", "supermarket",
    "👍 release", "Danke-Liste", "merci de me redonner le code", "hej, tvättid?", "谢谢，地址？", "감사 카드",
    "how is the deploy, everything ok?", "Wie geht das Deployment?", "¿cómo va el contrato?",
    "tudo certo com o contrato?", "как дела с релизом?", "कैसे deploy करो", "最近的会议?", "잘못된 설정",
    "come va il server?", "それでいくら？", "그렇게 하면 얼마?", "¿dale así el permiso a Ana?",
    "pode seguir com o deploy?",
    "help", "help with the thanks card", "see you at the dentist tomorrow", "sense", "problem with the toll",
    "the best thanks", "let's go to Oslo", "who likes it?", "no worries about Ann", "port:3", "versions <3", "Hilfe",
    "Roger's phone", "that works council", "will do list", "why not Oslo?", "happy birthday song",
    "one second timeout", "le reçu", "looks of the hall", "the star",
    # short questions
    "What is next?", "What do I know?", "What do you know?", "What is my job?", "How much is it?", "what works?",
    "Do I have work this evening?", "What do I have this morning?", "How do I stop this?", "who?",
    # neither words nor small talk
    "42", "5", "55", "R", "k8s", "xyzzy",
]  # fmt: skip


def test_small_talk_asks_for_nothing() -> None:
    every = [text for texts in SMALL_TALK.values() for text in texts]
    assert [text for text in every if not (is_small_talk(text) and is_small_talk(f"  {text.upper()} "))] == []


def test_what_only_looks_like_small_talk_asks_for_something() -> None:
    assert list(filter(is_small_talk, ASKING)) == []


def test_a_word_that_is_no_small_talk_makes_any_message_ask() -> None:
    for texts in SMALL_TALK.values():
        for text in texts:
            assert not is_small_talk(f"{text} Zwickau"), text


def test_a_long_message_asks_for_something() -> None:
    words = LONGEST // len("thanks ")
    assert is_small_talk("thanks " * words)
    assert not is_small_talk("thanks " * (words + 1))
