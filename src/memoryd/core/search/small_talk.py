"""Messages that ask for nothing: greetings, thanks, approvals, laughter, emoji. No memory bears on them.

A list can tell this surely in any language, where a model cannot: to an embedder every text is near some other one.
"""

import re
import unicodedata

LONGEST = 80  # characters: longer messages say more than that

_WORDS = frozenset(
    """
    hi hello hey hiya yo howdy greetings bye goodbye cya ciao later good welcome thanks thank you thx thnx ty tks cheers
    ta appreciated much so very a lot many appreciate it ok okay okey okie k kk yes yep yeah yup ya yea no nope nah sure
    fine great perfect nice cool awesome excellent super brilliant lovely wonderful amazing wow right correct exactly
    agreed alright all done got understood see i know well go ahead on continue proceed carry do that this is as please
    pls plz just then now again next more keep going wait never mind nevermind cancel sorry oops um uh hm hmm mhm mm ah
    oh aha lol lmao rofl haha hehe heh xd hooray yay congrats congratulations enjoy have the there of course not yet too
    my for that's it's i'm let's what up how are goes s

    hallo servus moin grüezi gruss tschüss tschuess ciao danke dankeschön vielen dank dir euch schön bitte gern gerne ja
    jo jep nein nö nee gut prima toll klasse super passt so stimmt genau richtig mach mal machs weiter los alles klar
    verstanden lass guten tag morgen abend nacht bis bald später dann also eben sehr nice und okidoki jawohl

    bonjour bonsoir salut coucou merci mille fois beaucoup bcp oui ouais non nan d'accord daccord dac parfait super
    génial bien très c'est cest bon ça ca va marche vas y vas-y continue continuez allez on arrête là laisse tomber stp
    svp s'il te plaît plait vous de rien à a demain bientôt bonne journée nuit soirée au revoir ok c mdr ptdr

    hola buenas buenos días dias tardes noches gracias muchas mil sí si vale dale claro perfecto bueno bien genial
    continúa continua sigue adelante por favor no déjalo dejalo todo listo adiós adios hasta luego mañana de nada está
    estupendo ya

    ciao salve buongiorno buonasera buonanotte grazie mille tante prego sì si va bene perfetto ottimo certo d'accordo
    continua avanti vai pure no lascia stare per favore a domani dopo molto fatto tutto

    olá ola oi bom dia boa tarde noite obrigado obrigada valeu sim não nao tá ta bom ótimo otimo perfeito beleza pode
    continuar continue segue deixa pra lá la por favor até ate logo tchau muito

    hoi hallo dag goedemorgen goedenavond dank dankje dankjewel dankuwel je wel bedankt ja nee hoeft niet meer prima goed
    top mooi ga maar door verder laat graag oké oke doei tot ziens straks morgen

    cześć czesc hej witam dzień dzien dobry dobre dobra dobranoc dzięki dzieki dziękuję dziekuje bardzo tak nie no to rób
    rob super świetnie swietnie dalej kontynuuj zostaw proszę prosze do jutra widzenia pa wystarczy nie trzeba

    привет здравствуй здравствуйте доброе добрый утро день вечер пока спасибо спс большое благодарю да ага нет не надо
    давай давайте ок окей хорошо отлично супер круто понял поняла понятно ясно всё все продолжай дальше пожалуйста
    конечно ладно до завтра свидания

    merhaba selam günaydın gunaydin iyi günler akşamlar geceler teşekkürler tesekkurler teşekkür ederim sağol sagol çok
    evet hayır hayir tamam tamamdır olur harika güzel guzel süper devam et gerek yok kalmadı lütfen hoşça kal görüşürüz tşk

    hej hejsan tjena god morgon kväll natt tack så mycket tackar ja jo nej bra perfekt toppen fint fortsätt kör på det
    räcker behövs inte snälla varsågod hejdå vi ses kanon

    شكرا شكراً جزيلا جزيلاً مرحبا مرحباً أهلا اهلا السلام عليكم صباح مساء الخير النور نعم اي ايوه لا خلاص تمام حسنا حسناً جيد
    ممتاز رائع كمل أكمل استمر من فضلك عفوا مع السلامة موافق ههه هههه

    नमस्ते नमस्कार धन्यवाद शुक्रिया बहुत हाँ हां जी नहीं नही मत रहने दो ठीक है अच्छा बढ़िया कर दो करो जारी रखो रखें आगे
    कृपया सही शुभ रात्रि प्रभात बस
    """.split()
)

_WITH_OTHERS = frozenset(
    """morning afternoon evening night day work works worked looks sounds job weekend team guys friend buddy mate bro man
    dude sir everyone stop start forget test""".split()
)
"""Words that ask for nothing only beside others that do: `good morning`, but not `morning`."""

_PHRASES = sorted(
    """
    ありがとうございました ありがとうございます ありがとう どうも おはようございます おはよう こんにちは こんばんは おやすみなさい おやすみ
    はい いいえ うん ううん お願いします お願い おねがいします 了解しました 了解です 了解 りょうかい わかりました 分かりました わかった いいです
    いいね よし 大丈夫です 大丈夫 続けてください 続けて すごい 結構です やめて ください すみません じゃあ また明日 さようなら お疲れ様です お疲れさま
    です ね よ
    谢谢你 谢谢您 谢谢 多谢 感谢 謝謝 你好 您好 早上好 晚上好 晚安 早安 早 嗨 好的 好吧 好啊 好 可以 行 是的 是 对 不用了 不用 不要 不是 不 没事
    没关系 算了 继续 繼續 吧 啊 呀 了解 明白了 明白 知道了 收到 没问题 太好了 很好 再见 拜拜 请 了 啦 哈 呵 嗯 哦 非常 就这样 这样
    감사합니다 감사해요 감사 고맙습니다 고마워요 고마워 안녕하세요 안녕히 안녕 네 예 응 아니요 아니오 아니 됐어요 됐어 됐습니다 좋아요 좋아 좋습니다
    알겠습니다 알겠어요 알았어요 알았어 오케이 계속해 계속 진행해줘 진행해 진행 해주세요 해줘 줘요 주세요 그래요 그래 괜찮아요 괜찮아 수고하셨습니다 수고
    화이팅 잘자 요 ㅇㅋ ㄱㅅ ㄴㄴ ㅇㅇ ㄱㄱ
    ขอบคุณ ครับ ค่ะ สวัสดี โอเค ใช่ ไม่ ได้
    """.split(),
    key=len,
    reverse=True,
)
_UNSPACED = re.compile("|".join([*map(re.escape, _PHRASES), "[ㅋㅎㅠㅜ草]+"]))
_LAUGHTER = re.compile(r"(?:a?(?:ha|he|hi|ja|je|ah|eh|xa){2,}h?|(?:ха|ах|хе|хи|hə|ه){2,}х?|k{3,}|w{2,}|x+d+|5{3,})")
_STRETCHED = re.compile(r"(.)\1{2,}")
_WORD = re.compile(r"[^\W_]+(?:['’\u0300-\u036f\u0900-\u0963-][^\W_]*)*")


def is_small_talk(text: str) -> bool:
    """Return whether a message asks for nothing, as far as a list of words can tell."""
    if len(text) > LONGEST:
        return False
    composed = unicodedata.normalize("NFC", text)  # NFKC would take letters apart of which Korean abbreviations consist
    plain = unicodedata.normalize("NFKC", _UNSPACED.sub(" ", composed)).lower().replace("’", "'")
    words = [word for word in _WORD.findall(plain) if word not in _WITH_OTHERS]
    return all(map(_says_nothing, words)) and (bool(words) or not _WITH_OTHERS.intersection(_WORD.findall(plain)))


def _says_nothing(word: str) -> bool:
    once, twice = _STRETCHED.sub(r"\1", word), _STRETCHED.sub(r"\1\1", word)
    return bool(_LAUGHTER.fullmatch(word)) or not _WORDS.isdisjoint({word, once, twice})
