"""The forms of orders to an agent in ten more languages: see instruction_forms.py, and instruction_phrases.py for more.

Each has the order to drop instructions, the new role, the order to hide or to send something, the address to an AI.
"""

from memoryd.core.security.instruction_forms import CONCEAL, DROP, ENGLISH, PROMPT, ROLE, SEND, TO_AI, Forms
from memoryd.core.security.instruction_phrases import PHRASES

GERMAN: Forms = {
    DROP: {
        "vergiss, vergesst, ignorier": r"\b(?:vergiss|vergesst|ignorier\w{0,3}) alles (?:bisherige|obige|vorherige"
        r"|davor|was (?:davor|oben|vorher|bisher))\b",
        "anweisung, instruktion, vorgabe, regel, befehl, prompt": r"(?:\b(?:ignorier\w{0,3}|vergiss|vergesst"
        r"|missacht\w{0,3}|verwirf|verwerft|überschreib\w{0,3}|übergeh\w{0,3})|\bvergessen sie) %NEAR%(?:vorherig"
        r"|bisherig|vorig|obig|früher|vorangegangen|ursprünglich|deine|ihre) ?\w{0,3} %NEAR%(?:anweisung"
        r"|instruktion|vorgabe|regel|befehl|system-?prompt|prompt)|(?:vorherig|bisherig|obig|früher|deine)\w{0,2}"
        r" (?:anweisung|instruktion|vorgabe|regel|befehl)\w{0,2} %NEAR%(?:missachten|vergessen|ignorieren|nicht"
        r" mehr beachten)|(?:deine|ihre) (?:\w{1,12} )?(?:anweisung|instruktion|vorgabe|regel|befehl)\w{0,2}"
        r" (?:gelten nicht|sind (?:ungültig|aufgehoben|hinfällig))",
    },
    ROLE: {
        "du bist": r"\bdu bist (?:jetzt|nun|ab jetzt|ab sofort) (?:ein\w{0,2} |im |der |die )?(?:\w{1,20}"
        r" ){0,2}(?:assistent|ki\b|modell|agent|hacker|chatbot|sprachmodell|entwicklermodus)",
        "ab jetzt, ab sofort, von nun an": r"\b(?:ab jetzt|ab sofort|von nun an) (?:gehorchst du|(?:antwortest"
        r"|handelst|folgst) du (?:nur|ausschließlich))\b",
    },
    PROMPT: {
        "prompt, anweisung": r"\b(?:gib|zeig|nenn|verrat|wiederhol|druck|schreib)\w{0,2} (?:mir )?(?:deine?n?|den"
        r" ganzen|den vollständigen) (?:\w{1,20} )?(?:system-?prompt|systemanweisung|ursprünglichen anweisung)",
    },
    TO_AI: {
        "hinweis an, nachricht an, anweisung, achtung": (
            r"\b(?:hinweis an|nachricht an|anweisung(?:en)? (?:an|für)|achtung,?) (?:die|den|das|alle)?"
            r" ?(?:ki\b|ki-|sprachmodell|assistenten|modell\b)"
        ),
        "an alle, an jede, an die": r"%START%an (?:alle|jede|die) (?:ki\b"
        r"|sprachmodelle)",
        "dies, diese": r"\b(?:wenn|sobald|falls) du (?:dies(?:e (?:notiz|erinnerung|nachricht)|en text)?)"
        r" (?:liest|abrufst)",
    },
    CONCEAL: {
        "nutzer, anwender": r"\b(?:sag|erzähl|verrat|teil)\w{0,2} (?:das |es |dies )?dem (?:be)?nutzer (?:nichts"
        r"|das nicht|es nicht|davon)|ohne (?:dass )?(?:den|dem|der) (?:be)?(?:nutzer|anwender) (?:zu informieren"
        r"|etwas|davon|es merkt)|\b(?:erwähn|sag|verrat)\w{0,2} (?:das|dies|es|davon) (?:nicht|nie|nichts)"
        r" (?:gegenüber )?(?:dem )?(?:be)?nutzer",
    },
    SEND: {
        "passw, zugangsdaten, schlüssel, umgebungsvariablen, erinnerungen": (
            r"\b(?:send(?=e)|schick|übermittl|übertrag|lad|poste|leit)\w{0,2} (?:\w{1,12}"
            r" ){0,2}(?:passw\w{1,6}|zugangsdaten|(?:api-?)?schlüssel|umgebungsvariablen|erinnerungen)%AT%"
        ),
    },
}

FRENCH: Forms = {
    DROP: {
        "tout ce qui précède, tout ce qu": r"\b(?:oublie|ignore)[zr]? tout ce qu(?:i précède|e (?:tu|vous) a)",
        "instruction, consigne, directive, règle, ordre": r"\b(?:ignore[zr]?|oublie[zr]?|ne tien(?:s|ez) (?:pas"
        r"|plus) compte d\w{1,2}|ne sui(?:s|vez) (?:pas|plus)|néglige[zr]?) %NEAR%(?:instruction|consigne"
        r"|directive|règle|ordre)s?(?: (?:précédent|antérieur|initial|ci-dessus|d'avant|que (?:tu|vous) a)|"
        r" système)",
        "tes instruction, vos instruction, tes consigne, vos consigne": (
            r"\b(?:tes|vos) (?:instruction|consigne)s (?:précédentes |antérieures )?(?:sont|ne sont plus|ont"
            r" été) (?:annulée|révoquée|caduque|valable|remplacée)"
        ),
    },
    ROLE: {
        "tu es, vous êtes": r"\b(?:tu es|vous êtes) (?:maintenant|désormais) (?:un|une|en) (?:\w{1,20}"
        r" )?(?:assistant|ia\b|modèle|agent|pirate|mode|chatbot)",
        "partir de maintenant, désormais": r"\b(?:à partir de maintenant|désormais),? (?:(?:tu|vous) )?(?:obéi"
        r"|(?:répond|agi)\w{1,3} (?:uniquement|seulement|toujours|sans|en mode|comme)\b)",
    },
    PROMPT: {
        "prompt, instruction, message": r"\b(?:affiche|montre|révèle|répète|donne|imprime)[rz]?(?:-moi)? (?:ton|votre"
        r"|tes|vos) (?:prompt|message|instructions?) (?:système|initia)",
    },
    TO_AI: {
        "ia, langage, artificielle": r"\b(?:note|message|instructions?|avis)"
        r" (?:à|pour) (?:l'|les |toute )?(?:ia\b|intelligence"
        r" artificielle|modèle de langage)",
        "ceci, cette note, ce souvenir, ce message": r"\b(?:quand|lorsque|si|dès que) ?(?:tu|vous) (?:lis|lisez)"
        r" (?:ceci|cette note|ce souvenir|ce message)",
    },
    CONCEAL: {
        "utilisateur": r"\b(?:n'en (?:parle|dis|parlez|dites)|ne (?:le|la|lui) (?:dis|dites|parle|mentionne"
        r"|révèle))z? (?:pas|rien|jamais)(?: à)? l'utilisateur|\bsans (?:en |le |l')?(?:informer|prévenir|avertir"
        r"|dire à) l'utilisateur%END%|\bne (?:dis|dites) rien à l'utilisateur",
    },
    SEND: {
        "mots de passe, identifiants, clés, jetons, secrets, variables": (
            r"\b(?:envoie|envoyez|transmets|transmettez|publie|téléverse)z? (?:\w{1,8} ){0,2}(?:mots de passe"
            r"|identifiants|clés|jetons|secrets|variables d'environnement)%AT%"
        ),
    },
}

SPANISH: Forms = {
    DROP: {
        "todo lo": r"\b(?:olvid|ignor)(?:a|e|ad|en) todo lo (?:anterior|previo|de arriba|que te)\b",
        "instruccion, instrucción, indicacion, regla, directriz, directrices, órdenes": (
            r"\b(?:ignor(?:a|e|ad|en)|olvid(?:a|e|ad|en)|haz caso omiso de|haga caso omiso de|descart(?:a|e)"
            r"|desobedec(?:e|er)|no sig(?:as|a)) %NEAR%(?:instrucci[oó]n(?:es)?|indicaciones|reglas|directrices"
            r"|órdenes)(?: (?:anteriores|previas|de arriba|iniciales|que te)| del sistema)"
        ),
        "tus instrucciones, sus instrucciones": r"\b(?:tus|sus) instrucciones (?:anteriores |previas )?(?:quedan"
        r"|están|fueron|han sido|ya no) (?:anulad|cancelad|revocad|vale|sirve|aplica|sin efecto)",
    },
    ROLE: {
        "ahora eres": r"\bahora eres (?:un|una) (?:\w{1,20} )?(?:asistente|ia\b|modelo|agente|hacker|chatbot)",
        "partir de ahora": r"\ba partir de ahora,? (?:tú )?(?:obede(?:ce|zca)|(?:responde|responda|actúa)[sr]?"
        r" (?:solo|sólo|únicamente|siempre|como|sin)\b)",
    },
    PROMPT: {
        "sistema, iniciales": r"\b(?:muestra|revela|repite|imprime|dime|muéstrame) (?:tu|el texto de tu|tus)"
        r" (?:prompt|mensaje|instrucciones) (?:del? sistema|iniciales)",
    },
    TO_AI: {
        "ia": r"\b(?:nota|mensaje|instrucci\w{2,4}|aviso) (?:para|a) (?:la |las |cualquier )?(?:ia\b|inteligencia"
        r" artificial)",
        "esto, esta nota, este mensaje, este recuerdo": r"\b(?:cuando|si|en cuanto) (?:leas|lees|recuperes)"
        r" (?:esto|esta nota|este mensaje|este recuerdo)",
    },
    CONCEAL: {
        "usuario": r"\bno (?:se )?(?:lo|la) (?:digas|cuentes|menciones|reveles) (?:nunca )?al usuario|\bsin"
        r" (?:informar|avisar|decirle|decírselo)(?: nada)? al usuario%END%|\bno (?:le )?(?:digas|cuentes"
        r"|informes) (?:nada )?(?:de esto )?al usuario(?: de esto| nada|%END%)",
    },
    SEND: {
        "contraseña, credencial, claves, tokens, secretos, variables": (
            r"\b(?:envía|envíe|manda|sube|publica|transmite|reenvía) (?:\w{1,8} ){0,2}(?:contraseñas"
            r"|credenciales|claves|tokens|secretos|variables de entorno)%AT%"
        ),
    },
}

PORTUGUESE: Forms = {
    DROP: {
        "tudo": r"\b(?:esqueça|ignore|desconsidere) tudo (?:o que (?:veio|foi dito|recebeu)|acima|antes|que veio)\b",
        "instruções, regras, orientações, diretrizes, ordens": r"\b(?:ignor(?:e|a|em)|esque(?:ça|çam|ce)"
        r"|desconsider(?:e|a)|descart(?:e|a)|desobedeça|não siga) %NEAR%(?:instruções|regras|orientações"
        r"|diretrizes|ordens)(?: (?:anteriores|prévias|acima|iniciais|que (?:te|você|recebeu|lhe))| do sistema)",
        "suas instruções, tuas instruções": r"\b(?:suas|tuas) instruções (?:anteriores |prévias )?(?:foram|estão"
        r"|não) (?:canceladas|anuladas|revogadas|valem|substituídas)",
    },
    ROLE: {
        "agora você é, agora tu és": r"\bagora (?:você é|tu és) (?:um|uma) (?:\w{1,20} )?(?:assistente|ia\b"
        r"|modelo|agente|hacker|chatbot)",
        "partir de agora": r"\ba partir de agora,? (?:você |tu )?(?:obede(?:ce|ça)|(?:responde|responda|age|aja)"
        r" (?:só|apenas|somente|sempre|como|sem)\b)",
    },
    PROMPT: {
        "sistema, iniciais": r"\b(?:mostre|revele|repita|imprima|diga|exiba) (?:o )?(?:seu|suas|teu) (?:prompt"
        r"|mensagem|instruções) (?:d[eo] sistema|iniciais)",
    },
    TO_AI: {
        "ia": r"\b(?:nota|mensagem|instruç\w{2,4}|aviso) (?:para|à|a) (?:a |as |qualquer )?(?:ia\b|inteligência"
        r" artificial)",
        "isto, isso, esta nota, esta mensagem": r"\b(?:quando|se|assim que) (?:você |tu )?(?:ler|leres|recuperar)"
        r" (?:isto|isso|esta nota|esta mensagem)",
    },
    CONCEAL: {
        "usuário, utilizador": r"\bnão (?:conte|diga|revele|mencione|mostre) (?:isso|isto|nada)(?: disso)? ao"
        r" (?:usuário|utilizador)|\bsem (?:avisar|informar|contar a?o?|notificar) ?(?:o|ao)? (?:usuário"
        r"|utilizador)%END%",
    },
    SEND: {
        "senhas, credenciais, chaves, tokens, segredos, variáveis": r"\b(?:envie|mande|publique|transmita"
        r"|encaminhe) (?:\w{1,8} ){0,2}(?:senhas|credenciais|chaves|tokens|segredos|variáveis de ambiente)%AT%",
    },
}

RUSSIAN: Forms = {
    DROP: {
        "всё, все": r"(?:забудь|игнорируй)(?:те)? вс[её],? (?:выше|ранее|предыдущее|что (?:было|сказано|написано))",
        "инструкц, указани, правил, команд, приказ": r"(?:игнорируй|проигнорируй|забудь|не обращай внимания на|не"
        r" следуй|отмени|отбрось)\w{0,2} %NEAR%(?:(?:предыдущ|прежн|прошл|вышеуказанн|ранн|тво|ваш)\w{1,3}"
        r" %NEAR%(?:инструкц|указани|правил|команд|приказ)|(?:инструкци|указани|правила)\w{0,2} (?:выше|ранее))",
        "инструкции": r"(?:твои|ваши) (?:предыдущие |прежние )?инструкции (?:больше не|отменен|отменён"
        r"|недействительн|аннулирован)",
    },
    ROLE: {
        "теперь ты": r"теперь ты (?:\w{1,20} ){0,2}?(?:ассистент|помощник|ии\b|модель|агент|хакер|бот)\b",
        "этого момента, отныне": r"(?:с этого момента|отныне),? ты (?:будешь |должен |только ){0,2}(?:подчиня"
        r"|слуша\w{1,6} только|отвеча\w{1,6} (?:только|лишь))",
    },
    PROMPT: {
        "системн": r"(?:покажи|выведи|раскрой|повтори|напечатай)\w{0,2} (?:мне )?(?:свой|свои|твой|ваш)"
        r" (?:\w{1,20} )?системн\w{1,3} (?:промпт|инструкц|сообщени)",
    },
    TO_AI: {
        "ии, искусственн, ассистент": r"(?:сообщение|инструкция|указание|внимание|заметка) ?(?:для|,)? ?(?:всех"
        r" )?(?:ии\b|искусственного|ассистентов)",
        "это, эту": r"(?:когда|как только|если) (?:ты )?(?:прочитаешь|прочтёшь|прочтешь|читаешь) (?:это|эту"
        r" заметку|эту запись)[,:]",
    },
    CONCEAL: {
        "пользовател": r"(?:не (?:говори|сообщай|рассказывай|упоминай))\w{0,2} (?:об этом |это |этого |ничего"
        r" )пользовател\w{1,3}|не (?:говори|сообщай|рассказывай)\w{0,2} пользовател\w{1,3} (?:об этом|ничего|про"
        r" это)|(?:не сообщая|не уведомляя|без ведома|втайне от) (?:об этом )?пользовател\w{1,3}%END%",
    },
    SEND: {
        "парол, ключ, учётн, учетн, токен, секрет": r"(?:отправь|перешли|загрузи|передай|вышли)\w{0,2} (?:\w{1,8}"
        r" ){0,2}(?:парол|ключ|уч[её]тны|токен|секрет)\w{0,3}%AT%",
    },
}

CHINESE: Forms = {
    DROP: {
        "忘记, 忽略, 忘掉, 无视": r"(?:忘记|忘掉|忽略|无视)(?:以上|之前|前面|上面)的?(?:一切|所有内容|全部内容"
        r"|所有对话)",
        "指令, 指示, 规则, 規則, 提示词, 提示詞, 命令, 约束, 限制": r"(?:忽略|无视|無視|忘记|忘掉|忘記|不要理会"
        r"|不要遵守|不要遵循|抛弃|绕过|覆盖|忽視|违反)[^。！？\n,，]{0,8}?(?:之前|以前|先前|上面|上述|以上|前面"
        r"|此前|原有|原来|你的|系统|所有|一切)(?:的|所有|全部|一切|任何|系统){0,3}(?:指令|指示|规则|規則|提示词"
        r"|提示詞|命令|约束|限制)",
        "你": r"你(?:之前|以前|原来|先前)?的?(?:所有)?(?:指令|指示|规则)(?:已经|已|现在|不再|都)(?:作废|失效|无效"
        r"|取消|有效|被取消)",
    },
    ROLE: {
        "你现在是, 你現在是": r"你[现現]在是[^。！？\n，]{0,12}(?:助手|模型|ai|黑客|模式|机器人|代理|dan)",
        "从现, 從现, 从現, 從現": r"[从從][现現]在(?:开始|起|開始)[,，]?你(?:必须|只|要|将|会)?(?:服从|听从|只听|无视"
        r"|忽略|扮演)",
    },
    PROMPT: {
        "系统, 系統, 初始": r"(?:输出|显示|重复|透露|泄露|打印|复述|公开"
        r"|告诉我)[^。！？\n]{0,6}你的[^。！？\n]{0,6}(?:系统提示|系統提示|系统指令|初始指令)",
    },
    TO_AI: {
        "ai, 智能": r"(?:^|[。！？\n])(?:ai|人工智能|智能)(?: ?助手| ?模型| ?代理)?(?:请注意|注意"
        r"|请)?[:：,，](?:请)?(?:删除|执行|发送|调用|运行|忽略)|(?:给|致)(?:ai|人工智能)(?:助手|模型)?的(?:指令"
        r"|指示|消息|说明)",
        "这, 此": r"(?:当|如果|一旦)你?(?:读到|阅读|检索到)(?:这条|这段|此)(?:信息|消息|记忆|内容|文字|笔记)",
    },
    CONCEAL: {
        "用户, 用戶, 使用者": r"(?:不要|别|请勿|勿|切勿|不得)(?:[把将][^。！？\n]{0,8})(?:告诉|告知|透露给"
        r"|通知)(?:给)?(?:用户|用戶|使用者)|(?:不要|别|请勿|勿|切勿|不得)(?:告诉|告知|通知|告訴|提醒)(?:用户|用戶"
        r"|使用者)(?:这|此|任何|$|[。！，])|(?:不通知|瞒着|不告知|不告诉)(?:用户|使用者)的?情况下|(?:对"
        r"|向)(?:用户|使用者)(?:隐瞒|保密)",
    },
    SEND: {
        "密码, 密碼, 密钥, 凭据, 凭证, 令牌, 环境变量, 记忆, 私钥": r"(?:把|将|發送|发送|上传"
        r"|转发)[^。！？\n]{0,6}?(?:密码|密碼|密钥|凭据|凭证|令牌|环境变量|记忆"
        r"|私钥)[^。！？\n]{0,12}?(?:https?://|\w@\w)",
    },
}

JAPANESE: Forms = {
    DROP: {
        "忘れ, 無視": r"(?:これまで|以上|上記|今まで)の(?:内容|会話|こと)(?:を|は)?(?:すべて|全て|全部)?(?:忘れて"
        r"|忘れろ|無視し)",
        "指示, 命令, ルール, 規則, プロンプト, 指令, 制約": r"(?:これまで|以前|上記|今まで|従来|先ほど|元|最初|前"
        r"|あなた)の[^。！？\n]{0,6}?(?:指示|命令|指令|ルール|規則|プロンプト|制約)[^。！？\n]{0,6}?(?:(?:無視"
        r"|破棄)(?:して(?:ください|、|。|$)|し、|しろ|せよ|する(?:こと|。|$))|忘れ(?:て|ろ|、)|に?従わないで"
        r"|に従うな|は無効)",
    },
    ROLE: {
        "あなたは": r"あなたは(?:今から|これから|今後|いま|今)(?:は)?[^。！？\n]{0,14}(?:アシスタント|ai|モデル"
        r"|モード|ハッカー|エージェント)",
        "だけに従, のみに従": r"(?:これから|今後|今から)は?[^。！？\n]{0,10}(?:だけに|のみに)従(?:え|って|うこと)",
    },
    PROMPT: {
        "システムプロンプト, 初期指示": r"(?:システムプロンプト|初期指示)を[^。！？\n]{0,10}(?:出力|表示|公開"
        r"|教え|見せ|開示|繰り返)(?:して|せよ|しろ|て(?:ください|$))",
    },
    TO_AI: {
        "ai, 人工知能, エージェント": r"(?:^|[。！？\n])(?:ai|人工知能|aiエージェント"
        r"|エージェント)(?:アシスタント)?へ(?:の指示)?[:：、]",
        "これを読": r"これを(?:読んだ|読み込んだ)(?:ら|場合|時|とき)",
    },
    CONCEAL: {
        "ユーザー, 利用者": r"(?:このこと|これ|それ|この件)(?:は|を)?(?:ユーザー|利用者)(?:に|には)?(?:言わ|伝え"
        r"|知らせ|教え|話さ)な(?:い|いで)|(?:ユーザー|利用者)に(?:は)?(?:何も|このことを|これを|決して)?(?:知らせ"
        r"|伝え|告げ|言わ|気づかれ)(?:ずに|ないで|ることなく)|(?:ユーザー|利用者)に(?:は)?(?:内緒|秘密)(?:で|に)",
    },
    SEND: {
        "パスワード, 認証情報, キー, トークン, 秘密鍵, 環境変数": r"(?:パスワード|認証情報|apiキー|キー|トークン"
        r"|秘密鍵|環境変数)[^。！？\n]{0,8}を[^。！？\n]{0,6}?(?:https?://|\w[^\s@]{0,60}@\w)[^。！？\n]{0,80}?(?:送"
        r"|アップロード|転送|投稿)",
    },
}

KOREAN: Forms = {
    DROP: {
        "이전, 위, 지금까지": r"(?:이전|위|지금까지)의? ?(?:모든 )?(?:내용|대화)(?:을|은)? ?(?:모두 |전부 |다"
        r" )?(?:무시하(?:고|세요|라)|잊어)",
        "지시, 지침, 규칙, 명령, 프롬프트": r"(?:이전|위|앞|기존|지금까지|앞선|너|당신|원래)의?"
        r" ?[^.!?\n]{0,10}?(?:지시|지침|규칙|명령|프롬프트)(?:사항)?(?:을|를|은|는|들을|들은)? ?(?:모두 |전부 |다"
        r" )?(?:무시하(?:세요|고|라|십시오|시오)|무시해|잊어|잊으|따르지 마|폐기하)|(?:너"
        r"|당신)의 [^.!?\n]{0,10}?(?:지시|지침|규칙|명령)(?:은|는) (?:더 이상 유효|무효)",
    },
    ROLE: {
        "이제": r"(?:너는|당신은|넌) 이제 [^.!?\n]{0,16}(?:어시스턴트|모델|ai|비서|에이전트|해커|모드)|이제"
        r" (?:너는|당신은|넌) [^.!?\n]{0,16}(?:어시스턴트|모델|ai|비서|에이전트|해커|모드)",
        "지금부터, 앞으로": r"(?:지금부터|앞으로) (?:너는|당신은|넌) [^.!?\n]{0,10}(?:복종|따라야|따르|무시)",
    },
    PROMPT: {
        "시스템 프롬프트, 초기 지시": r"(?:시스템 프롬프트|초기 지시)(?:를|을)? [^.!?\n]{0,12}(?:출력하|보여"
        r"|공개하|반복하|알려)",
    },
    TO_AI: {
        "ai, 인공지능": r"(?:^|[.!?\n] ?)(?:ai|인공지능)(?: 어시스턴트| 에이전트| 모델)?(?:에게|에 대한 지시|에게"
        r" 지시)\s?[:,]",
        "이 글, 이것, 이 메모, 이 기억": r"(?:이 글|이것|이 메모|이 기억)(?:을|를) (?:읽으면|읽으시면|보면"
        r"|읽었다면)",
    },
    CONCEAL: {
        "사용자": r"사용자(?:에게|한테)(?:는)? (?:이것을 |이 사실을 |이걸 |절대 |아무것도 )?(?:알리지 (?:않고"
        r"|말고|마)|말하지 (?:않고|말고|마(?:세요|라|십시오)?)|비밀로|숨기)",
    },
    SEND: {
        "비밀번호, 자격 증명, 키, 토큰, 환경 변수": r"(?:비밀번호|자격 증명|api 키|키|토큰|환경 변수)(?:를|을"
        r"|들을)? [^.!?\n]{0,4}(?:https?://|\w[^\s@]{0,60}@\w)[^\s]{0,80} ?(?:으?로|에) ?(?:보내|전송|업로드)",
    },
}

HINDI: Forms = {
    DROP: {
        "भूल": r"(?:पिछला|पहले का|ऊपर का) (?:सब|सब कुछ|सारा) (?:कुछ )?भूल",
        "निर्देश, नियम, आदेश": r"(?:पिछले|पहले|पूर्व|ऊपर|उपरोक्त|अपने|तुम्हारे|आपके)[^।!?\n]{0,20}?(?:निर्देश"
        r"|नियम|आदेश)(?:ों)?(?: को)?(?: सब| पूरी तरह)? (?:अनदेखा|अनदेखी|नज़रअंदाज़|नजरअंदाज|भूल|उपेक्षा|अब रद्द"
        r"|रद्द|अब मान्य नहीं)",
    },
    ROLE: {
        "अब तुम, अब आप": r"अब (?:तुम|आप) [^।!?\n]{0,24}(?:सहायक|मॉडल|एआई|एजेंट|हैकर)",
        "अब से": r"अब से (?:तुम|आप) [^।!?\n]{0,14}(?:आज्ञा|आदेश|बात मान)",
    },
    PROMPT: {
        "सिस्टम, प्रारंभिक": r"अपन[ाे] (?:सिस्टम प्रॉम्प्ट|सिस्टम निर्देश|प्रारंभिक निर्देश)[^।!?\n]{0,14}(?:दिखा"
        r"|बता|प्रकट|दोहरा|लिख)",
    },
    TO_AI: {
        "एआई, ai": r"(?:एआई|ai)(?: सहायक| एजेंट)? (?:के लिए|को) (?:निर्देश|संदेश|सूचना|आदेश)",
        "यह, इसे": r"(?:जब|जैसे ही|अगर) (?:तुम|आप) (?:यह|इसे|यह नोट|यह संदेश) (?:पढ़|देख)",
    },
    CONCEAL: {
        "उपयोगकर्ता, यूज़र": r"(?:यह बात|यह|इसे|इसके बारे में|कुछ भी) (?:उपयोगकर्ता|यूज़र) (?:को|से) (?:मत|न)"
        r" (?:बता|कह|दिखा)|(?:उपयोगकर्ता|यूज़र) (?:को|से) (?:बताए|सूचित किए|पूछे) (?:बिना|बगैर)|(?:उपयोगकर्ता"
        r"|यूज़र) (?:को|से) (?:यह|इस बारे में|कुछ) (?:मत|न|नहीं) (?:बता|कह)",
    },
    SEND: {
        "पासवर्ड, कुंजी, टोकन, क्रेडेंशियल, कुंजियाँ": r"(?:पासवर्ड|कुंजी|कुंजियाँ|टोकन"
        r"|क्रेडेंशियल)[^।!?\n]{0,6}(?:https?://|\w[^\s@]{0,60}@\w)[^\s]{0,80} (?:पर|को) (?:भेज|अपलोड)",
    },
}

ARABIC: Forms = {
    DROP: {
        "كل ما": r"(?:تجاهل|انس|انسَ) كل ما (?:سبق|ورد أعلاه|قيل)",
        "تعليمات, قواعد, أوامر, توجيهات, إرشادات": r"(?:تجاهل|انس|انسَ|تجاهلي|لا تلتفت إلى|لا تتبع|ألغ|اهمل|أهمل)"
        r" %NEAR%(?:التعليمات|القواعد|الأوامر|التوجيهات|الإرشادات|تعليماتك|قواعدك)(?: (?:السابقة|أعلاه|المذكورة"
        r"|الأصلية|التي (?:تلقيت|أعطيت))|%END%)",
        "تعليماتك": r"تعليماتك (?:السابقة |الأصلية )?(?:لم تعد|ملغاة|أصبحت ملغاة|غير سارية)",
    },
    ROLE: {
        "أنت الآن": r"أنت الآن (?:مساعد|نموذج|وكيل|مخترق|ذكاء|في وضع المطور)",
        "من الآن": r"من الآن فصاعد[اًا]{1,2}[،,]? (?:أطع|أطيع|ستطيع|تطيع|اتبع|أجب)",
    },
    PROMPT: {
        "النظام": r"(?:اعرض|أظهر|اكشف|كرر|اطبع) (?:لي )?(?:موجه|تعليمات|رسالة|نص) (?:موجه )?النظام (?:الخاص[ةه]?"
        r" بك|لديك|كامل|حرفي)",
    },
    TO_AI: {
        "ذكاء الاصطناعي, مساعد الذكي, نموذج اللغوي": (
            r"(?:ملاحظة|رسالة|تعليمات|تنبيه) (?:(?:إلى|الى) |ل)(?:ل|ال)?(?"
            r":ذكاء الاصطناعي|مساعد"
            r" الذكي|نموذج اللغوي)"
        ),
        "هذا, هذه": r"(?:عندما|إذا|بمجرد أن) (?:تقرأ|قرأت|ترى هذه الملاحظة) ?(?:هذا|هذه)",
    },
    CONCEAL: {
        "المستخدم": r"لا (?:تخبر|تبلغ|تعلم|تقل) ل?المستخدم(?:ين)? (?:بذلك|بهذا|عن هذا|عن ذلك|شيئا|بأي شيء|أي"
        r" شيء)|(?:دون|بدون|من غير) (?:إبلاغ|إخبار|إعلام|علم) المستخدم|أخف (?:هذا|ذلك) عن المستخدم",
    },
    SEND: {
        "كلمات المرور, بيانات الاعتماد, مفاتيح, رموز, متغيرات": r"(?:أرسل|ارسل|ارفع|حمّل|انقل) (?:كل |جميع"
        r" )?(?:كلمات المرور|بيانات الاعتماد|مفاتيح|رموز|متغيرات البيئة)%AT%",
    },
}

LANGUAGES: tuple[Forms, ...] = (
    ENGLISH,
    GERMAN,
    FRENCH,
    SPANISH,
    PORTUGUESE,
    RUSSIAN,
    CHINESE,
    JAPANESE,
    KOREAN,
    HINDI,
    ARABIC,
    PHRASES,
)
