"""A labelled set for bench/secrets.py: notes with a secret, by its kind, and honest notes without one.

Secrets are made at run time from a fixed seed, so that no scanner reports this file. `{}` is replaced with the secret.
"""

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator

Make = Callable[[random.Random], str]

ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
URLSAFE = ALNUM + "-_"
HEX = "0123456789abcdef"


def of(alphabet: str, length: int, prefix: str = "") -> Make:
    return lambda rng: prefix + "".join(rng.choices(alphabet, k=length))


def one_of(*makes: Make) -> Make:
    return lambda rng: rng.choice(makes)(rng)


def b64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def jwt(rng: random.Random) -> str:
    head = {"alg": "HS256", "typ": "JWT"}
    body = {"sub": str(rng.randint(1, 10**6)), "name": "Jane", "iat": rng.randint(1_600_000_000, 1_800_000_000)}
    return ".".join([*(b64url(json.dumps(part).encode()) for part in (head, body)), b64url(rng.randbytes(32))])


def private_key(rng: random.Random) -> str:
    kind = rng.choice(["RSA ", "OPENSSH ", "EC ", "", "ENCRYPTED "])
    lines = [base64.b64encode(rng.randbytes(48)).decode() for _ in range(rng.randint(3, 12))]
    return "\n".join([f"-----BEGIN {kind}PRIVATE KEY-----", *lines, f"-----END {kind}PRIVATE KEY-----"])


def torn_key(rng: random.Random) -> str:
    return private_key(rng).rpartition("\n")[0]


def escaped_key(rng: random.Random) -> str:
    return private_key(rng).replace("\n", "\\n")


def openai(rng: random.Random) -> str:
    return f"sk-{of(ALNUM, 20)(rng)}T3Blbk" + f"FJ{of(ALNUM, 20)(rng)}"


def chosen(rng: random.Random) -> str:
    """Return a password as people choose them."""
    word = rng.choice("Summer Dragon Falcon Monday Copper Winter Tiger Orchid".split())
    return word + rng.choice("!#$%&*") + str(rng.randint(10, 9999)) + of(ALNUM, rng.randint(2, 6))(rng)


HELD: dict[str, tuple[Make, list[str]]] = {
    "AWS access key": (one_of(of(UPPER, 16, "AKIA"), of(UPPER, 16, "ASIA")), [
        "The deploy user's key id is {}.", "aws_access_key_id = {}", "AWS_ACCESS_KEY_ID={} is what CI uses",
        '{{"AccessKeyId": "{}", "Status": "Active"}}', "Rotate {} before Friday, it leaked into the build log.",
    ]),
    "AWS secret key": (of(ALNUM + "/+", 40), [
        "aws_secret_access_key = {}", 'AWS_SECRET_ACCESS_KEY="{}"', "export AWS_SECRET_ACCESS_KEY={}",
        '"SecretAccessKey": "{}"', "The AWS secret key for staging: {}",
    ]),
    "GitHub token": (one_of(of(ALNUM, 36, "ghp_"), of(ALNUM, 36, "gho_"), of(ALNUM, 36, "ghs_")), [
        "Use {} to push to the mirror.", "git clone https://{}@github.com/acme/app.git", "GITHUB_TOKEN={}",
        "curl -H 'Authorization: token {}' https://api.github.com/user", "token {} expires in May",
    ]),
    "GitHub fine-grained token": (
        lambda rng: "github_pat_" + of(ALNUM, 22)(rng) + "_" + of(ALNUM, 59)(rng),
        ["The bot has {} with contents:write.", "GH_TOKEN={}", "gh auth login --with-token <<< {}", "pat: {}"],
    ),
    "GitLab token": (of(URLSAFE, 20, "glpat-"), [
        "PRIVATE-TOKEN: {}", "glab auth login -t {}", "Renovate runs with {} on the group.", "CI_TOKEN={}",
    ]),
    "Slack token": (
        lambda rng: f"xoxb-{of(string.digits, 12)(rng)}-{of(string.digits, 13)(rng)}-{of(ALNUM, 24)(rng)}",
        ["The alert bot posts with {}", "SLACK_BOT_TOKEN={}", "slack: {{token: '{}'}}", "Bot token {} (workspace ops)"],
    ),
    "Slack webhook": (
        lambda rng: f"https://hooks.slack.com/services/T{of(UPPER, 8)(rng)}/B{of(UPPER, 10)(rng)}/{of(ALNUM, 24)(rng)}",
        ["Post failures to {}", "webhook = {}", "curl -d @m.json {}", "The deploy channel listens on {} now."],
    ),
    "Stripe key": (one_of(of(ALNUM, 24, "sk_" + "live_"), of(ALNUM, 24, "rk_" + "live_"), of(ALNUM, 32, "whsec_")), [
        "Payments run with {}", "STRIPE_SECRET={}", "stripe.api_key = '{}'", "The key {} is restricted to refunds.",
    ]),
    "OpenAI key": (one_of(openai, of(URLSAFE, 120, "sk-proj-"), of(URLSAFE, 100, "sk-svcacct-")), [
        "OPENAI_API_KEY={}", "client = OpenAI(api_key='{}')", "The eval job's key is {}, limit 50 dollars.",
        "My key: {}", "It answers 401 with {}; ask Lena for a new one.",
    ]),
    "Anthropic key": (of(URLSAFE, 93, "sk-ant-api03-"), [
        "ANTHROPIC_API_KEY={}", "x-api-key: {}", "The agent runs on {} until the end of the month.",
        "export ANTHROPIC_API_KEY='{}'", '{{"anthropic": "{}"}}',
    ]),
    "Google API key": (of(URLSAFE, 35, "AIza"), [
        "Maps loads with {}", "https://maps.googleapis.com/maps/api/js?key={}&v=3", "GOOGLE_API_KEY={}",
        "The Gemini key is {}.",
    ]),
    "Google OAuth secret": (of(URLSAFE, 28, "GOCSPX-"), [
        "client_secret: {}", "The OAuth client secret is {}", '"client_secret":"{}"', "GOOGLE_CLIENT_SECRET={}",
    ]),
    "npm token": (of(ALNUM, 36, "npm_"), [
        "//npm.example.org/:_authToken={}", "NPM_TOKEN={}", "Publish with {} from CI only.", "npmAuthToken: {}",
    ]),
    "PyPI token": (of(URLSAFE, 160, "pypi-" + "AgEIcHlwaS5vcmc"), [
        "twine upload -u __token__ -p {}", "password = {}", "UV_PUBLISH_TOKEN={}", "The release token is {}",
    ]),
    "SendGrid key": (lambda rng: f"SG.{of(URLSAFE, 22)(rng)}.{of(URLSAFE, 43)(rng)}", [
        "SENDGRID_API_KEY={}", "Mail goes out with {}", "sg = SendGridAPIClient('{}')",
    ]),
    "Twilio key": (of(HEX, 32, "SK"), ["Twilio key {}", "TWILIO_API_KEY={}", "The SMS service uses {} since March."]),
    "Telegram token": (lambda rng: f"{rng.randint(10**8, 10**10 - 1)}:AA{of(URLSAFE, 33)(rng)}", [
        "The bot is {}", "https://api.telegram.org/bot{}/getMe", "TELEGRAM_TOKEN={}",
    ]),
    "Discord token": (
        lambda rng: f"M{of(ALNUM, 23)(rng)}.{of(URLSAFE, 6)(rng)}.{of(URLSAFE, 27)(rng)}",
        ["client.run('{}')", "DISCORD_TOKEN={}", "The moderation bot logs in with {}"],
    ),
    "JSON web token": (jwt, [
        "Authorization: Bearer {}", "The session cookie was {}", "supabase anon key: {}", "jwt={}; Path=/",
        "curl 'https://api.example.com/me?token={}'",
    ]),
    "private key": (one_of(private_key, escaped_key), [
        "Deploy key:\n{}\nIt belongs to the bastion.", "key: |\n{}", '{{"private_key": "{}"}}', "id_ed25519 is\n\n{}",
        "{}", "cat > key.pem <<EOF\n{}\nEOF",
    ]),
    "torn private key": (torn_key, ["The key, cut off by the terminal:\n{}", "{}", "pasted:\n{}\n"]),
    "password in a URL": (of(ALNUM + "-_.!~*", 14), [
        "DATABASE_URL=postgres://app:{}@db.internal:5432/app", "redis://:{}@cache:6379/0", "amqp://bunny:{}@mq/vhost",
        "mongodb+srv://root:{}@cluster0.ab1cd.mongodb.net/prod", "https://ci:{}@nexus.example.com/repository/",
        "Connect to mysql://shop:{}@10.0.0.5/shop and look at orders.",
    ]),
    "Azure storage key": (lambda rng: base64.b64encode(rng.randbytes(64)).decode(), [
        "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey={};EndpointSuffix=core.windows.net",
        "AccountKey={}", "The blobs' connection string ends in AccountKey={}",
    ]),
    "Authorization header": (of(ALNUM, 40), [
        "curl -H 'Authorization: Bearer {}' https://api.example.com/v1/jobs", "Authorization: Bearer {}",
        "headers = {{'Authorization': 'Bearer {}'}}", "Authorization: Basic {}", "It wants `Authorization: Token {}`.",
    ]),
    "password": (chosen, [
        'password = "{}"', "DB_PASSWORD={}", "The wifi password is {}", "password: {}", "login admin, password {}",
        "PGPASSWORD='{}' psql -h db", "spring.datasource.password={}", '{{"user": "root", "passwd": "{}"}}',
        "mysql -u root -p'{}'", "Passwort: {}", "the root pw is: {}", "curl -u admin:{} https://ci.example.com",
    ]),
    "API key": (of(HEX, 32), [
        "api_key: {}", "API_KEY={}", "X-API-Key: {}", "https://api.example.com/v2/weather?apikey={}&q=Berlin",
        '"apiKey": "{}"', "The DataDog api key is {}",
    ]),
    "secret": (of(ALNUM, 48), [
        "client_secret={}", "JWT_SECRET: {}", "SECRET_KEY = '{}'", "webhook secret: {}", "auth_token={}",
        'session_secret: "{}"',
    ]),
    "Hugging Face token": (of(ALNUM, 34, "hf_"), ["HF_TOKEN={}", "huggingface-cli login --token {}", "Use {} for it."]),
    "other vendors": (
        one_of(
            of(HEX, 64, "dop_v1_"), of(HEX, 32, "dapi"), of(HEX, 32, "shpat_"), of(ALNUM, 40, "lin_api_"),
            of(URLSAFE, 90, "hvs."), of(URLSAFE, 27, "dckr_pat_"), of(ALNUM, 43, "ntn_"),
        ),
        ["The token is {}", "TOKEN={}", "I use {} for the sync.", "token: {}", "{}", "set it to '{}' in the vault",
         "Deploys run with {} now.", "old: {}, new one comes on Monday"],
    ),
}  # fmt: skip
"""By kind: a function that makes such a secret, and the notes with it."""


def held(rounds: int = 1) -> Iterator[tuple[str, str, str]]:
    """Yield kind, note and secret of every note with a secret; each further round has other secrets."""
    rng = random.Random(20)
    for _ in range(rounds):
        for kind, (make, notes) in HELD.items():
            for note in notes:
                secret = make(rng)
                yield kind, note.format(secret), secret


# honest notes --------------------------------------------------------------------------------------------------------


def sha(rng: random.Random) -> str:
    return hashlib.sha1(rng.randbytes(8)).hexdigest()


def sha256(rng: random.Random) -> str:
    return hashlib.sha256(rng.randbytes(8)).hexdigest()


def any_uuid(rng: random.Random) -> str:
    return str(uuid.UUID(bytes=rng.randbytes(16), version=4))


def b64(rng: random.Random) -> str:
    return base64.b64encode(rng.randbytes(rng.randint(60, 200))).decode()


def sri(rng: random.Random) -> str:
    return "sha512-" + base64.b64encode(rng.randbytes(64)).decode()


def short_sha(rng: random.Random) -> str:
    return sha(rng)[:8]


MADE: dict[str, tuple[Make, list[str]]] = {
    "git SHA": (sha, [
        "The regression came in with {}.", "Pinned to {} until the fix is released", "git cherry-pick {}", "commit {}",
        "actions/checkout@{}", "git+https://github.com/acme/app.git@{}", "HEAD is {}", "Reverted {} because of #4711",
    ]),
    "short SHA": (short_sha, ["Deployed {} to staging.", "fixed in {}", "key commit: {}", "image tag app:{}"]),
    "UUID": (any_uuid, [
        "The tenant is {}", "request_id={}", "memory id {}", "session: {}", "https://example.com/orders/{}",
        "Correlation id {} shows up in both logs", "account_id: {}", "user {} has no role",
        "key: {}", "token id {} was revoked", "primary key {}",
    ]),
    "SHA-256": (sha256, [
        "sha256:{}", "image: postgres@sha256:{}", "The wheel's SHA-256 is {}", 'checksum = "{}"', "{}  app.tar.gz",
        "--hash=sha256:{}", "integrity of the model file: {}", 'ETag: "{}"', "cache key {}", "digest {} matches",
        "docker pull ghcr.io/acme/app@sha256:{}",
    ]),
    "SRI": (sri, ['"integrity": "{}"', 'integrity="{}"', "  integrity {}"]),
    "image": (b64, [
        "data:image/png;base64,{}", '<img src="data:image/gif;base64,{}">', "The icon is {} in base64.",
        "logo: data:image/svg+xml;base64,{}", "thumbnail {}",
    ]),
}  # fmt: skip

WRITTEN = """
sk-...
OPENAI_API_KEY=sk-...
export OPENAI_API_KEY=<your-api-key>
api_key: YOUR_API_KEY
api_key = "your-api-key-here"
ANTHROPIC_API_KEY=sk-ant-...
Keys begin with sk-ant-api03- and go into the environment.
Tokens of GitHub begin with ghp_ or github_pat_.
password: ********
password: <redacted>
password = "changeme" is only the placeholder in the template... replace it: password = "${PASSWORD}"
DB_PASSWORD=${DB_PASSWORD}
DB_PASSWORD=$DB_PASSWORD
password: {{ vault_db_password }}
password: !vault |
secret: ${{ secrets.DEPLOY_KEY }}
token: ${{ secrets.GITHUB_TOKEN }}
password = os.environ["DB_PASSWORD"]
api_key = os.getenv("OPENAI_API_KEY")
api_key=settings.openai_key
password = config.get("password")
const apiKey = process.env.API_KEY;
password: str
password: str | None = None
def login(user: str, password: str) -> Token:
password: string;
secret: bytes
api_key: Optional[str]
token: Token = Depends(current_token)
self.password = password
password=password
client_secret=client_secret,
token = get_token()
secret = secrets.token_urlsafe(32)
The password is stored in 1Password.
The password is in the vault under db/prod.
Ask Lena for the password.
The root password was rotated on Monday.
Passwords are hashed with argon2id.
The password must have at least 12 characters.
The password is never logged.
A wrong password gives 401.
password reset emails go through SES
The secret is to warm the cache first.
The secret key is derived from the master key by HKDF.
Secrets are managed by SOPS.
Kubernetes secret: app-credentials
secretName: app-tls
secretKeyRef: {name: app, key: url}
valueFrom: secretKeyRef
The API key goes into the header X-API-Key.
API keys are per workspace; they expire after 90 days.
Create an API key under Settings > Developers.
The token bucket refills at 100 per second.
token: 1024 is the limit of the context
max_tokens: 4096
max_tokens=8192
token_budget: 500
tokens_used: 12345678
The tokenizer is cl100k_base.
token count 128000
The refresh token lives for 30 days, the access token for 15 minutes.
JWTs are signed with RS256; the public key is at /.well-known/jwks.json.
A JWT begins with eyJ because of the brace.
The header of a JWT is base64url: eyJhbGciOiJIUzI1NiJ9
Verify the JWT's aud claim before you trust it.
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer {token}
Authorization: Bearer ${TOKEN}
curl -H "Authorization: Bearer $GITHUB_TOKEN" https://api.github.com/user
headers={"Authorization": f"Bearer {token}"}
Bearer tokens are checked in entry.py.
bearer authentication is documented in docs/http.md
Basic authentication is off.
postgres://localhost:5432/app
postgresql://app@db.internal:5432/app
postgresql://user@host/empty
postgres://user:password@localhost/db is how the URL looks
postgresql://USER:PASSWORD@HOST:5432/DB
redis://cache:6379/0
https://example.com:8443/path?a=b@c
https://git@github.com/acme/app.git
git@github.com:acme/app.git
ssh://git@gitlab.com:2222/acme/app.git
http://127.0.0.1:8765/mcp
Mail jane@example.com at 10:30, see https://example.com:443/x
amqp://guest@mq:5672
mongodb://${MONGO_USER}:${MONGO_PASSWORD}@mongo:27017
https://user:<password>@example.com
-----BEGIN PUBLIC KEY-----
-----BEGIN CERTIFICATE-----
A PEM file begins with "BEGIN PRIVATE KEY" between dashes.
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3n4h5k6l7m8n9o0p1q2r3s4t5u6v7w8x9y0z1a2b3c jane@laptop
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQDTalksalotaboutnothingatall jane@laptop
The fingerprint is SHA256:mVPwvezndPv/ARoIadVY98vAC0g+P/5633yTC4d/wXE
known_hosts has |1|F1E1KeoE/eEWhi10WpGv4OdiO6Y=|3988QV0VE8wmZL7suNrYQLITLCg=
MEMORY_DATABASE_URL is never shown.
The keyword-only argument is named by its caller.
key: value
keys: a, b, c
primary_key: order_id
foreign key: customer_id references customers
sort_key = lambda pair: pair[1]
The keyboard shortcut is ctrl-shift-p.
Keycloak realm: acme-production
public_key = load_pem_public_key(data)
ENCRYPTION_KEY_ID=alias/app-prod
kms_key_arn: arn:aws:kms:eu-central-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab
arn:aws:iam::123456789012:role/deploy-production-role
The AWS account is 123456789012, region eu-central-1.
AWS_PROFILE=production
AWS_REGION=eu-central-1
aws secretsmanager get-secret-value --secret-id prod/db/password
gcloud secrets versions access latest --secret=openai-key
op read op://vault/database/password
vault kv get -field=password secret/db
pass show work/db
kubectl create secret generic app --from-file=key.json
docker run -e POSTGRES_PASSWORD_FILE=/run/secrets/pg postgres:16
--password-file /etc/app/password
--api-key-env OPENAI_API_KEY
password_hash: see the users table
password_hash = argon2.hash(password)
passwordField.setText("")
resetPasswordTokenExpiresAtTimestampInMilliseconds
getAuthenticatedUserFromSessionTokenOrThrowUnauthorizedException
TestSecretRotationDoesNotInterruptRunningConnections passes again
test_a_stolen_database_shows_no_tokens_but_their_hashes_alone
com.acme.platform.security.credentials.CredentialsProviderChainFactory
AbstractSingletonProxyFactoryBeanGeneratorVisitor
SKU SK1234567890 is out of stock
AC-12345 is the ticket about air conditioning
sk-learn is how people misspell scikit-learn
sk-toggleable__content-fitted is a CSS class of scikit-learn's HTML output
hf_hub_download fetches one file
npm_config_registry points to the proxy
npm_package_version is set by npm run
pypi-server runs on port 8080
xoxb is the prefix of Slack's bot tokens
glpat- begins a personal access token of GitLab
whsec_ begins the signing secret of a webhook
AKIA and ASIA begin the ids of AWS access keys.
AIza begins a Google API key
The Azure account key has 88 characters.
AccountName=acme;EndpointSuffix=core.windows.net
The build took 1234567890:12 units
2026-11-20T10:15:30.123Z
1732098930123456789
Order 4711-0815-2342 was shipped
IBAN DE89370400440532013000 is the example of the docs
+49 30 901820
MAC address 00:1B:44:11:3A:B7
2001:0db8:85a3:0000:0000:8a2e:0370:7334 is the host
version 1.2.3-beta.4+build.5678
python -m bench.quality DATA locomo
--cookie-secret-file=secret.txt
The pwd command prints the working directory.
pwd: /srv/app
cd $(pwd)/build
passphrase: none
password:
secret =
token=""
api_key=''
password=None
token: null
api_key = undefined
password: true
"password": {"type": "string", "minLength": 12}
<input type="password" name="password" placeholder="Password">
password: Password1 is rejected by the policy, which is right
Enter your password:
The login form has user, password and remember-me.
password-protected PDF files are skipped
passwords.txt is in .gitignore
secret-scanning is on for the organisation
.env.example lists API_KEY, API_SECRET and DATABASE_URL without values
API_KEY=
API_SECRET=xxxxxxxxxxxxxxxxxxxxxxxx
api_key: 00000000000000000000000000000000
token: [masked: GitHub token]
DATABASE_URL=postgres://app:[masked: password in a URL]@db/app
We agreed: password rotation every 90 days, owner is Jane.
Decision: the token is passed by header, not by query.
User prefers that secrets are read from the keychain.
The customer's secret santa is on December 12.
Secret: the cake needs an hour more.
A token of appreciation: flowers for the team
Our API: key endpoints are /orders and /items
The main password manager: Bitwarden
Two-factor: the authentication app shows a code of six digits
curl -u admin https://ci.example.com
curl -u "$USER:$PASS" https://ci.example.com
mysql -u root -p shop
psql -U app -W
ssh -i ~/.ssh/id_ed25519 deploy@bastion
scp -P 2222 file user@host:/srv
The regex is [A-Za-z0-9_-]{36}
assert token.startswith("ghp_")
if not api_key: raise ValueError("api_key is missing")
print(f"password={password!r}")
logger.info("token=%s", token[:4])
password = input("Password: ")
SECRET_KEY = env("SECRET_KEY")
SECRET_KEY_BASE is read by Rails
config.secret_key_base = ENV["SECRET_KEY_BASE"]
@Value("${spring.datasource.password}")
password: ENC(see vault)
tokenEndpoint: https://login.example.com/oauth2/token
token_url = "https://auth.example.com/oauth/token"
secret_path: secret/data/app/production
password_policy: minimum-length-12-with-digits
authToken: string,
access_token_lifetime: 3600
refresh_token_rotation: enabled
""".strip("\n").split("\n")


def honest() -> Iterator[tuple[str, str]]:
    """Yield kind and note of every note without a secret."""
    rng = random.Random(21)
    for kind, (make, notes) in MADE.items():
        for note in notes:
            yield kind, note.format(make(rng))
    for note in WRITTEN:
        yield "written", note
