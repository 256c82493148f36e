"""Commands that take a password among their arguments."""

from collections.abc import Iterator

from memoryd.core.security import secret_values as values
from memoryd.core.security.secret_search import Rule, inside

_ARGUMENT = r"(?:\"([^\"\n]{3,200}+)\"|'([^'\n]{3,200}+)'|([^\s\"'|;&<>]{3,200}+))"
COMMANDS = (
    ("mysql mariadb", "", r"\s-p"),
    ("sshpass", "", r"\s-p\s?"),
    ("docker podman helm nerdctl oras skopeo buildah", r"[^\n|;]{0,40}\blogin\b", r"\s-p[ =]"),
    (
        "mongo twine snmpwalk vncdo psexec cqlsh couchbase-cli cypher-shell crackmapexec netexec evil-winrm ncftp",
        "",
        r"\s-p[ =]",
    ),
    ("steghide rdesktop isql", "", r"\s-p\s"),
    ("dotnet nuget", r"[^\n|;]{0,40}\bpush\b", r"\s-k\s"),
    ("az", r"\s{1,3}login\b", r"\s-p[ =]"),
    ("curl lftp", "", r"\s(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'$,]{1,100}[:,]"),
    ("redis-cli", "", r"\s-a\s"),
    ("openssl", "", r"\s(?:-k\s|-pass(?:in|out)?\spass:)"),
    ("snmp", "", r"\s-[AX]\s"),
    ("smbclient rpcclient", "", r"\s-U\s?[\"']?[^\s%\"']{1,100}%"),
    ("xfreerdp wfreerdp", "", r"\s/p:"),
    ("ldap", "", r"\s-w\s?"),
    ("htpasswd", "", r"\s-[a-zA-Z]{0,3}b[a-zA-Z]{0,3}\s\S{1,200}\s\S{1,100}\s"),
    ("zip unzip sqlcmd mosquitto_ ipmitool bcp", "", r"\s-P\s?"),
    ("7z unrar rar", "", r"\s-(?:h)?p"),
    ("http https xh", "", r"\s(?:-a|--auth)[ =]?[\"']?[^\s:\"'$,]{1,100}:"),
    ("plink pscp psftp winscp kitty", "", r"\s-pw\s"),
    ("sqlplus rman expdp impdp", "", r"\s[\"']?[a-z]\w{1,30}/(?=[^\s@/]{4,100}(?:[@\s]|$))"),
    ("wpa_passphrase", "", r"\s[^\s]{1,40}\s"),
    ("rabbitmqctl", r"\s{1,3}(?:add_user|change_password|authenticate_user)\b", r"\s\w{1,20}\s[\w.@-]{1,60}\s"),
    ("mc", r"\s{1,3}(?:alias\s{1,3}set|config\s{1,3}host\s{1,3}add)\b", r"\shttps?://\S{1,200}\s\S{1,60}\s"),
    ("ssh-keygen", "", r"\s-[NP]\s?"),
    ("qpdf", "", r"\s--encrypt\s"),
    ("cmdkey", "", r"\s/pass:"),
    ("schtasks", "", r"\s/rp\s"),
    ("wmic psexec net", "", r"\s/(?:password|pass):"),
    (
        "security",
        r"\s{1,3}(?:add-(?:generic|internet)-password|unlock-keychain|set-keychain-password)\b",
        r"\s-[wp]\s?",
    ),
    ("bw", r"\s{1,3}(?:login|unlock)\b", r"\s(?:login\s[^\s@]{1,60}@\S{1,60}|unlock)\s"),
    ("grafana", "", r"\sreset-admin-password\s"),
    ("vault", r"\s{1,3}login\b", r"\slogin\s(?!-|\w{1,20}=)"),
    ("useradd usermod", "", r"\s(?:-p|--password)[ =]"),
    ("dotnet", r"\s{1,3}user-secrets\b", r"\sset\s\S{1,100}\s"),
    ("winrm secedit", "", r"\s-(?:p|password)[:= ]"),
    ("gh", r"\s{1,3}secret\b", r"\s(?:--body|-b)[ =]"),
    ("rclone", "", r"\sobscure\s"),
    ("oathtool", "", r"\s(?:-b|--base32)\s(?:--?\w{1,20}\s){0,3}"),
    ("keytool jarsigner", "", r"\s-(?:store|key)pass\s"),
    ("influx", "", r"\s-password\s"),
    ("aws", "", r"\saws_secret_access_key\s"),
    ("npm pnpm yarn", "", r":_(?:authToken|password)[ =]"),
    (
        "net",
        r"\s{1,3}(?:use|user)\b",
        (
            r"\s(?:use\s\S{1,10}\s\\\\\S{1,200}\s(?:/user:\S{1,60}\s)?"
            r"|user\s\S{1,60}\s)(?!/)"
        ),
    ),
)
"""The beginnings of commands' names, what must follow if only some uses take a password, and what precedes it."""


def rules() -> Iterator[Rule]:
    for names, also, before in COMMANDS:
        cue = rf"(?<![\w.-])(?:{names.replace(' ', '|')})[\w-]{{0,12}}(?:\.exe)?(?=\s){also}"
        cue += r"(?:[^\n|;\"']|\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[\"']){1,400}+"
        yield Rule("password", tuple(names.split()), inside(names, cue, before + _ARGUMENT, values.is_flagged))
