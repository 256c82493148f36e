"""The names of secrets, the syntax between a name and its value, and the quotes of values."""

from memoryd.core.security.secret_search import VALUE, Names


def behind(words: str) -> str:
    """Return a look-behind for one of some words, with or without a separator."""
    return "(?:" + "|".join(f"(?<={word})|(?<={word}[ _-])" for word in words.split()) + ")"


_HOLDERS = (*(word + sign for word in "db key root store sudo bind require".split() for sign in ("", "_")), "[a-z]_")
_USES = (
    "api auth service account access private preshared client signing encryption master deploy hmac aes session "
    "webhook secret jwt app crypt storage consumer write admin nonce logged_in license licence shared recovery "
    "unseal role fernet bearer subscription secretbox cookie ssh vault user root join registration "
    "product activation rails host "
    "clé clave chiave ключ llave chave wpa wpa2 wpa3 wifi wi-fi wlan network"
)


NOT_OF = (
    "hash|field|column|polic|manag|reset|file|length|param|variable|rule|check|valid|prompt|input|grant|type"
    "|feld|spalte"
)
"""Beginnings of words that, after the word password, say that the value is not one."""
_JOINED = (  # mot_de_passe, senha_do_banco, пароль_бд
    r"(?:mot[_-]?de[_-]?passe|palavra_passe|parola_(?:d_)?ordine"
    r"|clave_(?:de_)?(?:acceso|admin|banco|bd|correo|red|router|usuario|wifi)"
    r"|(?:contrase[nñ]a|senha|wachtwoord|has[lł]o|heslo|lösenord|parola|şifre|kennwort|passwort"
    r"|парол[ья]|パスワード|密码)(?=_))"
    rf"(?:_(?!{NOT_OF}|typ|tip[oe]|campo|champ|expir|dat(?:e|ei|um)(?![^\W_])|fecha|chiave|поле"
    rf"|х[еэ]ш)[^\W_]{{1,20}}){{0,3}}(?!\w)"
)


PASSWORDS = Names(
    ("mot de passe", *("mot_de_passe mot-de-passe motdepasse palavra_passe "
                       "pass pw mdp kennwort contrase clave senha wachtwoord hasło haslo парол "
                       "パスワード 暗証番号 密码 密碼 "
                       "口令 비밀번호 psk heslo jelsz parol şifre lösenord adgangskode salasana κωδικ كلمة סיסמ "
                       "पासवर्ड รหัสผ่าน sandi パスコード パスフレーズ 암호 패스워드 비번 合言葉 暗証 lozink slaptažod "
                       "parool nenosiri geslo lykilorð পাসওয়ার্ড கடவுச்சொல் პაროლ գաղտնաբառ redis_auth community").split(),
     "mật khẩu", "kata laluan", "palavra-passe", "رمز عبور", "پاس ورڈ", "құпия сөз"),
    rf"{_JOINED}|pass(?:word|wd|[ -]?phrase|wort|code)"
    rf"|pass(?:(?<![a-z]pass)(?<!boarding pass)(?<!ski pass)(?<!bus pass)"
    rf"|(?<={'pass)|(?<='.join(_HOLDERS)}pass))"
    r"(?![a-z]| to `)"
    r"|pwd(?![a-z])|(?<![a-z])(?:pw|mdp|psk)(?![a-z])|(?<=bind|root|user|sudo)pw(?![a-z])|kennwort|mot de passe"
    r"|contrase[nñ]a|(?<!palabra )(?<!palabras )(?<!término )(?<!concepto )clave(?! primaria"
    r"| pública| foránea)(?: de acceso)?\b|senha\b"
    r"|wachtwoord|has[lł]o\b|парол(?:[ьяюеі]|ата)\b|パスワード|暗証番号|密码|密碼|口令|비밀번호|heslo\b"
    r"|jelsz(?:ó|ava)|parol(?:a(?! chiave)|[ăe]|asa|ası|a lui|a d'ordine)\b"
    r"|(?<!\w)şifre(?:si|niz)?\b|lösenord(?:et)?\b|adgangskoden?\b|passord(?:et)?\b|salasana(?: on)?\b"
    r"|κωδικός(?: πρόσβασης)?|كلمة (?:المرور|السر)|סיסמ[הת]|पासवर्ड|รหัสผ่าน|mật khẩu|(?:kata )?sandi\b"
    r"|contrasenya\b|パスコード|パスフレーズ|암호|패스워드|비번|合言葉|暗証|lozink[aeu]\b"
    r"|slaptažod\w{1,3}\b|parool\b|nenosiri\b"
    r"|geslo\b|lykilorð\w{0,2}\b|পাসওয়ার্ড|கடவுச்சொல்|პაროლი|գաղտնաբառ\w?|kata laluan|palavra-passe|رمز عبور|پاس ورڈ"
    r"|құпия сөз|(?<=redis_)auth\b|(?<=snmp )community(?: string)?|community string",
)  # fmt: skip
_OF_KEYS = (
    "(?:api|acceso|acc[èe]s|acesso|accesso|secr[eè]t[ae]?|segreta|privad[ao]|priv[ée]e|privata"
    "|cifrado|chiffrement|cifratura"
    "|cripto|criptografia|доступа|шифрования|dost[ęe]pu|szyfrowania)"
)
_JAPANESE = "暗号化 アクセス シークレット 接続 共有 認証 署名 ライセンス"
KEYS = Names(
    tuple(
        "key salt secret token credential jeton schlüssel clé clave chiave ключ klucz トークン "
        " 秘密鍵 キー 令牌 密钥 密鑰 토큰 키 nyckel nøgle nøkkel avain sleutel kulcs klíč kľúč anahtar kunci khóa "
        "segreta secreta secrète cle_ cle- chave llave schluessel".split()
    ),
    rf"{behind(_USES)}(?:keys?|salt)(?! ?id)"
    r"|secret|(?<!publickey)token|credentials?"
    r"|jeton\b|schlüssel|トークン|秘密鍵|(?<=api)キー|(?<=api )キー|令牌|密钥|密鑰"
    r"|토큰|(?<=api)키|(?<=api )키"
    r"|(?<=api[ -])(?:nyckeln?|nøgle|nøkkel|avain|sleutel|kulcs|klíč|kľúč|anahtarı?)\b|(?:kunci|khóa) api\b"
    rf"|(?:cl[ée]|clave|chiave|ключ|klucz|llave|chave)[ _-](?:d['’]|de |di |do |del )?{_OF_KEYS}"
    rf"|{behind('api geheim geheime geheimer zugriffs zugangs verschlüsselungs privater')}schl(?:ü|ue)ssel(?:\b|_)"
    rf"|{behind(_JAPANESE)}キー|{behind('секретный приватный закрытый')}ключ\b"
    rf"|{behind('비밀 시크릿 액세스 접근 접속 암호화 인증 보안 서명')}키"
    r"|(?:segreta|secreta|secrète)\b",
)
_PUBLIC = "".join(f"(?<!{word} )" for word in "public sort primary partition foreign cache row".split())
KEY = Names(("key",), rf"(?<![\w-])(?<!public-){_PUBLIC}key")
MORE = (  # secret_access_key, SECRET_KEY_BASE, token_dostępu
    r"(?:[ _-]?(?:access|key|base|value|token|pass|phrase|acceso|acc[eè]s|dost[eę]pu|доступа)){0,3}\d?"
)
FOR = (
    r"(?:(?: (?:for|of|to|on|at|in|from|für|von|vom|zum|zur|der|des|im|am|pour|de|du|del|della|do|da|dos|das|para|per"
    r"|dla|till|för|til|voor|van|untuk|di|của|trên|cho|ở|pro|do|na|k|od|pre|ke|auf|sur|sul|от|для|к|на|до|від)"
    r" |(?: d| (?:de|a|ne|su)?ll)['’])(?:[^\n:=\"'.,]|(?<=\w)'(?=\w)){1,60}?)?"
)
VERB = (
    r"(?: (?:is|was|are|ist|war|lautet|heißt|est|es|é|è|era|être|será|är|er|je|este|jest|είναι|là"
    r"|adalah|هي|היא|คือ|है)\b"
    r"(?: (?:now|still|currently|jetzt|set to|changed to|reset to))?:?"
    r"|(?: was| is| has been)? (?:set|changed|reset|updated) to\b| to\b|\s?[はは是为為]|은|는|คือ)\s?"
)
IS = (
    r"(?::\s?(?:!!?\w{2,9}\s|[|>]-?\s{1,9})|\s?:\s?&?[\w<>']{1,20}[?!]?\s?=\s?"  # a tag, a block, a type
    # JSON, YAML, TOML, environment, Markdown
    r"|\\?[\"'\]`*]{0,3}\s{0,3}(?::=|=>|={1,3}|[:：＝→]|->|[?]=|[?|]{1,2}|:-)[*]{0,2}\s{0,3}"
    # <add key="Password" value="...">, - name: PASSWORD, value: ...
    r"|[\"']?\s?(?:,|\n)?\s{0,40}[\"']?(?<![a-z])(?:value|text|default)[\"']?\s?[=:]\s?"
    r"|(?: --[\w-]{1,20} \w{1,20})? --(?:value|body|secret-string|data)[ =]"
    r"|[\"'`]?\s{0,3}=?\s?convertto-securestring\s(?:-\w{1,9}\s)?"
    rf"|[\"'`]?{FOR}(?:{VERB}|\s?[:：]\s?| [—–] ))"
)
_LABEL = "".join(rf"(?<!{name}:\s)" for name in ("password", "passwd", "pass", "pwd"))
IN_PROSE = (  # Password router di rumah ibu: ..., heslo k databázi e-shopu je ...; no digit: not where code has a field
    rf"(?: (?!{NOT_OF})[^\W\d_]{{2,20}}){{0,2}}{FOR}(?:{VERB}|:\s(?:{_LABEL}|(?=[^\s,;]{{0,60}}\d))| [—–] )"
)
OF_OTHERS = "(?<!token)(?<!credential)(?<!credentials)"
SPOKEN = r"([^\W\d_][^\s\"'`<>()\[\]{}=,;|:/\\@$]{6,60}+)(?!\s?[(\[{=]|[\w\"'`/\\@:$])"  # not a call or the like
BARE = rf"([!#-&(-;=?-_a-~¡-ɏ]{{4,{VALUE}}}+)"
QUOTED = (
    r"[bru]{0,2}(?:\\?\"(?:\"\")?([^\"\n\\]{4,400}+)\\?\"|\\?'([^'\n\\]{4,400}+)\\?'|`([^`\n\\]{4,400}+)`"
    r"|[“「『«]([^”」』»\n\\]{4,400}+)[”」』»])"
)
AFTER_FLAG = r"[\"']?([^\s\"'|;&<>]{4,200}+)"
FLAGS = Names(
    ("-",),
    r"(?<![\w-])--?[a-z-]{0,30}(?:password|passwd|passphrase|pass|token|secret|api-?key|authkey|(?:access"
    r"|secret|auth|shared|account|license|recovery)-?key|(?:bind|root|user)-?pwd?)(?: |=)",
)
