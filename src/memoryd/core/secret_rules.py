"""What a secret looks like: the rules of detect-secrets for the tokens of vendors, and own ones for what it misses.

Its rules are meant for a line of code. Of those that look for words (KeywordDetector) or for disorder (the high-entropy
ones) none is used: they take types, SHAs and UUIDs for secrets. Three take quadratic time on a long line (JWT, npm,
OpenAI), and two see but a part of the secret (private keys, passwords in URLs): own rules stand in their place.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from memoryd import extras
from memoryd.errors import StoreError

Check = Callable[[str], bool]
"""Whether what a pattern has found is a secret."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern, and which of its groups is the secret; '' as kind: what the check says it is."""

    kind: str
    pattern: re.Pattern[str]
    group: int = 0
    is_secret: Check = bool
    needs: tuple[str, ...] = ("",)
    """What a text must hold for this, one of them, in small letters."""
    trimmed: bool = False
    """Whether the marks of a sentence that end it do not belong to it."""

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Where secrets of this kind begin and end. What looks like one and is none may have one inside."""
        at = 0
        while match := self.pattern.search(text, at):
            start, end = match.span(self.group)
            end -= len(text[start:end]) - len(_trimmed(text[start:end])) if self.trimmed else 0
            if is_one := self.is_secret(text[start:end]):
                yield start, end
            at = match.end() if is_one or not self.group else start


def _trimmed(value: str) -> str:
    """A value without the marks of the sentence that it ends, or the next parameter of its URL."""
    return _NEXT.split(value, maxsplit=1)[0].rstrip(".,;:)]}")


LIBRARY: tuple[tuple[str, str, tuple[int | None, ...], str], ...] = (
    ("AWS access key", "aws:AWSKeyDetector", (0, None), "a3t abia acca akia asia"),
    ("AWS secret key", "aws:AWSKeyDetector", (None, 1), "aws"),
    ("Artifactory token", "artifactory:ArtifactoryDetector", (0, None), "akc"),
    ("Azure storage key", "azure_storage_key:AzureStorageKeyDetector", (0,), "accountkey="),
    ("Discord token", "discord:DiscordBotTokenDetector", (0,), "."),
    ("GitHub token", "github_token:GitHubTokenDetector", (0,), "ghp_ gho_ ghu_ ghs_ ghr_"),
    ("GitLab token", "gitlab_token:GitLabTokenDetector", (0, 0, 0, 0, 0, 0, 0), "gl gr1348941"),
    ("Mailchimp key", "mailchimp:MailchimpDetector", (0,), "-us"),
    ("PyPI token", "pypi_token:PypiTokenDetector", (0, 0), "pypi-"),
    ("SendGrid key", "sendgrid:SendGridDetector", (0,), "sg."),
    ("Slack token", "slack:SlackDetector", (0, None), "xox"),
    ("Slack webhook", "slack:SlackDetector", (None, 0), "hooks.slack"),
    ("Square secret", "square_oauth:SquareOAuthDetector", (0,), "sq0csp-"),
    ("Stripe key", "stripe:StripeDetector", (0,), "k_live_"),
    ("Telegram token", "telegram_token:TelegramBotTokenDetector", (0,), ":"),
    ("Twilio key", "twilio:TwilioKeyDetector", (None, 0), "sk"),  # the first is the account's id, which is no secret
)
"""Kind, class below detect_secrets.plugins, for each pattern of its denylist the group that is the secret, and what a
text without such a secret need not hold: one of these in small letters, so that most rules need not run."""

PLACEHOLDER = re.compile(
    r"""[<>{}]|\$[A-Za-z_(]|^%|%\(|%s|\*{3}|\.{3}|…|\[masked:
    |^(?:[$@]|![a-z]+$|(.)\1*$)
    |(?i:your|example|change_?me|placeholder|redacted|hidden|dummy|x{5}
    |^(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[_-]?key|key|string|none|null|nil|true|false|undefined)\W*\d?$)""",
    re.VERBOSE,
)
PATHLIKE = re.compile(r"(?:~|\.{1,2})?/[\w./-]*$|[A-Za-z][\w+.-]*://|arn:|[\w.-]+/[\w./-]*$")
CODE = re.compile(r"[A-Za-z_][\w.]*(?:\(|\[)|[A-Za-z_][\w]*\.[A-Za-z_][\w.]*$")


_NEXT = re.compile(r"&\w+=")
_SIGN = re.compile(r"[^\w]|_")
_SMALL, _CAPITAL, _DIGIT = re.compile(r"[a-z]"), re.compile(r"[A-Z]"), re.compile(r"\d")


def is_given(value: str) -> bool:
    """Whether a value stands for itself: no placeholder, no variable."""
    return not PLACEHOLDER.search(value)


def _is_quoted_secret(value: str) -> bool:
    """In quotes after the name of a secret: whatever is no placeholder, path or sentence."""
    return len(value) >= 6 and is_given(value) and not re.search(r"\s", value) and not PATHLIKE.match(value)


def _is_bare_secret(value: str) -> bool:
    """Without quotes: letters and digits or signs too, and no code, path or word."""
    return _is_quoted_secret(value) and not CODE.match(value) and _classes(value) > 1 and not _is_word(value)


def _is_bare_password(value: str) -> bool:
    """A password, which may be digits alone."""
    return (value.isdecimal() and len(value) >= 6 and is_given(value)) or _is_bare_secret(value)


def _is_strong(value: str) -> bool:
    """After the mere word `password`: small and capital letters, digits, signs, three of them at least."""
    return len(value) >= 8 and _classes(value) > 2 and _is_bare_secret(value)


def _is_mixed(value: str) -> bool:
    """As base64 of chance is: no SHA."""
    return _classes(value) > 2 or ("+" in value or "/" in value)


def _is_chance(value: str) -> bool:
    """Digits and capitals or signs among letters: no name that somebody has thought of."""
    return _has_digit(value) and _is_mixed(value)


def _has_digit(value: str) -> bool:
    return is_given(value) and bool(_DIGIT.search(value))


def _is_word(value: str) -> bool:
    """Words, perhaps joined: `app-tls`, `Optional`, `get_token`."""
    return bool(re.fullmatch(r"[A-Za-z]+(?:[-_.:|'][A-Za-z]+)*", value))


def _classes(value: str) -> int:
    """How many there are of small letters, capitals, digits and signs."""
    return sum(bool(one.search(value)) for one in (_SMALL, _CAPITAL, _DIGIT, _SIGN))


# names of secrets, those of KeywordDetector among them
_WORDED = r"pass(?:word|wd|phrase|wort)|(?<![A-Za-z])(?:pwd|pw|pass)|(?:db|key|root)_?pass"
_KEYED = (
    r"api[ _-]?key|auth[ _-]?key|service[ _-]?key|account[ _-]?key|access[ _-]?key|private[ _-]?key|client[ _-]?key"
    r"|signing[ _-]?key|encryption[ _-]?key|secret|token"
)
_MORE = r"(?i:[ _-]?(?:access|key|base|value|token)){0,3}\d?"  # secret_access_key, SECRET_KEY_BASE
_IS = r"[\"'\]]{0,2}\s{0,3}(?::=|=>|={1,3}|:|(?<=\s)(?:is|ist|lautet)\b:?)\s{0,3}"
_BARE = r"([^\s\"'`<>]{6,1000}+)"
_QUOTED = r"[\"'`]([^\"'`\n]{6,400})[\"'`]"


def _own(
    needs: str, kind: str, pattern: str, group: int = 0, is_secret: Check = is_given, flags: int = 0
) -> Callable[[], Rule]:
    """A rule that is made when it is first needed: a server starts without it."""
    return lambda: Rule(
        kind, re.compile(pattern, flags), group, is_secret, tuple(needs.split()), pattern.endswith(_BARE)
    )


OWN = (
    # PEM (RFC 7468), OpenPGP (RFC 9580), PuTTY: whole, or to the end where the end is missing
    _own("private", "private key",
         r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}"
         r"(?=(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16}|Version:|Comment:|Proc-Type:))"
         r".*?(?:-{4,5} ?END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}|\Z)", 0, bool, re.DOTALL),
    _own("putty", "private key", r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC: \w+|\Z)", 0, bool, re.DOTALL),
    # RFC 3986: the user's part of an authority; more signs than BasicAuthDetector allows, and the user may be missing
    _own("://", "URL password", r"(?<=[a-zA-Z0-9]://)[^\s:/?#@\[\]\"'<>]{0,200}:([^\s/?#@\[\]\"'<>]{1,400})@", 1),
    # RFC 6750, RFC 7617
    _own("authorization", "Authorization header",
         r"(?i:\bauthorization\b[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token|apikey)\s+)([\w.~+/=-]{16,})", 1),
    _own("bearer", "Authorization header", r"\b[Bb]earer\s+([\w.~+/=-]{20,})", 1, _has_digit),
    # what vendors say of their tokens, as gitleaks' and GitHub's lists of patterns have it
    _own("sk-ant-", "Anthropic key", r"sk-ant-[\w-]{20,}", 0, _has_digit),
    _own("sk-", "OpenAI key", r"(?<![\w-])sk-(?!ant-)[\w-]{32,}", 0, _is_chance),
    _own("github_pat_", "GitHub token", r"github_pat_\w{40,}"),
    _own("aiza", "Google API key", r"(?<![\w-])AIza[\w-]{35}(?![\w-])"),
    _own("gocspx-", "Google OAuth secret", r"GOCSPX-[\w-]{28}"),
    _own("npm_", "npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    _own("_authtoken", "npm token", r"_authToken\s*=\s*([\w-]{16,})", 1),
    _own("hf_", "Hugging Face token", r"\bhf_[A-Za-z]{34}\b|\bhf_[A-Za-z0-9]{34}\b"),
    _own("_live_ _test_ _prod_ whsec_", "Stripe key",
         r"\b[rs]k_(?:live|test|prod)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}"),
    _own("_v1_ dapi shp lin_api_ hvs. dckr_pat_ ntn_ glsa_ xapp- rubygems_ pul- age-secret", "access token",
         r"\b(?:do[opr]_v1_[a-f0-9]{64}|dapi[a-f0-9]{32}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|lin_api_[A-Za-z0-9]{40}"
         r"|hvs\.[\w-]{24,}|dckr_pat_[\w-]{27}|ntn_[A-Za-z0-9]{43}|glsa_\w{32,}|xapp-\d-[\w-]{20,}"
         r"|rubygems_[a-f0-9]{48}|pul-[a-f0-9]{40}|AGE-SECRET-KEY-1[A-Z0-9]{58})"),
    _own("aws access", "AWS secret key",
         r"(?i:\baws\b|aws_|secret_?access_?key)[^\n]{0,60}?(?<![\w+/])([A-Za-z0-9+/]{40})(?![\w+/=])",
         1, _is_mixed),
    # command lines
    _own("curl", "password", r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"'$]{1,100}:([^\s\"']{4,200})", 1),
    _own("mysql", "password", r"\bmysql\w{0,10}\b[^\n]{0,100}?\s-p[\"']?([^\s\"']{4,200})", 1, _is_bare_password),
    # names and values, and sentences that tell a password
    _own("pass pwd pw", "password", rf"(?i:{_WORDED}){_MORE}{_IS}{_QUOTED}", 1, _is_quoted_secret),
    _own("pass pwd pw", "password", rf"(?i:{_WORDED}){_MORE}{_IS}{_BARE}", 1, _is_bare_password),
    _own("pass pwd pw", "password", rf"\b(?i:{_WORDED})\s{_BARE}", 1, _is_strong),
    _own("key secret token", "secret", rf"(?i:{_KEYED}){_MORE}{_IS}{_QUOTED}", 1, _is_quoted_secret),
    _own("key secret token", "secret", rf"(?i:{_KEYED}){_MORE}{_IS}{_BARE}", 1,
         lambda value: not value.isdecimal() and len(value) >= 8 and _is_bare_secret(value)),
)  # fmt: skip


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, those first whose kind tells most. The library is loaded here: it takes a third of a second."""
    return (*_library(), _web_token(), *(make() for make in OWN))


def kinds() -> frozenset[str]:
    """What secrets are called."""
    return frozenset(rule.kind for rule in rules())


def _library() -> Iterator[Rule]:
    for kind, target, groups, needs in LIBRARY:
        plugin = _plugin(target)
        for pattern, group in zip(plugin.denylist, groups, strict=True):
            if group is not None:
                yield Rule(kind, pattern, group, needs=tuple(needs.split()))


def _web_token() -> Rule:
    """A JSON web token with its signature; whether it is one the library says."""
    is_valid: Check = _plugin("jwt:JwtTokenDetector").is_formally_valid
    return Rule(
        "JSON web token", re.compile(r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}(?:\.[\w-]+)?"), 0, is_valid, ("eyj",)
    )


def _plugin(target: str) -> Any:
    return extras.load(f"detect_secrets.plugins.{target}", "", StoreError)
