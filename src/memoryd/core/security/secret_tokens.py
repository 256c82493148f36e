"""Vendors' tokens, recognized by their prefixes, and keys, recognized by their format.

The prefixes are those that the vendors document.
"""

import re
from collections.abc import Iterator

from memoryd.core.security.secret_search import Rule

_PLACEHOLDER = re.compile(r"([^/])\1{9}|[xX]{6}|(?i:your|example|placeholder)")
"""Text that no random token contains."""

_A, _W, _H = "[A-Za-z0-9]", r"[A-Za-z0-9_-]", "[0-9a-f]"
_UUID = rf"{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}"
_NO_A, _NO_W = f"(?!{_A})", f"(?!{_W})"

BY_PREFIX: tuple[tuple[str, str, str], ...] = (
    ("AWS access key", "a3t abia acca akia asia", rf"A(?:3T[A-Z0-9]|BIA|CCA|KIA|SIA)[A-Z0-9]{{16}}{_NO_A}"),
    ("Anthropic key", "sk-ant-", rf"sk-ant-{_W}{{20,}}+"),
    ("OpenAI key", "sk-", rf"sk-(?:(?:proj|svcacct|admin|None|or-v1)-{_W}{{20,}}+|{_A}{{32,200}}+{_NO_W})"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[oprsu]_{_A}{{36,}}+"),
    ("GitHub token", "github_pat_", r"github_pat_\w{40,}+"),
    (
        "GitLab token",
        "gl",
        rf"gl(?:pat|rt|dt|ptt|cbt|soat|ft|imt|agent|oas|ffct)-(?:t\d_)?{_W}{{20,}}+(?:\.{_A}{{2,}}+){{0,2}}",
    ),
    ("GitLab token", "gr1348941", rf"GR1348941{_W}{{20,}}+"),
    ("Google API key", "aiza", rf"AIza{_W}{{35}}{_NO_W}"),
    ("Google OAuth secret", "gocspx-", rf"GOCSPX-{_W}{{28}}"),
    ("Google OAuth token", "ya29.", rf"ya29\.{_W}{{30,}}+"),
    ("Hugging Face token", "hf_ api_org_", rf"(?:hf|api_org)_{_A}{{34}}{_NO_W}"),
    ("npm token", "npm_", rf"npm_{_A}{{36}}{_NO_W}"),
    ("PyPI token", "pypi-", rf"pypi-AgE{_W}{{50,}}+"),
    ("SendGrid key", "sg.", rf"SG\.{_W}{{22}}\.{_W}{{43}}"),
    (
        "Slack webhook",
        "hooks.slack.",
        rf"https://hooks\.slack\.com/(?:services|workflows|triggers)/{_W}{{8,40}}+/{_W}{{8,40}}+/{_W}{{16,}}+",
    ),
    ("Slack token", "xox", rf"xox[a-z](?:\.xox[a-z])?-{_W}{{20,}}+"),
    ("Slack token", "xapp-", rf"xapp-\d-{_W}{{20,}}+"),
    ("Square secret", "sq0", rf"sq0[a-z]{{3}}-{_W}{{22,}}+"),
    ("Square secret", "eaaa", rf"EAAA{_W}{{56,}}+"),
    ("Stripe key", "k_live_ k_test_ k_prod_", rf"[rs]k_(?:live|test|prod)_{_A}{{16,}}+"),
    ("Stripe key", "whsec_", r"whsec_[A-Za-z0-9+/=]{24,}+"),
    ("Telegram token", ":aa", rf"(?<!\d)\d{{8,10}}:AA{_W}{{33}}{_NO_W}"),
    ("Twilio key", "sk", rf"SK{_H}{{32}}{_NO_W}"),
    ("Mailchimp key", "-us", rf"(?<!{_H}){_H}{{32}}-us\d{{1,2}}{_NO_W}"),
    ("Mailgun key", "key-", rf"key-{_H}{{32}}{_NO_W}"),
    ("Discord token", ".", rf"[MNO](?<!{_W}.){_W}{{23,27}}+\.{_W}{{6}}\.{_W}{{27,40}}+{_NO_W}"),
    ("Artifactory token", "akc", rf"AKC{_A}{{60,}}+"),
    ("access token", "o_v1_ p_v1_ r_v1_", rf"do[opr]_v1_{_H}{{64}}"),  # DigitalOcean
    ("access token", "dapi", rf"dapi{_H}{{32}}(?:-\d)?{_NO_W}"),  # Databricks
    ("access token", "shp", r"shp(?:at|ca|pa|ss|ua)_[a-fA-F0-9]{32}"),  # Shopify
    ("access token", "lin_", rf"lin_(?:api|oauth)_{_A}{{40,}}+"),  # Linear
    ("access token", "hvs. hvb. hvr.", rf"hv[sbr]\.{_W}{{24,}}+"),  # Vault
    ("access token", "dckr_", rf"dckr_(?:pat|oat)_{_W}{{27,}}+"),  # Docker
    ("access token", "ntn_", rf"ntn_{_A}{{40,}}+"),  # Notion
    ("access token", "secret_", rf"secret_{_A}{{43}}{_NO_W}"),
    ("access token", "glsa_ glc_", rf"gl(?:sa_{_A}{{32}}_{_H}{{8}}|c_[A-Za-z0-9+/=_]{{32,}}+)"),  # Grafana
    ("access token", "rubygems_", rf"rubygems_{_H}{{48}}"),
    ("access token", "pul-", rf"pul-{_H}{{40}}"),  # Pulumi
    ("access token", "sbp_ sbs_ sb_secret_", rf"sb(?:[ps]_(?:v0_)?{_H}{{40}}|_secret_{_W}{{20,}}+)"),  # Supabase
    ("access token", "bk", rf"bk[a-z]{{2}}_{_H}{{40}}"),  # Buildkite
    ("access token", "pscale_", r"pscale_(?:pw|tkn|oauth)_[\w.=-]{32,}+"),  # PlanetScale
    ("access token", "pmak-", rf"PMAK-{_H}{{24}}-{_H}{{34}}"),  # Postman
    ("access token", "fo1_", rf"fo1_{_W}{{40,}}+"),  # Fly
    ("access token", "fm1 fm2", r"fm[12][ar]?_[A-Za-z0-9+/=]{60,}+"),
    ("access token", "nrak-", r"NRAK-[A-Z0-9]{27}"),  # New Relic
    ("access token", "squ_ sqp_ sqa_", rf"sq[upa]_{_H}{{40}}"),  # SonarQube
    ("access token", "figd_", rf"figd_{_W}{{36,}}+"),  # Figma
    ("access token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{40,}+"),  # Sentry
    ("access token", "pat", rf"pat{_A}{{14}}\.{_H}{{64}}"),  # Airtable
    ("access token", "tskey-", rf"tskey-[a-z]{{2,12}}-{_W}{{20,}}+"),  # Tailscale
    ("access token", ".atlasv1.", rf"(?<!{_A}){_A}{{14}}\.atlasv1\.{_W}{{60,}}+"),  # Terraform
    ("access token", "atatt3 atbb", rf"AT(?:ATT3|BB){_W}{{28,}}+(?:=[0-9A-F]{{8}})?"),  # Atlassian
    (
        "access token",
        "pplx tvly xai gsk r8_ rnd nvapi",
        rf"(?:pplx|tvly|xai|gsk|r8|rnd|nvapi)[-_]{_W}{{28,}}+",
    ),  # Perplexity, Tavily, xAI, Groq, Replicate, NVIDIA
    ("access token", "ltai", rf"LTAI{_A}{{12,20}}{_NO_W}"),  # Alibaba
    ("access token", "aqvn", rf"AQVN{_W}{{35,}}+"),  # Yandex
    ("access token", "cfpat-", rf"CFPAT-{_W}{{43}}"),  # Contentful
    ("access token", "lsv2_", rf"lsv2_[sp][kt]_{_H}{{32}}_{_H}{{10}}"),  # LangSmith
    ("access token", "dp.", rf"dp\.[a-z]{{2,5}}\.{_W}{{40,}}+"),  # Doppler
    ("access token", "ezak ezt", rf"EZ[AT]K{_A}{{54}}"),  # EasyPost
    ("access token", "duffel_", rf"duffel_(?:test|live)_{_W}{{40,}}+"),
    ("access token", "v1.0-", rf"v1\.0-{_H}{{24}}-{_H}{{146}}"),  # Cloudflare
    ("access token", "q~", rf"(?<!{_A}){_A}{{3}}\dQ~[\w~.-]{{31,}}+"),  # Entra
    ("access token", "sk_", rf"sk_{_H}{{48}}{_NO_W}"),  # ElevenLabs
    ("access token", "fw_ csk- llx-", rf"(?:fw_|csk-|llx-){_A}{{24,200}}+{_NO_W}"),  # Fireworks, Cerebras, LlamaIndex
    ("access token", "-lf-", rf"sk-lf-{_UUID}"),  # Langfuse
    ("access token", "pcsk_", rf"pcsk_{_A}{{5,6}}_{_A}{{50,}}+"),  # Pinecone
    (
        "access token",
        "fc- sgp_ rdme_ clojars_ shippo_",
        rf"(?:fc-|sgp_(?:{_H}{{16}}_|local_)?|rdme_|CLOJARS_|shippo_(?:live|test)_){_H}{{32,200}}+{_NO_W}",
    ),
    ("access token", "bsa", rf"BSA(?=\w{{0,28}}\d){_W}{{28}}{_NO_W}"),  # Brave
    ("access token", "re_", rf"re_(?=\w{{0,8}}\d){_A}{{8}}_{_A}{{24}}{_NO_W}"),  # Resend
    ("access token", "xkeysib- xsmtpsib-", rf"x(?:key|smtp)sib-{_H}{{64}}-{_A}{{16}}"),  # Brevo
    ("access token", "mlsn. sl. vk1. aq.", rf"(?:mlsn\.|sl\.(?:u\.)?|vk1\.a\.|AQ\.){_W}{{40,}}+"),
    # Neon, Honeycomb
    ("access token", "napi_ hcaik_", rf"(?:napi|hcaik)_{_A}{{40,}}+"),
    ("access token", "vercel_ vcp_ ccipat_", rf"(?:vercel_blob_rw|vcp|CCIPAT)_{_A}{{16,}}+(?:_{_A}{{24,}}+)?"),
    ("access token", "sk.eyj", rf"sk\.eyJ{_W}{{20,400}}+\.{_W}{{20,}}+"),  # Mapbox
    ("access token", "atta", rf"ATTA{_H}{{64}}{_A}{{8}}"),  # Trello
    # HubSpot, Heroku, Plaid, Infisical
    (
        "access token",
        "pat- hrku- access- st.",
        rf"(?:pat-[a-z]{{2,3}}\d|HRKU|access-[a-z]{{7,11}}|st)[-.]{_UUID}(?:\.{_H}{{32}}){{0,2}}",
    ),
    ("access token", "hrku-aa", rf"HRKU-AA{_W}{{58}}"),
    ("access token", "flwseck", rf"FLWSECK(?:_TEST)?-{_H}{{32}}-X"),  # Flutterwave
    ("access token", "oy2", rf"oy2[a-z0-9]{{43}}{_NO_W}"),  # NuGet
    ("access token", "dt0", r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),  # Dynatrace
    ("access token", "sha256~", rf"sha256~{_W}{{43}}{_NO_W}"),  # OpenShift
    ("access token", "cio", rf"cio(?=[A-Za-z]{{0,32}}\d){_A}{{32}}{_NO_W}"),  # crates.io
    ("access token", "dnkey-", rf"dnkey-{_W}{{70,}}+"),  # Defined Networking
    ("access token", "eaa igqv", rf"(?:EAA|IGQV)(?=[A-Za-z]{{0,40}}\d){_A}{{90,}}+"),  # Meta
    ("AWS session token", "iqojb3jpz2lux2vj fwogzxivyxdz", r"(?:IQoJb3JpZ2luX2Vj|FwoGZXIvYXdz)[A-Za-z0-9+/=%]{60,}+"),
    ("AWS access key", "absk", r"ABSK[A-Za-z0-9+/=]{60,}+"),  # Bedrock
    ("Google OAuth token", "1//0", rf"1//0{_W}{{30,}}+"),
    ("access token", "azdo", rf"{_A}{{76}}AZDO{_A}{{4}}{_NO_A}"),  # Azure DevOps
    ("access token", "aaaaaaaaaaaaaaaaaaaaa", r"A{20,24}[A-Za-z0-9%]{60,}+"),  # X
    ("access token", "atctt3", rf"ATCTT3{_W}{{28,}}+(?:=[0-9A-F]{{8}})?"),  # Bitbucket
    ("access token", "y0_ t1. aqv", rf"(?:y0_|t1\.|AQV){_W}{{40,}}+"),  # Yandex, LinkedIn
    ("access token", "akid", rf"AKID{_A}{{32}}{_NO_A}"),  # Tencent
    ("access token", "bce-v3", rf"bce-v3/ALTAK-{_A}{{20,24}}/{_H}{{40}}"),  # Baidu
    ("access token", "ver:", r"ver:\d-hint:\d{1,20}-ETMs[A-Za-z0-9+/=]{40,}+"),  # Snowflake
    ("access token", "cmvmdgtuoj dg9ro", r"(?:cmVmdGtuOj|dG9rO)[A-Za-z0-9+/=]{32,}+"),  # JFrog, Intercom
    ("access token", "cflt", r"cflt[A-Za-z0-9+/=]{60,}+"),  # Confluent
    ("access token", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/=_-]{40,}+"),  # 1Password
    ("access token", "aq", r"AQ[A-D][A-Za-z0-9+/]{35}==(?![A-Za-z0-9+/=])"),  # Ceph
    ("access token", "sk", rf"sk{_A}{{120,400}}+{_NO_W}"),  # Sanity
    ("access token", "sdk- key- api- mob- tok-", rf"(?:sdk|key|api|mob|tok)-{_UUID}"),  # LaunchDarkly
    ("access token", "oauth:", rf"oauth:[a-z0-9]{{30}}{_NO_A}"),  # Twitch
    ("access token", "0.", rf"0\.{_UUID}\.{_A}{{30}}:[A-Za-z0-9+/]{{22}}=="),  # Bitwarden
    ("secret key", "s", rf"S[A-D][A-Z2-7]{{54}}{_NO_W}"),  # Stellar
    ("license key", "-", r"(?=[A-Z-]{0,28}\d)[A-Z0-9]{5}(?:-[A-Z0-9]{5}){4}(?![A-Za-z0-9-])"),
    ("access token", ":fx", rf"{_UUID}:fx{_NO_W}"),  # DeepL
    ("recovery code", "recovery bitlocker", r"(?<![\d-])\d{6}(?:-\d{6}){7}(?![\d-])"),  # BitLocker
    (
        "password hash",
        "$",  # crypt(5)
        r"(?<=\w:)\$(?:[1567y]|2[abxy]|apr1|argon2\w{1,2}|scrypt|sha1|pbkdf2[\w-]{0,12})\$[\w./$=,+-]{20,}+",
    ),
    ("secret key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    ("secret key", "nsec1", r"nsec1[02-9ac-hj-np-z]{58}"),
    ("secret key", "prv", r"[xyztuv]prv[1-9A-HJ-NP-Za-km-z]{90,112}+"),  # BIP 32
    ("secret key", "", rf"(?:5[1-9A-HJ-NP-Za-km-z]{{50}}|[KL][1-9A-HJ-NP-Za-km-z]{{51}}){_NO_W}"),  # WIF
    # private keys without the lines around them: PKCS 8 of Ed25519, OpenSSH
    ("private key", "mc4caqawbqydk2vwbcie", r"MC4CAQAwBQYDK2VwBCIEI[A-Za-z0-9+/]{20,}+={0,2}"),
    ("private key", "b3blbnnzac1rzxktdj", r"b3BlbnNzaC1rZXktdjEA[A-Za-z0-9+/]{20,}+={0,2}"),
)
"""The kind; lower-case strings of which a text must contain one; the pattern of the secret."""

_NO_SECRETS = (
    "acct|acs|bs|call|chatcmpl|chunk|cmpl|container|conv|cs|cus|evt|file|gen|in|index|item|md|msg|phc|pi|pk|price|prod"
    "|pub|req|resp|run|ses|sess|session|seti|sha|si|sub|thread|toolu|txn|user|webpack"
)
"""Words before the random ids of things that are no secrets."""
_VENDOR = re.compile(
    rf"(?!(?:{_NO_SECRETS})\d*[_-])(?:[a-z][a-z0-9]{{1,11}}|[A-Z][A-Z0-9]{{1,9}})(?:[_-][a-z0-9]{{1,8}}){{0,2}}"
    r"[_-](?=[A-Za-z]*+\d)(?=[a-z0-9]*+[A-Z])(?=[A-Z0-9]*+[a-z])[A-Za-z0-9]{28,}"
)
_MARKED = re.compile(
    rf"(?!(?:{_NO_SECRETS})[_-])(?:[A-Za-z0-9]{{1,12}}[_-]){{0,2}}[A-Za-z0-9]{{0,7}}"
    r"(?:[ras]k|key|pat|tok|uat|sat|live|auth|token|secret|access|v[12]|api|svc|cli|prod|test|production)[_-](.{16,})"
)
_POD = re.compile(r"(?:[a-z]+-)*[a-z0-9]{8,10}-[a-z0-9]{5}|.*_[a-z]{3,}_.*")
_KINDS = re.compile(r"[a-z]+|[A-Z]+|\d+")
_RUN = 3.3  # maximum average number of adjacent characters of a kind in a random text


def _is_token(value: str) -> bool:
    return not _PLACEHOLDER.search(value)


def _is_of_vendor(value: str) -> bool:
    """Return whether a value is a random id after a short word, as most tokens are, or after `live`, `key`, `pat`."""
    marked = _MARKED.fullmatch(value)
    return _is_token(value) and bool(_VENDOR.fullmatch(value) or (marked and _is_chance(marked[1])))


def _is_chance(tail: str) -> bool:
    """Return whether letters and digits alternate as in random text, and it is not the name of a container."""
    mixed = len(tail) - tail.count("-") <= _RUN * len(_KINDS.findall(tail))
    return mixed and sum(map(str.isdigit, tail)) > 1 and not _POD.fullmatch(tail)


def rules() -> Iterator[Rule]:
    """Yield the rules for tokens."""
    for kind, needs, pattern in BY_PREFIX:
        yield Rule(kind, tuple(needs.split()), pattern, _is_token, is_token=True)


OF_ANY_VENDOR = Rule(
    "access token",
    ("_", "-"),
    r"(?<![A-Za-z0-9_/+.-])[A-Za-z](?=[A-Za-z0-9]{0,30}[_-])[A-Za-z0-9_-]{20,400}+(?![A-Za-z0-9/+=])",
    _is_of_vendor,
)
