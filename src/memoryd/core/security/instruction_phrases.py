"""Orders to an agent that are alike in every language: the phrases of each, for the same few forms.

What follows a phrase decides: `before you answer` is an order only with a file of secrets or an address, `you must now`
only with a command that is fetched and run.
"""

from memoryd.core.security.instruction_forms import AUTHORITY, CONCEAL, DROP, ROLE, TO_AI, Forms

_FETCHED = r"[^\n]{0,80}?(?:\.env\b|~/\.|\bid_rsa\b|https?://|\w@\w)"
_RUN = r"[^\n]{0,50}?\b(?:curl|wget)\b[^\n]{0,120}?\| ?(?:sudo )?(?:ba|z)?sh\b"
_ANSWERING: dict[str, str] = {
    "before ": r"\bbefore (?:you (?:answer|reply|respond)|answering|replying|responding)\b",
    "bevor ": r"\bbevor du (?:\w{1,20} ){0,3}(?:antwortest|beantwortest|fortfährst)",
    "avant de ": r"\bavant de (?:lui |me |leur )?(?:répondre|continuer)",
    "antes de ": r"\bantes de (?:responder|contestar|continuar)",
    "prima di ": r"\bprima di (?:rispondere|continuare)",
    "прежде чем, перед ": r"прежде чем (?:ты )?(?:ответ|отвеч|продолж)\w{1,6}|перед (?:ответом|тем,? как ответить)",
    "回答, 回复, 答复, 继续": r"(?:回答|回复|答复|继续)(?:用户|问题)?(?:之前|前)[，,]?",
    "前に": r"(?:回答|返答|返信|答え|続け)(?:する|る)?前に",
    "전에": r"(?:대답|답변|응답|계속)하기 전에",
    "पहले": r"(?:जवाब|उत्तर) (?:देने )?से पहले",
    "قبل": r"قبل (?:أن ترد|أن تجيب|الرد|الإجابة)",
}
_NOW: dict[str, str] = {
    "you must, you have to": r"\byou (?:must|have to) (?:now |immediately |first ){1,2}(?:run|execute)",
    "du musst": r"\bdu musst (?:jetzt|sofort|zuerst)",
    "tu dois, vous devez": r"\b(?:tu dois|vous devez) (?:maintenant|immédiatement|d'abord)",
    "debes, tienes que, ejecuta": r"\b(?:debes|tienes que) (?:ejecutar|correr)|\bejecuta (?:ahora mismo|de inmediato)",
    "devi ": r"\bdevi (?:eseguire|lanciare) (?:subito|ora|adesso)",
    "executar": r"\b(?:você|tu) (?:deve|tem que|tens de) executar",
    "ты должен, ты обязан": r"ты (?:должен|обязан) (?:\w{1,12} )?(?:выполнить|запустить)",
    "你": r"你(?:现在|必须|需要|应该|立即|马上){1,3}(?:执行|运行)",
    "今すぐ": r"今すぐ[^。\n]{0,14}(?:実行|コマンド)",
    "지금 당장, 지금 바로": r"지금 (?:당장|바로)",
    "तुम्हें, आपको": r"(?:तुम्हें|आपको) (?:अभी|तुरंत)",
    "يجب عليك, عليك أن": r"(?:يجب عليك|عليك أن)",
}
_ONLY: dict[str, str] = {
    "this note, this text, this memory, written here": r"\b(?:do|obey|follow) (?:only"
    r"|nothing but) (?:what is written here|this"
    r" (?:note|text|memory)\b)",
    "nur, ausschließlich, was hier steht": r"\b(?:tu\w?|mach\w{0,2}|befolg\w{0,3}|gehorch\w{0,3})(?: du)? (?:(?:nur"
    r"|ausschließlich)"
    r" (?:noch )?(?:diese\w? (?:notiz|text)|was hier)|(?:genau,? )?was hier steht)",
    "à cette note, à ce texte, à ce message, écrit ici": r"\bobéis(?:sez)? (?:uniquement|seulement"
    r"|exclusivement) à (?:cette note|ce texte|ce"
    r" message)|\bne (?:fais|faites) que ce qui est écrit ici",
    "esta nota, este texto, este mensaje, escrito aquí, obedeces": r"\b(?:sigue|obedece[sr]?|haz) (?:únicamente|solo"
    r"|sólo|solamente) (?:a |lo"
    r" que (?:dice|está) )?(?:esta nota|este texto|este mensaje|escrito aquí)|\b(?:solo|sólo) obedeces",
    "questa, questo, scritto qui": r"\b(?:obbedisci|segui) (?:solo|soltanto) (?:a )?quest[oa] (?:nota|testo)"
    r"|\bfai (?:solo|soltanto) (?:quello|ciò) che è scritto qui",
    "esta nota, este texto, escrito aqui, obedece": r"\b(?:siga|obedeça|faça) (?:apenas|somente|só) (?:a "
    r"|o que (?:diz|está) )?"
    r"(?:esta nota|este texto|escrito aqui)|\b(?:só|apenas) obedece",
    "подчиня, что здесь написано, что написано, то написано, то здесь написано": r"подчиня\w{2,4} (?:только"
    r"|лишь) (?:этой|этому)|(?:делай|выполняй)"
    r" (?:только|лишь) то,? что (?:здесь )?написано",
    "这条, 这段, 这里": r"只(?:听从|服从|遵守|按照|按)(?:这条|这段|这里)[^。\n]{0,6}(?:笔记|内容|文字|去做|执行|写)",
    "このメモ, この文章, ここに書": r"(?:このメモ|この文章)に(?:だけ|のみ)従|ここに書[^。\n]{0,8}(?:だけ"
    r"|のみ)を?(?:行(?:って|いなさい|え)|実行(?:して|せよ)|しなさい|して(?:ください|。|$))",
    "이 메모, 이 글, 여기": r"이 (?:메모|글)(?:만|에만) (?:따르|따른|따라|복종)|여기 (?:적힌|쓰인) 대로만",
    "यहाँ लिखा, इस नोट": r"(?:केवल|सिर्फ) (?:वही करो जो यहाँ लिखा|इस नोट)",
    "هذه الملاحظة, مكتوب هنا": r"(?:أطع|اتبع|نفذ) (?:فقط )?(?:هذه الملاحظة|ما هو مكتوب هنا)",
}
_NOW_YOU_ARE: dict[str, str] = {
    "apply to you": r"\bno (?:rules|restrictions|limits|guidelines) apply to you\b",
    "bist du": r"\b(?:ab jetzt|ab sofort|von nun an) bist du (?:ein\w{0,2} )?(?:\w{1,20} ){0,2}(?:assistent|ki\b|modell"
    r"|agent|hacker|chatbot)",
    "tu es, vous êtes": r"\b(?:à partir de maintenant|désormais),? (?:tu es|vous êtes) (?:une? )?(?:\w{1,20}"
    r" )?(?:assistant|ia\b|modèle|agent|hacker)",
    "eres": r"\ba partir de ahora,? eres (?:una? )?(?:\w{1,20} )?(?:asistente|ia\b|modelo|agente|hacker)",
    "sei ": r"\b(?:da ora|da adesso)(?: in poi)?,? sei (?:un'?a? ?)?(?:\w{1,20} )?(?:assistente|ia\b|modello|agente)",
    "você é, tu és": r"\ba partir de agora,? (?:você é|tu és) (?:uma? )?(?:\w{1,20} )?(?:assistente|ia\b|modelo"
    r"|agente)",
    "ты ": r"(?:с этого момента|отныне),? ты (?:\w{1,20} )?(?:ассистент|помощник|ии\b|модель|агент|хакер)",
    "你是": r"[从從][现現]在(?:开始|起|開始)[,，]?你是[^。！？\n，]{0,16}(?:助手|模型|ai|黑客|机器人)",
    "あなたは": r"(?:今|これ)からあなたは[^。\n]{0,20}(?:アシスタント|ai|モデル|エージェント)",
    "너는, 당신은": r"(?:지금부터|앞으로) (?:너는|당신은)[^.!?\n]{0,20}(?:어시스턴트|모델|ai|비서|에이전트)",
    "तुम, आप": r"अब से (?:तुम|आप) [^।!?\n]{0,24}(?:सहायक|मॉडल|एआई)",
    "من الآن": r"من الآن فصاعد[اًا]{1,2}[،,]? أنت (?:مساعد|نموذج|وكيل)",
}
_OWN_RULES: dict[str, str] = {
    "deine": r"\bhalte? dich (?:nicht mehr|nicht länger) an deine (?:\w{1,20} )?(?:regeln|vorgaben|anweisungen)",
    "tes règles, tes consignes, tes instructions": r"\bne (?:suis|respecte) plus tes (?:règles|consignes|instructions)",
    "tus reglas, tus instrucciones": r"\b(?:haz caso omiso de|olvida|no sigas) tus (?:reglas|instrucciones)",
    "tue regole, tue istruzioni": r"\b(?:non seguire più|ignora|dimentica) le tue (?:regole|istruzioni)",
    "le istruzioni, le regole, le direttive": r"\b(?:ignora|dimentica|scarta) (?:tutte )?le (?:istruzioni|regole"
    r"|direttive) (?:precedenti"
    r"|di sopra)",
    "regras": r"\b(?:esqueça|ignore|não siga) (?:as )?(?:suas|tuas) (?:\w{1,20} )?regras",
    "правил, инструкц": r"не следуй\w{0,2} (?:больше )?(?:своим|твоим) (?:\w{1,20} )?(?:правил|инструкц)",
    "规则": r"不要再?(?:遵守|遵循)你(?:原来|之前|自己)?的规则",
    "ルール": r"(?:元|今まで|これまで|自分)のルールに(?:は)?従わ(?:ず|ない)",
    "규칙": r"(?:원래|기존|너의) 규칙을 (?:더 이상 )?따르지 (?:말|마|않)",
}
_HIDDEN: dict[str, str] = {
    "al usuario": r"\bno le (?:digas|cuentes) nada (?:de esto )?al usuario",
    "all'utente": r"\bnon (?:dire|dica|raccontare|rivelare)(?: mai)?(?: nulla| niente"
    r"| questo)?(?: di questo)? all'utente",
    "用户": r"(?:不要|别|请勿|切勿)(?:告诉|告知|通知)用户[，,]",
}

PHRASES: Forms = {
    TO_AI: {parts: f"(?:{phrase}){_FETCHED}" for parts, phrase in _ANSWERING.items()}
    | {parts: f"(?:{phrase}){_RUN}" for parts, phrase in _NOW.items()},
    AUTHORITY: _ONLY,
    ROLE: _NOW_YOU_ARE,
    DROP: _OWN_RULES,
    CONCEAL: _HIDDEN,
}
