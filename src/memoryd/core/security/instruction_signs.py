"""Orders to an agent by what they are made of: signs in fifteen languages, and which of them together are an order.

To run a command is a runbook; to run it before the user is answered is an order to the agent that reads it. So no sign
means anything alone, and those of one sentence count in any order and any language.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from memoryd.core.security.instruction_forms import AUTHORITY, CONCEAL, DROP, PROMPT, ROLE, SEND, TO_AI

_SIGNS = {
    "FORGET": "^ignore |^disregard |^forget |^discard |^override |vergiss|ignorier|missacht|gilt nicht mehr"
    "| oublie |oubliez|ignorez |ne tiens |ne tenez | olvida | ignora |caso omiso|dimentica |esqueça|desconsidere"
    "| no sigas|^no sigas| ne suis |ne suivez|não siga|desobede|^olvide |^oublie|^olvida|^ignora|vergesst"
    "|vergessen sie|übergeh|verwirf|fais abstraction|deixe de lado|deja de lado|lass außer acht|sieh ab von"
    "|metti da parte|забудь|игнорируй|отбрось|не обращай внимания|не следуй|无视|忽略|忘掉|忘记|無視|不要遵守"
    "|不要理会|破棄|忘れ|무시하|무시해|잊으|잊고|잊어|अनदेख|उपेक्षा|नज़रअंदाज|भूल|تجاهل|لا تلتفت|لا تتبع|اهمل|ألغ"
    "|^انس | انس"
    "|negeer |vergeet al|vergeet je |vergeet de |vergeet wat|trek je niets aan|buiten beschouwing|naast je neer"
    "|sla de regels|volg de instructies|zignoruj |^ignoruj |zapomnij |nie zwracaj uwagi|pomiń |odrzuć |nie wykonuj "
    "|nie przestrzegaj|yok say|her şeyi unut|talimatları unut|talimatlarını unut|dikkate alma |görmezden gel"
    "|göz ardı et|kenara bırak| uyma ",
    "RULES": "instruction|guideline|directive| rules| prompt|anweisung|vorgabe|regeln|gesagt|consigne|règle"
    "|instrucci|reglas|indicaci|istruzion|regole|instruç|instruíd|regras|orientaç|diretriz|instruktion| orders"
    "|directrices|órdenes| ordens| ordre|todo lo anterior|tudo o que|richtlinie|sicherheitsvorkehr|normas|normes"
    "|policies|demandé|deram|you were t|you have been t|указани|инструкц|правил|команды|приказ|системный промпт"
    "|говорили|指示|指令|规则|提示词|命令|規則|准则|約束|制約|ルール|プロンプト|지시|규칙|지침|명령|프롬프트|수칙"
    "|निर्देश|नियम|आदेश|تعليمات|القواعد|أوامر|توجيهات|إرشادات|أي قواعد"
    "|instructie|richtlijn|aanwijzing|opdrachten|eerder is verteld|regels die je| je regels|geen regels"
    "|alle regels|eerdere regels|veiligheidsregels|instrukcj|poleceni|zasad|reguł|wytyczn|wskazów|powiedziano"
    "|talimat|yönerge|yönlendirme|kural|komut|söylenen",
    "EARLIER": " previous| prior | above| earlier|vorherig|bisherig| vorig| obig|früher|vorangegangen|ursprünglich"
    "|précédent|antérieur|ci-dessus|initia|que tu as reçu|que vous avez|anterior|previas|prévias|de arriba"
    "|iniciales|acima|iniciais|precedent|предыдущ|прежн|прошл|выше|之前|以前|先前|上述|以上|此前|上記|従来|最初"
    "|これまで|今まで|先ほど|이전|지금까지|앞선|앞의|위의|पिछले|पहले|पूर्व|ऊपर|उपरोक्त|السابقة|أعلاه|المذكورة"
    "|الأصلية"
    "| vorige |eerder|voorgaande|voorafgaande|bovenstaande|oorspronkelijk|poprzedni|wcześniej|dotychczas|powyższ"
    "|pierwotn|początkow|önceki|daha önce|eski komut|eski talimat|yukarıdaki|şimdiye kadar|lk talimat",
    "YOURS": " your | you were| deine| dir | tes | te dieron| tus | tue | recebeu|^your|suas |tuas |dir mitgegeben"
    "|lhe deram|qu'on t'a|des nutzers|твои|тебе|你的|你收到|你原来|你之前|你被|あなたの|元の|あなたに|너의|받은"
    "|원래|기존|너에게|तुम्हारे| अपने |दिए गए|तुम्हें|तुमको|आपको|لك |تعليماتك|وضعت لك|أعطيت لك"
    "|jouw| je eerdere| je vorige| je instr| je regels| je richtl| je veilig|die je hebt|die je kreeg|aan jou"
    "|van de gebruiker|twoje |twoich |swoje |swoich |które otrzym|które dostał|poleceń użytk|sana |senin|aldığın"
    "| yönergelerin | kuralların | talimatların |kullanıcının talimat",
    "VOID": "are void|gelten nicht|aufgehoben|hinfällig|ungültig|annulé|révoqué|caduque|ne sont plus|anulad"
    "|cancelad|revocad|ya no |überholt|außer kraft|ne s'appliquent plus|não se aplicam|não valem|no longer apply"
    "|отменен|больше не|недействит|аннулир|не действуют|неважно|作废|失效|无效|不再有效|取消|無効|解除|不适用|무효"
    "|유효하지|적용되지|रद्द|मान्य नहीं|लागू नहीं|لم تعد|ملغاة"
    "|langer geldig|meer geldig|gelden niet|ingetrokken|niet meer van toep|nie obowiązuj|nie działaj|odwołan"
    "|unieważni|geçerli değil|geçersiz|iptal ed",
    "ONLY": " only |^only | nur |nur noch|ausschließlich|seules |uniquement|seulement| solo | sólo |únicamente"
    "|soltanto| apenas |somente| só |только|лишь|只|だけ|のみ|만 |에만|केवल|सिर्फ|فقط"
    "| alleen |uitsluitend|tylko|wyłącznie|jedynie|yalnızca|sadece",
    "HERE": "this note|this text|this memory|this message|written here|diese notiz|dieser notiz|diesem text"
    "|dieser text|hier steht|cette note|ce texte|ce message|écrit ici|esta nota|este texto|este mensaje"
    "|escrito aquí|questo testo|scritto qui|escrito aqui|esta mensagem|dieser eintrag|diesem eintrag"
    "|dieses eintrags|esta entrada|cette entrée|este registro|this entry|this record|здесь написано|написано здесь"
    "|написано ниже|этой заметк|этому тексту|этот текст|эту запись|этой записи|这条|这段|这里写|此笔记|此条"
    "|このメモ|この文章|ここに書|次の文|この記憶|이 메모|이 글|여기 적힌|아래 내용|이 기억|यहाँ लिखा|इस नोट"
    "|नीचे लिखी|यह नोट|यह संदेश|هذه الملاحظة|مكتوب هنا|هذا النص|ما يلي|هذه الرسالة"
    "|deze notitie|dit bericht|deze tekst|deze herinnering|wat hier staat|hieronder staat|tej notat|tę notat"
    "|ta notat|ten tekst|tego tekstu|tej wiadomo|ta wiadomo|tę wiadomo|tu napisano|napisano poniżej|to wspomnienie"
    "|bu not|bu metn|bu metin|bu mesaj|burada yaz|aşağıda yaz|bu anı",
    "OBEY": " obey |gehorch|befolg|folgst|folge |richte dich|halte dich|obéi| suis | suivez |obede|sigue |sigas "
    "|respondes |responda |antwortest |obbed|segui| siga|отвечаешь |подчин|выполняй|следуй|服从|聽從|听从|遵守|遵循"
    "|按照|従|복종|따르|따라|따를|आज्ञा|आदेश मान|बात मान|मेरे आदेश|أطع|اتبع|نفذ"
    "|gehoorza| volg |luister |houd je aan|słuchaj|wykonuj |wykonaj |stosuj się|przestrzegaj|itaat| uy |dinle "
    "|uygula ",
    "DO": " do | follow | tu | tut | mach | fais | faites | haz | fai | faça |делай|去做|执行|行ってください|行え"
    "|行いなさい|しなさい|実行せよ|해 |해라|하라|करो|افعل"
    "| doe |voer uit| rób |zrób | yap ",
    "FROM_NOW": "from now on|from this point|from here on|henceforth|ab jetzt|ab sofort|von nun an|künftig"
    "|à partir de maintenant|désormais|dorénavant|a partir de ahora|de ahora en adelante|desde ahora|ora in poi"
    "|da adesso|a partire da ora|de agora em diante|a partir de agora|с этого момента|отныне|впредь|从现在起"
    "|从现在开始|從現在|今后|今後|これから|今から|이제부터|앞으로|지금부터|अब से|आगे से|من الآن"
    "|vanaf nu|voortaan|van nu af|od teraz|odtąd|od tej chwili|od tej pory|bundan sonra|bundan böyle"
    "|şu andan itibaren",
    "ANSWERS": "every answer|every reply|every response|each answer|always reply that|always answer that"
    "|always say |jeder antwort|jede antwort|auf alle fragen|chaque réponse|cada respuesta|toda pregunta"
    "|ogni risposta|cada resposta|to every question|to any question|auf jede frage|à chaque question"
    "|à toute question|a cada pregunta|a cada pergunta|a ogni domanda|whenever you answer|jeder deiner antworten"
    "|toutes tes réponses|cada vez que respond|каждый вопрос|каждом ответе|любой вопрос|все вопросы|каждым ответом"
    "|каждому ответу|每个问题|每次回答|任何问题|所有问题|每个回答|每次回复|どんな質問|すべての質問|全ての質問"
    "|すべての回答|だけ答え|毎回の返答|すべての返答|毎回の回答|모든 질문|모든 답변|모든 대답|답변할 때마다|हर जवाब"
    "|हर सवाल|हर उत्तर|हर प्रश्न|كل سؤال|كل إجابة|كل رد "
    "|elk antwoord|elke vraag|ieder antwoord|iedere vraag|każdej odpowiedzi|każdym pytaniu|każde pytanie|her cevab"
    "|her yanıt|her soru",
    "BLINDLY": "approve every|approve all|approve any|without review|without reading|without checking"
    "|without asking|whatever the|regardless of|no matter what|skip tests|skip the tests|ohne prüfung"
    "|ohne zu fragen|ohne nachfrage|ungeprüft|sans les lire|sans vérif|sans demander|sans relecture|sin revisar"
    "|sin preguntar|sin leer|senza controllare|senza chiedere|sem revisar|sem ler|sem pedir|sem perguntar"
    "|sem verificar|без проверки|не спрашивая|без вопросов|без подтверждения|跳过测试|无需确认|不必征求|无条件"
    "|無条件|確認なし|確認は不要|確認せず|확인 없이|무조건|बिना पूछे|बिना जाँच|बिना देखे|دون مراجعة|دون سؤال"
    "|دون تحقق|دون إذن"
    "|zonder te control|zonder controle|zonder te vragen|zonder te lezen|blindelings|bez sprawdzania|bez pytania"
    "|bez czytania|w ciemno|incelemeden|kontrol etmeden|sormadan|okumadan",
    "PROMOTE": " recommend |trusted source|empfiehl|empfehle|recommande|recomienda|recomendar|recomende|consiglia"
    "|рекоменд|推荐|推薦|お勧め|おすすめ|추천|अनुशंसा|सिफारिश|أوص"
    "|beveel |raad aan|polecaj |rekomenduj| öner |tavsiye et ",
    "TEAM": " we | our | team|the user | wir |unser| nous |équipe| nosotros|equipo| nós |equipe|squadra| мы "
    "|команда |团队|我们|我々|チーム|우리|팀|टीम| हम |الفريق|نحن"
    "| wij | onze |zespół|nasz| my |ekib|ekip|bizim|yoruz",
    "YOU_ARE": " you are | you're |du bist |bist du | tu es |tu seras |vous êtes | eres | sei |você é |tu és | ты "
    "|你是|你现在|あなたは|너는|당신은| 넌 | तुम | आप |أنت "
    "| je bent| ben je |jesteś|będziesz| sen |asistansın|modelsin|hackersın",
    "AN_AI": "assistant|agent| ki | ai |model|assistent|hacker| bot|asistente| ia |debugbot|modèle|помощник"
    "|ассистент| ии |агент|модель|助手|模型|代理|模式|机器人|アシスタント|モデル|モード|エージェント|비서"
    "|어시스턴트|에이전트|모델|ai입니다|सहायक|मॉडल|एजेंट|एआई|مساعد|نموذج|وكيل"
    "|asystent|haker|asistan|yapay zek",
    "UNBOUND": " no restriction| no rules| no limit| no filter|without restriction|without rules|without limit"
    "|unrestricted|unfiltered|uncensored|developer mode|debug mode|safety rules|safety checks|safety filter"
    "|sicherheitsregel|ohne beschränkung|ohne einschränkung|ohne grenzen|keine grenzen|ohne regeln|entwicklermodus"
    "|sans restriction|sans aucune restriction|sans limite|sans filtre|mode développeur|sin restricci|sin límites"
    "|sin filtros|las restricciones|modo desarrollador|senza limiti|senza restrizioni|sem restriç|sem limites"
    "|sem filtros|políticas de segurança|modo desenvolvedor|no rules apply|ohne filter|sans garde-fou|ohne schutz"
    "|sicherheitsfilter|filtros de segur|filtres de sécurité|без ограничений|без правил|ограничения сняты"
    "|режим разработчика|без фильтров|без границ|фильтры безопасности|没有任何限制|不受限制|无限制|没有限制"
    "|开发者模式|没有过滤|安全准则|安全过滤|制限のない|制限なし|開発者モード|フィルターのない|安全フィルター"
    "|제한이 없는|안전 규칙|개발자 모드|필터 없는|제한 없|안전 필터|कोई पाबंदी|कोई नियम|कोई सीमा|डेवलपर मोड"
    "|बिना फ़िल्टर|बिना किसी प्रतिबंध|बिना सीमा|सुरक्षा फ़िल्टर|بلا قيود|دون قيود|القيود|وضع المطور|بلا مرشحات"
    "|بلا قواعد|مرشحات الأمان"
    "|zonder beperking|zonder regels|zonder filter|zonder grenzen|ontwikkelaarsmodus|veiligheidsregels"
    "|bez ograniczeń|bez zasad|bez filtrów|bez reguł|tryb dewelop|zasady bezpieczeństwa|kısıtlaması olmayan"
    "|kısıtlama olmadan|sınırsız|filtresiz|kuralsız|geliştirici mod|güvenlik kural",
    "EVIL": "evil|malicious|hacker|pirate|böse|malveillant|malicios|malvagi|scrupoli|malign|злой|злонамер|хакер"
    "|邪恶|黑客|恶意|悪意|ハッカー|악의|해커|हैकर|दुष्ट|خبيث|مخترق"
    "|kwaadaardig|boosaardig|złośliw|haker|kötü niyetli",
    "MUST_NOW": "must now|immediately|right now|jetzt| nun |sofort|maintenant|immédiatement|d'abord|ahora|agora"
    "|subito| ora |теперь|немедленно|现在|現在|必须|今すぐ|今から|지금|이제| अब |तुरंत|अभी|الآن"
    "| nu |meteen|onmiddellijk|teraz|natychmiast|şimdi|hemen|artık|derhal",
    "SPEAKER": "from the system|system message|system notice|from the developer|from anthropic|from openai"
    "|your developer|your administrator|system administrator|systemnachricht|hier spricht|dein entwickler"
    "|entwickler von|ici l'équipe|message du système|message système|ici le développeur|mensaje del sistema"
    "|el desarrollador|messaggio di sistema|aviso do desenvolvedor|mensagem do sistema|d'anthropic|d'openai"
    "|von anthropic|von openai|de anthropic|da anthropic|your creator|dein schöpfer|tu creador|ton créateur"
    "|seu criador|teu criador|системное сообщение|с тобой говорит|от anthropic|твой создатель|系统通知|系统消息"
    "|你的开发者|来自 anthropic|你的创造者|開発者からの|システムメッセージ|システム通知|anthropicからの"
    "|あなたの創造者|시스템 메시지|시스템 알림|개발자입니다|anthropic 의|너의 창조자|सिस्टम संदेश|तुम्हारा डेवलपर"
    "|आपका डेवलपर|तुम्हारा निर्माता|رسالة من النظام|رسالة النظام|أنا المطور|من المطور|من صنعك"
    "|van de systeembeheerder|van je ontwikkelaar|systeembericht|van je maker|van anthropic|van openai"
    "|od administratora|od twojego|wiadomość systemowa|komunikat systemowy|od anthropic|od openai"
    "|sistem yöneticisinden|geliştiricinden|sistem mesajı|anthropic'ten|openai'den",
    "REVEAL": "reveal |^print |^show |^output |^gib | gib | zeig| nenn|wiederhol| druck|affiche|montre|révèle"
    "|répète|donne |imprime|muestra|revela|repite| dime |mostra|mostre|revele|repita|recopie|muéstrame|покажи"
    "|выведи|раскрой|повтори|напечатай|输出|显示|重复|透露|打印|复述|公开|告诉我|出力し|出力せ|表示し|公開し|教えて"
    "|見せて|開示し|繰り返し|출력하|보여|공개|반복하|알려|दिखा|बता|दोहरा|اعرض|أظهر|اكشف|كرر|اطبع"
    "|^toon | toon |^geef |prompt zien|herhaal |onthul |pokaż |powtórz |ujawnij |podaj |wypisz |göster |tekrarla "
    "|açıkla |ifşa et| yazdır | yaz ",
    "PROMPT": "system prompt|system-prompt|systemprompt|prompt système|prompt del sistema|prompt di sistema"
    "|prompt de sistema|prompt do sistema|systemnachricht|message système|mensaje de sistema|mensagem de sistema"
    "|системный промпт|系统提示|系統提示|系统指令|初始指令|सिस्टम प्रॉम्प्ट|موجه النظام|تعليمات النظام"
    "|systeemprompt|systeeminstruct|prompt systemowy|promptu systemowego|sistem istem|sistem prompt",
    "THE_PROMPT": "システムプロンプトを|初期指示を|시스템 프롬프트를|초기 지시를|موجه النظام"
    "|treść promptu systemowego|sistem istemini|sistem promptunu",
    "OWN": " your | its |deine| ton | tes | votre | tu | tus | tuo | seu | suas | teu |свой|свои|твой|你的|अपना"
    "| अपने|الخاص|بك"
    "| je |jouw|swój|swoje|swojego|twój|twoje|talimatlarını",
    "HAIL": "ki-agenten:|ai助手请注意|ai 助手请注意|aiへ:|ai에게:|ai 어시스턴트에게:",
    "TO_AN_AI": "an die ki|an alle ki|an ki-|für die ki|für alle ki|an alle sprachm|an das sprachm|ki-assistent"
    "|à l'ia|pour l'ia|aux ia|pour les ia|intelligence artificielle|a la ia|asistente de ia|para las ia"
    "|inteligencia artificial|para a ia|à ia|assistente de ia|inteligência artificial|para cualquier ia"
    "|para qualquer ia|для ии|всех ии|для ассистентов|для искусственного|给ai|致ai|给人工智能|ai助手请|ai 助手请"
    "|aiへの|aiアシスタントへ|aiエージェントへ|ai에게|ai 어시스턴트에게|인공지능에게|एआई के लिए|ai के लिए|एआई सहायक"
    "|ai सहायक|एआई एजेंट|एआई को|للذكاء الاصطناعي|إلى الذكاء الاصطناعي|الى الذكاء|مساعد الذكاء|مساعد الذكي"
    "|نموذج اللغوي"
    "|aan alle ai-|aan elke ai|voor de ai:|aan de ai:|asystentów ai:|dla ai:|do ai:|asistanlarına:|asistanına:"
    "|zekâ için talimat:|zeka için talimat:",
    "NOTE": "hinweis|nachricht|anweisung|achtung| note | message |instructions| avis | nota |mensaje|instrucci"
    "| aviso |mensagem|instruç|сообщение|инструкция|указание|внимание|заметка|指令|指示|消息|说明|命令|지시|निर्देश"
    "|संदेश|सूचना|आदेश|ملاحظة|رسالة|تعليمات|تنبيه"
    "|opdracht|instructie|bericht |polecenie|instrukcja|wiadomość|uwaga|talimat|emir|dikkat|mesaj",
    "WHEN": "wenn du|sobald du|falls du|quand tu|quand vous|lorsque|si tu |dès que|cuando |en cuanto|quando "
    "|assim que|se você|когда|как только|если ты|прочитав|当|如果|一旦|读完|これを読|たら|読んだら|읽으면|읽으시면"
    "|보면|읽는 즉시|जब |जैसे ही|अगर|ही |عندما|إذا|بمجرد أن|بعد قراءة"
    "|zodra je|wanneer je|gdy |kiedy |jak tylko|okuduğunda|okur okumaz|okuyunca",
    "READ": " liest|abrufst| lis | lisez| leas | lees |recuperes| leres| ler |leggi|прочит|прочт|читаешь|读到|阅读"
    "|检索到|读完|読んだ|読み込|読み終|읽으|보면|읽는|पढ़|देखो|تقرأ|قرأت|قراءة"
    "| leest|przeczyt|okuduğunda|okur okumaz|okuyunca",
    "IT": " dies | ceci| esto| isto| isso|ce souvenir|este recuerdo|это|эту|这|此|これ|이것| यह |इसे|هذا|هذه"
    "| dit | deze | to | bunu ",
    "BEFORE": "before anything else|before doing anything|before answering|before replying|before responding"
    "|before you answer|before you reply|before you respond|only then reply|only then answer|then answer "
    "|vor jeder antwort|erst dann antwort|avant de répondre|avant de lui répondre|avant chaque réponse"
    "|ensuite réponds|antes de responder|antes de contestar|luego responde|después responde|prima di rispondere"
    "|prima di ogni risposta|depois responda|bevor du antwort|bevor du dem nutzer|bevor du dem benutzer"
    "|bevor du ihm antwort|antes de dar a resposta|antes de dar la respuesta|avant de donner la réponse"
    "|danach kannst du antworten|danach antworte|прежде чем отв|перед ответом|перед тем как отв|потом ответ"
    "|затем ответ|перед каждым ответом|回答之前|回答前|回复之前|回复用户之前|回答用户之前|回复前|答复前|再回答"
    "|再回复|回答する前に|返答する前に|答える前に|返信する前に|답하기 전에|답변하기 전에|जवाब देने से पहले"
    "|उत्तर देने से पहले|जवाब से पहले|उत्तर से पहले|قبل أن تجيب|قبل أن ترد|قبل الرد|قبل الإجابة|ثم أجب"
    "|voordat je antwoord|voordat je de gebruiker|voor je antwoord|antwoord daarna|daarna pas antw|zanim odpowiesz"
    "|przed odpowiedzią|dopiero potem odpow|yanıt vermeden önce|cevap vermeden önce|yanıtlamadan önce"
    "|sonra cevap ver|sonra yanıt ver",
    "GO_ON": "before continuing|before you continue|fortfährst|weitermachst|avant de continuer|antes de continuar"
    "|antes de seguir|prima di continuare|прежде чем продолж|继续之前|続ける前に|계속하기 전에|आगे बढ़ने से पहले"
    "|قبل أن تتابع"
    "|voordat je verder|zanim przejdziesz|devam etmeden önce",
    "COMMAND": "`|curl |wget |rm -rf|sudo |chmod |git push|terminal|terminál|memory_forget|delete_|терминал|终端"
    "|ターミナル|터미널|टर्मिनल|الطرفية",
    "TO_A_SHELL": "^sh |^bash |^zsh ",
    "SECRET": "api keys|credentials|passwords|environment variables|private keys|ssh keys| .env|~/.|id_rsa"
    "|id_ed25519|schlüssel|passwört|passwort|zugangsdaten|umgebungsvariable| clés| clé |mots de passe|identifiants"
    "|jetons|contraseña|credencia|claves|variables de entorno|chiavi|chiave|senhas|chaves|variáveis de ambiente"
    "|tokens|парол|ключ|токен|учётн|учетн|密钥|密码|凭据|凭证|令牌|环境变量|私钥|秘密鍵|認証情報|環境変数"
    "|パスワード|apiキー|トークン|비밀번호|api 키|토큰|환경 변수|자격 증명|पासवर्ड|कुंजी|कुंजियाँ|टोकन|كلمات المرور"
    "|كلمة المرور|مفاتيح|متغيرات البيئة|بيانات الاعتماد|رموز"
    "|wachtwoord|sleutels|inloggegevens|omgevingsvariab|hasła|haseł|klucze|kluczy|poświadczen|zmienne środ|parola"
    "|şifre|anahtarları|ortam değişken",
    "KEY_FILE": "id_rsa|id_ed25519|~/.netrc|~/.aws|~/.ssh",
    "SEND": "^send |^upload |^post |^forward |^append |^transmit |^email |^e-mail |^leak |schick |schicke |sende "
    "| lade |übermittle |übertrage | poste | leite |envoie |envoyez |transmets |transmettez |poste-|publie "
    "|téléverse |envía |manda |sube |publica |transmite |invia |carica |envie |mande |publique |transmita "
    "|encaminhe |copia |отправь|перешли|загрузи |передай |вышли |送信せよ|送信して|送って|送れ|アップロードして"
    "|アップロードせよ|転送して|転送せよ|送るこ|보내|전송하|업로드하|भेज दो|भेजो|अपलोड करो|अपलोड कर दो|أرسل|ارسل"
    "|ارفع|انقل"
    "|^stuur | stuur |^verzend |wyślij |prześlij |przekaż |wrzuć |gönder | yükle | ilet ",
    "SENT": "发送到|发到|传到|發送到|发送给|发给|送信|送って",
    "ADDRESS": "http://|https://|@|webhook",
    "SAY": " tell | inform | mention | reveal | notify |erwähn|erzähl| sag | sage |verrat|parle |parlez | dis "
    "| dites |mentionne|révèle|digas|cuentes| dire | dica |riveli|conte |diga |mencione|revele|informar|говори"
    "|сообщай|рассказывай|упоминай|告诉|告知|告訴|透露|通知|提|言わ|伝え|知らせ|教え|話さ|알리지|말하지|알려|बता|कह"
    "|تخبر|تبلغ|تقل |تذكر"
    "|vertel | zeg |meld |noem | mów |powiedz |wspominaj|informuj |söyleme |bahsetme |bildirme |haber verme ",
    "NOT": " not |n't | never |nicht| nie | kein|n'en | ne | rien|jamais| no | nada|nunca| non |niente|não |не "
    "|ничего|不|勿|别|ない|ず|지 마|지 말|지 않|말고|않고|더 이상| मत | न |لا "
    "| niet |niets|nooit| geen | nie |nigdy|söyleme |bahsetme |bildirme |haber verme ",
    "USER": " the user|nutzer|l'utilisateur|al usuario|all'utente|usuário|utilizador|пользовател|用户|用戶|使用者"
    "|利用者|ユーザー|사용자|उपयोगकर्ता|यूज़र|المستخدم"
    "|gebruiker|użytkownik|kullanıcı",
    "THIS": " this| that you| about it| of it| anything|davon|hiervon| dies|dass du|n'en | ceci| cela|cette note"
    "|que tu | esto| nada|que has|questo|nulla| isso| isto|essas |estas | esta | это|этой|что ты|ничего|这|此|任何"
    "|你|この|これ|何も| 이 |이것|아무|यह|इस|कुछ|هذا|هذه|بذلك|بأنك|شيء"
    "| hier | dit | hierover|dat je | tym | tego |że | bunu | bundan|okuduğun|bu not|bu mesaj",
    "SECRETLY": "secret from|hide this|verschweig|verheimlich|oculta al usuario|ocúltale al usuario"
    "|cache à l'utilisateur|esconda do usuário|oculte do usuário|nascondi all'utente|втайне от|скрой от|скрывай от"
    "|不要告诉用户 |不要通知用户 |别告诉用户 |对用户隐瞒|对用户保密|内緒|瞒着|秘密に|隠せ|隠し|비밀로|숨겨|छुपाओ"
    "|छिपाओ|छिपाना कि|أخف |أخفي |اخف "
    "|houd dit geheim|verberg dit voor|verzwijg|w tajemnicy przed użytk|ukryj to przed|zataj |bunu kullanıcıdan"
    "|kullanıcıdan gizle |kullanıcıdan sakla ",
    "WITHOUT": "without |ohne |sans | sin |senza | sem |без ведома|не сообщая|не уведомляя|втайне|不通知|不告知"
    "|瞒着|ずに|ないで|ることなく|않고|말고|몰래|बिना|बगैर|دون "
    "|zonder | bez |vermeden|bildirmeden|söylemeden|gizlice",
    "LEARN": "informing|telling|notifying|noticing|knowing|informier|zu sagen|etwas|merkt|informer|prévenir|avertir"
    "| dire |sache|informar|avisar|decir|sepa|avvisare|contar|notificar|saiba|entere|en parler|sin que el usuario"
    "|пользовател|通知|告知|瞒着|知らせ|気づ|伝え|알리지|알려|말하지|몰래|बता|सूचित|إبلاغ|إخبار|إعلام|علم"
    "|te informeren|te vertellen|te melden|medeweten|merkt|informowania|powiadamiania|wiedzy|haber vermeden"
    "|bildirmeden|söylemeden|gizlice",
    "FORBIDDEN": " not |n't | never | no |nicht| nie | kein| ne |jamais|nunca| non |não|не долж|нельзя|禁止|不得"
    "|てはなら|안 된|नहीं|لا "
    "| niet |nooit| geen | nie |nigdy|asla|yasak|mez |maz ",
    "DENY": "deny that|deny its|bestreite|streite ab|niega que|nie que|nie l'exist|negue que|nega che|отрицай|否认"
    "|否定しなさい|否定せよ|否定して|부인해|부인하|इनकार कर|أنكر"
    "|ontken |zaprzeczaj|zaprzecz |inkâr et|inkar et",
    "ME": "only me |nur mir |mallory|solo a mí|moi seul|só a mim|только меня|только мне|我一个人|私の言う|私だけに"
    "|내 말만|मेरी बात|أطعني|وحدي"
    "|alleen mij|tylko mnie|sadece bana|yalnızca bana",
    "ASKED": "when the user asks|whenever the user asks|if the user asks|wenn der nutzer fragt"
    "|wenn der benutzer fragt|si el usuario pregunta|cuando el usuario pregunte|si l'utilisateur demande"
    "|quand l'utilisateur|sempre que o usuário|se o usuário perguntar|если пользователь спросит|когда пользователь"
    "|用户问|ユーザーに聞かれ|ユーザーが尋ね|사용자가 물|사용자가 묻|जब उपयोगकर्ता पूछ|अगर उपयोगकर्ता पूछ"
    "|سألك المستخدم|سأل المستخدم"
    "|als de gebruiker vraagt|wanneer de gebruiker vraagt|gdy użytkownik zapyta|jeśli użytkownik zapyta"
    "|kullanıcı sorarsa|kullanıcı sorduğunda",
    "AS_IF": "act as if|behave as if|pretend |tu so, als|tu so als|verhalte dich|actúa como si|finge que"
    "|fais comme si|fingi che|finja |aja como se|веди себя так|притворись|假装|振る舞え|振る舞いなさい|것처럼 행동"
    "|ऐसे व्यवहार|تصرف كأن"
    "|doe alsof|gedraag je als|zachowuj się|udawaj|gibi davran",
    "NO": " no | keine|ningun|aucun|nessun|não exist|nenhuma|нет |没有|存在しない|없는|कोई नियम|لا توجد|بلا "
    "| geen |żadn|nie było|yokmuş|hiçbir",
    "HIDDEN": " hidden|versteckt|ocultas|cachées|nascoste|скрытые инс|隐藏的指|隠された指|숨겨진 지|छिपे|المخفية"
    "|verborgen instr|verborgen opdr|ukryt|gizli talimat|gizli yöner",
}
"""Parts of words for each sign, `^` where a clause begins: English, German, French, Spanish, Italian, Portuguese,
Russian, Chinese, Japanese, Korean, Hindi, Arabic, Dutch, Polish, Turkish."""

_ORDERS = (
    (DROP, "FORGET RULES EARLIER"),
    (DROP, "FORGET RULES YOURS"),
    (DROP, "FORGET RULES ONLY"),
    (DROP, "OBEY RULES YOURS NOT"),
    (DROP, "VOID RULES YOURS"),
    (DROP, "AS_IF RULES NO"),
    (AUTHORITY, "HERE ONLY OBEY"),
    (AUTHORITY, "HERE ONLY DO"),
    (AUTHORITY, "FROM_NOW OBEY ONLY -TEAM"),
    (AUTHORITY, "FROM_NOW OBEY HERE -TEAM"),
    (AUTHORITY, "SPEAKER UNBOUND"),
    (AUTHORITY, "ME OBEY"),
    (AUTHORITY, "ME ONLY DO"),
    (ROLE, "UNBOUND YOU_ARE AN_AI"),
    (ROLE, "FROM_NOW YOU_ARE AN_AI -TEAM"),
    (ROLE, "FROM_NOW EVIL"),
    (ROLE, "EVIL YOU_ARE MUST_NOW"),
    (PROMPT, "PROMPT REVEAL OWN"),
    (PROMPT, "PROMPT SPEAKER REVEAL"),
    (PROMPT, "THE_PROMPT REVEAL"),
    (PROMPT, "RULES REVEAL OWN EARLIER"),
    (PROMPT, "RULES REVEAL HIDDEN"),
    (TO_AI, "HAIL"),
    (TO_AI, "TO_AN_AI NOTE"),
    (TO_AI, "WHEN READ HERE"),
    (TO_AI, "WHEN READ IT"),
    (TO_AI, "BEFORE COMMAND"),
    (TO_AI, "BEFORE SECRET"),
    (TO_AI, "BEFORE ADDRESS SEND"),
    (TO_AI, "WHEN READ KEY_FILE"),
    (TO_AI, "GO_ON KEY_FILE"),
    (TO_AI, "TO_A_SHELL MUST_NOW"),
    (TO_AI, "ANSWERS SECRET"),
    (TO_AI, "ANSWERS ADDRESS -TEAM"),
    (TO_AI, "ASKED PROMOTE -TEAM"),
    (TO_AI, "ASKED ADDRESS SEND"),
    (TO_AI, "FROM_NOW ANSWERS -TEAM"),
    (TO_AI, "FROM_NOW BLINDLY -TEAM"),
    (TO_AI, "FROM_NOW PROMOTE -TEAM"),
    (SEND, "ADDRESS SECRET SEND"),
    (SEND, "ADDRESS SECRET SENT CLAUSE"),
    (CONCEAL, "USER SAY NOT THIS"),
    (CONCEAL, "USER SAY NOT BRIEF"),
    (CONCEAL, "USER WITHOUT LEARN -FORBIDDEN"),
    (CONCEAL, "USER SECRETLY"),
    (CONCEAL, "ASKED DENY"),
    (CONCEAL, "HERE DENY"),
)
"""The signs of each order, rare ones first; one after `-` makes it none. A CLAUSE has no comma, a BRIEF sentence no
room for what the user shall not know."""

_STEMS = {sign: unicodedata.normalize("NFC", stems).split("|") for sign, stems in _SIGNS.items()}
_ASCII = {sign: [stem for stem in stems if stem.isascii()] for sign, stems in _STEMS.items()}  # half the work
_RULES = [(what, signs.split()) for what, signs in _ORDERS]
_NOT_IN_A_TEXT = {"CLAUSE", "BRIEF", "-TEAM", "-FORBIDDEN"}
_SENTENCE = re.compile(r"[.!?](?=\s|$)|[。！？।؟;；\n]")
_CLAUSE = re.compile(r"[,，、؛،]|:(?!//)")
_BETWEEN = re.compile(r"(?:[\s,\"«»„“”「」『』()…、，؛،。！？।]|[.!?;](?=\s|$))+")
_SHORTEST = 6  # characters of an order: thousands of shorter sentences take no time
_BEGINNING = re.compile(r"(?:^|[,:|] ?|\b(?:and|then|first|please|now|must|always|only) )(?=\w)")

Combinations = list[tuple[str, list[str]]]


def _rules_in(text: str, rules: Combinations, given: Iterable[str] = ()) -> Combinations:
    """Return those of the rules whose signs a text has."""
    spaced = _BETWEEN.sub(" ", f" {text} {_BEGINNING.sub(' ^', text)} ")
    known = _ASCII if text.isascii() else _STEMS

    @cache
    def has(sign: str) -> bool:
        if sign in given or sign[0] == "-":
            return sign in given or not has(sign[1:])
        return any(stem in spaced for stem in known.get(sign, ()))

    return [rule for rule in rules if all(map(has, rule[1]))]


def _orders(folded: str) -> Iterable[tuple[str, list[str]]]:
    possible = _rules_in(folded, _RULES, _NOT_IN_A_TEXT)
    within = [rule for rule in possible if "CLAUSE" in rule[1]]
    sentences = map(str.strip, _SENTENCE.split(folded) if possible else ())
    for sentence in (each for each in sentences if len(each) >= _SHORTEST):
        brief = len(sentence) <= 28 and " " in sentence and "," not in sentence
        yield from _rules_in(sentence, possible, ["BRIEF"] if brief else [])
        for clause in _CLAUSE.split(sentence) if within else ():
            yield from _rules_in(clause, within, ["CLAUSE"])


def order_in(folded: str) -> str:
    """Return a description of the first sentence of a folded text whose signs make an order to an agent; else ''."""
    return next((what for what, _ in _orders(folded)), "")
