"""Secrets by their place in something with a syntax: an address, a header, a file, a command, a call."""

from collections.abc import Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_search import Rule

_BEGIN, _END = (
    rf"-{{4,5}} ?{word} (?:[A-Z0-9]{{1,12}}+ ){{0,3}}PRIVATE KEY(?: BLOCK)? ?-{{4,5}}" for word in ("BEGIN", "END")
)
PEM = (
    rf"{_BEGIN}(?=(?:\s|\\[nr]){{0,8}}+(?:[A-Za-z0-9+/=]{{16}}|Version:|Comment:|Proc-Type:))[\s\S]*?(?:{_END}|\Z)"
    r"|PuTTY-User-Key-File-\d:[\s\S]*?(?:Private-MAC: \w{1,100}+|\Z)"
)
"""A private key (RFC 7468, RFC 9580, PuTTY) up to its end, or to that of the text if that is missing."""
_IN_URL = (
    "access_token|id_token|refresh_token|auth_token|token|api_?key|key|client_secret|secret|password|passwd|pass|pwd"
    "|sig|signature|code|auth|session|sid|jwt|appid|app_key|access_key|subscription-key|x-(?:amz|goog)-signature"
)
_HOOKS = (
    r"discord(?:app)?\.com/api/webhooks/\d{5,25}+/[\w-]{20,100}+|[\w-]{1,60}+\.webhook\.office\.com/webhookb2/[\w@/-]{20,300}+"
    r"|hooks\.zapier\.com/hooks/catch/\d{3,12}+/\w{5,40}+|hook[\w.]{0,20}\.(?:make|integromat)\.com/\w{16,60}+"
    r"|maker\.ifttt\.com/trigger/\w{1,60}+/(?:json/)?with/key/[\w-]{10,60}+"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/[\w-]{20,60}+|eo\w{8,20}\.m\.pipedream\.net"
    r"|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key=[\w-]{20,60}+|outlook\.office(?:365)?\.com/webhook/[\w@/-]{20,300}+"
    r"|hooks\.airtable\.com/workflows/v1/genericWebhook/(?:\w{10,30}/){2}\w{10,30}+|hc-ping\.com/[\w-]{22,36}+(?:/[\w-]{1,60}+)?"
    r"|events\.pagerduty\.com/integration/\w{20,40}+|api\.vercel\.com/v1/integrations/deploy/(?:\w{8,40}/)\w{8,40}+"
)
_RESOURCE = r"hash|digest|commit|sum|blob|file|md5|sha|etag|object|id\b|asset|version|image|font|script"
_CLIENT = (
    rf"(?:new (?![\w.\\]{{0,60}}(?:{_RESOURCE}))[\w.\\]{{1,60}}+|require\([\"'][^\"'\n]{{1,60}}+[\"']\)|::new"
    r"|(?:client|connect|connection|login|auth|credentials?|api|sdk|search|gateway|session|authenticat(?:e|or)|sign_?in"
    r"|service|bot|account|exchange|provider|storage|pdo|mysqli|password|(?<![a-z])(?:twilio|openai|anthropic|mistral|cohere"
    r"|groq|deepgram|elevenlabs|replicate|pinecone|qdrant|weaviate|meilisearch|typesense|elasticsearch|redis|minio|stripe"
    r"|sendgrid|mailgun|mailchimp|mailjet|resend|postmark|plivo|nexmo|vonage|pusher|ably|cloudinary|imagekit|airtable"
    r"|zendesk|algolia)|(?<=api)key|client\.(?:create|connect|init|initialize|new))(?:v\d)?)\("
)
"""What makes a client or logs in."""
_STRING = r"(?:[bfr]?\"[^\"\n]{0,100}+\"|'[^'\n]{0,100}+')"
_ARGUMENTS = rf"(?:[^\n\"'()]{{0,60}}+(?:\([^\n()]{{0,100}}+\)|{_STRING}(?=\s?,))?){{0,4}}"
_QUOTED = r"[\"']([^\"'\n]{6,200}+)[\"']"

FORMS: tuple[Rule, ...] = (
    Rule("private key", ("private",), PEM, values.always),
    Rule(
        "JSON web token",
        ("eyj",),
        r"(?<![\w-])(?<!pk\.)eyJ[\w-]{8,4000}+(?:\.[\w-]{16,8000}+(?:\.[\w-]{0,8000}+){0,3}"
        r"|\.\.[\w-]{16,1000}+\.[\w-]{1,8000}+\.[\w-]{1,1000}+)",
        values.is_web_token,
    ),
    Rule(
        "webhook",
        ("hook", "maker.ifttt", "pipedream", "hc-ping", "pagerduty", "vercel"),
        rf"https?://(?:{_HOOKS})(?![\w-])",
    ),
    Rule(
        "webhook",
        ("hook",),
        r"https?://(?=[^\s\"'<>]{0,200}?hook)(?:[^\s\"'<>/?]{0,200}+/){1,12}+([\w-]{20,200}+)"
        r"(?![^/?\"'`>\s,;)])",
        values.has_digit,
    ),
    # RFC 3986: the user's part of an authority; the user may be missing, and guest:guest is a published default
    Rule(
        "URL password",
        ("://",),
        r"://(?<=[a-zA-Z0-9]://)([^\s:/?#@\[\]\"'<>]{0,200}+):(?!\1@)"
        r"([^\s/?#@\[\]\"'<>]{1,400}+)@",
    ),
    Rule("URL secret", ("://",), r"://([\w-]{16,200}+)@", values.is_random),
    Rule(
        "URL password",
        ("@",),  # a DSN of Go, an address without scheme
        r"(?<![\w/:.-])(?!mailto|acct|sip|xmpp)[\w-]{1,40}+:([^\s@:/\"']{4,100}+)@(?:(?:tcp|unix)\(|[\w-]{1,60}\.[\w.-])",
        values.is_flagged,
    ),
    Rule("URL secret", ("?", "&"), rf"[?&](?i:{_IN_URL})=([^&\s\"'<>#]{{12,2000}}+)", values.is_in_url),
    Rule(
        "URL secret",
        ("/invit", "/reset", "/magic", "/verify", "/confirm", "/join", "/key/", "/token/", "/secret/"),
        r"https?://[^\s\"'<>]{1,200}?/(?:invit\w{0,8}|reset[\w-]{0,20}|magic[\w-]{0,20}|verify|confirm|join|key|token"
        r"|secret)/([\w-]{20,200}+)",
        values.is_in_url,
    ),
    # RFC 6750, RFC 7617
    Rule(
        "Authorization header",
        ("authorization",),
        r"authorization[\"']?\s{0,3}[:=,]\s{0,3}[\"']?"
        r"(?:[\w-]{2,20}\s{1,3})?([\w.~+/=-]{16,4000}+)",
        values.has_digit,
        folded=True,
    ),
    Rule(
        "Authorization header",
        ("basic ",),
        r"basic\s{1,3}([\w+/-]{8,400}+={0,2})(?![\w=])",
        values.is_account,
        folded=True,
    ),
    Rule("Authorization header", ("bearer",), r"bearer\s{1,3}([\w.~+/=-]{20,4000}+)", values.has_digit, folded=True),
    Rule(
        "session cookie",
        ("sess", "sid", "jwt", "remember_", "li_at"),
        r"(?<![\w%-])(?:[\w.-]{0,40}?(?:sess|sid|jwt)[\w.-]{0,40}+|remember_\w{1,60}|li_at)="
        r"([\w%.~+/=-]{20,4000}+)",
        values.is_secret_of_any_kind,
        folded=True,
    ),
    Rule(
        "session cookie",
        ("cookie", " -b"),
        r"(?:cookie[\"']?\s?[:=]|(?:cookie|\s-b)[ =][\"']?)[^\n]{0,400}?"
        r"(?<![\w.%-])[\w.-]{0,40}?(?:sess|sid|auth|jwt|token)[\w.-]{0,40}+=([^;\s\"'<>]{16,4000}+)",
        values.has_digit,
        folded=True,
    ),
    Rule(
        "AWS secret key",
        ("aws", "access"),
        r"(?:aws(?<!\waws)|secret_?access_?key)[^\n]{0,100}?(?<![\w+/])"
        r"([a-z0-9+/]{40})(?![\w+/=])",
        values.is_mixed,
        folded=True,
    ),
    # keys in hexadecimal and in base 32 after a label
    Rule(
        "secret key",
        ("key", "seed"),
        r"(?:private|priv|wallet|eth|aes|hmac|master|encryption|signing|secret|symmetric|ed25519|deployer)[ _-]?"
        r"(?:key|seed)(?<!checksum/secret-key)[^\n]{0,40}?(?<![\w-])"
        r"((?:0x)?(?:[0-9a-f]{64}|[0-9a-f]{128}))(?!\w)",
        folded=True,
    ),
    Rule(
        "secret key",
        ("otp", "2fa", "mfa", "authenticator"),
        r"(?:otp|2fa|mfa|authenticator)[^\n]{1,60}?"
        r"(?<![a-z0-9])([a-z2-7]{16,64}|(?:[a-z2-7]{4}[ -]){3,15}[a-z2-7]{4})(?![a-z0-9])",
        values.is_base32,
        folded=True,
    ),
    Rule("secret key", ('"kty"',), r"\"(?:d|k|p|q|dp|dq|qi)\"\s?:\s?\"([\w-]{22,2000}+)\""),  # RFC 7517
    Rule("secret key", ("ls0tls1crudjti",), r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,8000}+={0,2}", values.is_pem),
    Rule(
        "secret key",
        ("keypair", "solana", "wallet", "private", "secret"),
        r"(?:keypair|solana|wallet|private|secret)[^\[\n]{0,60}\[((?:\d{1,3},\s?){31,63}\d{1,3})\]",
        values.has_digit,
        folded=True,
    ),
    Rule("access token", ("/1",), r"/1\d{14,15}:([0-9a-f]{32})(?![0-9a-zA-Z])"),  # Asana
    Rule(
        "recovery code",
        ("code",),
        r"(?:recovery|backup|rescue)[ _-]codes?[^\n\d.]{0,40}?(?<![\w-])"
        r"((?:(?:[a-z0-9]{4,8}+(?:-[a-z0-9]{4,8}+){1,3}+|\d{9,12}+)[\s,;]{0,3}+){1,20})(?![\w-])",
        values.has_digit,
        folded=True,
    ),
    # files and statements
    Rule("password", ("wifi:",), r"WIFI:[^\n]{0,200}?;P:([^;\n]{8,63}+);"),  # a QR code
    Rule(
        "password",
        ("machine",),
        r"machine\s{1,3}\S{1,100}+\s{1,3}login\s{1,3}\S{1,100}+\s{1,3}password\s{1,3}(\S{4,100}+)",
    ),
    Rule(
        "password",
        (":",),
        r"(?<!\S)(?:[\w.-]{1,200}+|\*):(?:\d{2,5}|\*):[\w*-]{1,63}+:[\w*-]{1,63}+:([^\s:]{4,100}+)"
        r"(?!\S)",
        values.is_flagged,
    ),  # .pgpass
    Rule(
        "password",
        ("identified", "pass"),
        r"(?:identified\s{1,3}by|pass(?:word|phrase|code))\s{1,3}[\"']([^\"'\n]{4,100}+)[\"']",
        values.is_quoted_password,
        folded=True,
    ),
    Rule(
        "password",
        ('"auth"', "_auth"),
        r"(?:\"auth\"\s?:|_auth\s?=)\s?\"?([A-Za-z0-9+/_-]{12,400}+={0,2})",
        values.is_account,
    ),
    Rule(
        "password",
        ("auth",),
        r"auth(?:\s?=\s?)?\(\s?[\"'][^\"'\n]{1,60}+[\"'],\s?[\"']([^\"'\n]{4,100}+)[\"']\s?\)",
        values.is_quoted_password,
        folded=True,
    ),
    Rule("secret", ("(",), rf"{_CLIENT}{_ARGUMENTS}{_QUOTED}", values.is_argument, folded=True),
    Rule(
        "secret",
        ("jwt.",),
        r"jwt\.(?:sign|verify|encode|decode)\(\s{0,9}(?:\{[^{}]{0,200}+\}|[\w.$]{1,60}+(?:\(\))?)"
        r"\s{0,3},\s{0,9}[\"']([^\"'\n]{8,200}+)[\"']",
        values.is_quoted_key,
    ),
)

_VALUE = r"(?:\"([^\"\n]{3,200}+)\"|'([^'\n]{3,200}+)'|([^\s\"'|;&<>]{3,200}+))"
_COMMANDS = (
    ("mysql mariadb", r"-p"),
    ("sshpass", r"-p\s?"),
    ("redis-cli", r"-a\s"),
    ("ldap", r"-w\s?"),
    ("docker podman helm nerdctl oras skopeo buildah az", r"login\s(?:[^\n|;]{0,80}?\s)?-p[ =]"),
    ("mongo twine cqlsh cypher-shell evil-winrm", r"-p[ =]"),
    ("dotnet nuget", r"-k\s"),
    ("oathtool", r"-b\s"),
    ("curl lftp", r"(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$,]{1,100}+[:,]"),
    ("http https xh", r"(?:-a|--auth)[ =]?[\"']?[^\s:\"'$,]{1,100}+:"),
    ("openssl", r"(?:-k\s|-pass(?:in|out)?\spass:)"),
    ("snmp", r"-[AX]\s"),
    ("smbclient rpcclient", r"-U\s?[\"']?[^\s%\"']{1,100}+%"),
    ("xfreerdp wfreerdp", r"/p:"),
    ("zip unzip sqlcmd mosquitto_ ipmitool bcp", r"-P\s?"),
    ("7z unrar rar", r"-(?:h)?p"),
    ("plink pscp psftp winscp", r"-pw\s"),
    ("ssh-keygen", r"-[NP]\s?"),
    ("useradd usermod", r"-p\s"),
    ("aws", r"aws_secret_access_key\s"),
    ("npm pnpm yarn", r"\S{0,100}:_(?:authToken|password)[ =]"),
)
"""The beginnings of commands' names, and the flag that takes a password there and nothing else."""


def commands() -> Iterator[Rule]:
    """Yield the rules for commands with a short flag for a password."""
    for names, flag in _COMMANDS:
        called = rf"(?<![\w.-])(?:{names.replace(' ', '|')})[\w-]{{0,12}}+(?:\.exe)?\s(?:[^\n|;]{{0,200}}?\s)?"
        yield Rule("password", tuple(names.split()), called + flag + _VALUE, values.is_flagged)
