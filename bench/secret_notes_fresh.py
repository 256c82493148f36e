"""A second labelled set for bench/secrets.py, written from a list of classes before any rule was tried on it.

Between « and » stands a secret; {h40} is filled with 40 characters of a class, anew from a fixed seed, and ¦ parts what no
scanner should take for a leak. Lines are dealt out by turns: the rules were tuned on the even half alone.
"""

import base64
import hashlib
import random
import re
import string
import uuid
from collections.abc import Iterator

from mnemonic import Mnemonic

from bench.secret_notes import HEX, LOWER, UPPER, URLSAFE, jwt

ALNUM = string.ascii_letters + string.digits
CLASSES = {
    "a": ALNUM, "w": URLSAFE, "h": HEX, "u": UPPER, "d": string.digits, "l": LOWER, "b": ALNUM + "+/",
    "x": string.ascii_uppercase + "234567", "s": "023456789acdefghjklmnpqrstuvwxyz", "k": ALNUM.translate(str.maketrans("", "", "0OIl")),
    "c": string.ascii_letters, "q": ALNUM + "!#%*+?^~", "X": "x",
}  # fmt: skip

HELD = r"""
# vendor's token, alone or in a sentence
The staging agent uses «sk-¦proj-{w48}T3BlbkFJ{w48}» now.
Ben pasted «gh¦p_{a36}» into the channel
«github¦_pat_{a22}_{a59}» is scoped to the docs repository
runner registration: «glrt-¦{w20}»
deploy token of the mirror is «gldt-¦{w20}»
Trigger: curl -X POST -F token=«glptt-¦{h40}» https://gitlab.example.com/api/v4/projects/1/trigger
he used «xox¦p-{d12}-{d12}-{d12}-{h32}» for the export
«xapp-¦1-A{u10}-{d13}-{h64}» is for socket mode
payments: «rk_¦live_{a32}»
test card run with «sk_¦test_{a24}»
mail via «SG¦.{w22}.{w43}»
«hf¦_{c34}» lets you pull the gated weights
publish with «npm¦_{a36}»
«pypi¦-AgEIcHlwaS5vcmc{w150}» expires in a year
The registry wants «dckr¦_pat_{w27}»
droplet API: «dop¦_v1_{h64}»
issue sync: «lin¦_api_{a40}»
Notion export runs as «ntn¦_{a46}»
older Notion integration «secret¦_{a43}»
«dapi¦{h32}» belongs to the Databricks job
vault login «hvs¦.{w24}»
root: «hvs¦.CAESI{w90}»
The theme is deployed with «shpat¦_{h32}»
«shpss¦_{h32}» is the app's shared secret
Square checkout: «EAAA¦{w60}»
«sq0atp-¦{w22}» was used in the sandbox
The bot: «{d10}:AA¦{w33}»
discord: «MTA{a23}.{w6}.{w38}»
mailgun: «key-¦{h32}»
Postman collection key «PMAK-¦{h24}-{h34}»
grafana: «glsa¦_{a32}_{h8}»
metrics push uses «glc¦_eyJ{a80}»
age identity «AGE-SECRET-KEY-¦1{u58}»
«AIza¦{w35}» draws the map
«ya29¦.{w120}» from the playground
«GOCSPX¦-{w28}» for the OAuth screen
deploy «sbp¦_{h40}» on supabase
planetscale: «pscale¦_pw_{w43}»
«pscale¦_tkn_{w43}» may create branches
fly: «fo1¦_{w43}»
«fm2¦_lJPECAAAAAAA{b80}» is what flyctl printed
«rnd¦_{a32}» restarts the Render service
new relic: «NRAK-¦{u27}»
«sntrys¦_eyJpYXQiOjE3{b60}_{b43}» uploads source maps
Figma plugin: «figd¦_{w40}»
airtable: «pat{a14}¦.{h64}»
«tskey-¦auth-{a12}CNTRL-{a32}» joins the tailnet
the buildkite agent has «bkua¦_{h40}»
terraform cloud: «{a14}.atlasv1¦.{w64}»
«ATATT3xFfGF0¦{w180}» reads Jira
«ATBB¦{a32}» clones from Bitbucket
«gsk¦_{a52}» is the Groq key
«xai¦-{a80}» answers quickly
replicate «r8¦_{a37}»
perplexity «pplx-¦{a48}»
«sk-¦or-v1-{h64}» goes through openrouter
«sk-¦ant-api03-{w86}-{w6}AA» was revoked
«tvly-¦{a32}» searches the web
«LTAI¦{a20}» is the Alibaba access key
yandex «AQVN¦{w38}»
«CFPAT-¦{w43}» of contentful
langsmith: «lsv2_pt_¦{h32}_{h10}»
pulumi up with «pul¦-{h40}»
«doppler» is configured with «dp.¦pt.{a43}»
easypost «EZAK¦{h32}{a22}»
The Duffel client has «duffel¦_live_{w43}»
azure function: https://app.azurewebsites.net/api/run?code=«{w54}==»
blob SAS: https://acme.blob.core.windows.net/c?sv=2024-11-04&sp=r&sig=«{b43}%3D»
sb://bus.servicebus.windows.net/;SharedAccessKeyName=root;SharedAccessKey=«{b43}=»
Entra app secret: «{a3}8Q~{w34}»
teams hook https://acme.webhook.office.com/webhookb2/{U}@{U}/IncomingWebhook/«{h32}»/{U}
discord hook https://discord.com/api/webhooks/{d18}/«{w68}»
# given as a flag of a command
docker login -u ann -p «Qu4rtz-lime» registry.example.com
docker login registry.example.com --username ann --password «{a16}»
helm registry login r.example.com --password=«{q14}»
mysqldump -u backup -p«Vq7tRa2x» shop > shop.sql
mysql --password=«sommer2023» -u root
sshpass -p «tr0ub4dor» ssh pi@10.0.0.7
sshpass -p'«kl3in!GARTEN»' scp a b:
curl -u deploy:«Mn5rT!kq» https://nexus.example.com/x
curl --user "jane:«{a20}»" https://api.example.com
wget --http-password=«pl4tinum» --http-user=ann https://files.example.com/a.zip
wget --user ann --password «hazel99nut» https://files.example.com
redis-cli -h cache -a «{a24}» ping
PGPASSWORD=«Zx9okm31» psql -h db -U app
mongosh --username root --password «{a18}» --authenticationDatabase admin
mongodump -u root -p «Br4ss.kettle» --db shop
az login --service-principal -u {U} -p «{a3}8Q~{w34}» --tenant {U}
openssl pkcs12 -export -passout pass:«wint3rapfel» -in a.pem
openssl enc -aes-256-cbc -k «f0x-in-sn0w» -in f
ansible-playbook site.yml --extra-vars "ansible_become_password=«g1raffe!!»"
snmpwalk -v3 -u ops -A «authp4ss77» -X «privp4ss88» host
smbclient //nas/share -U ann%«m4rm0t42»
net use Z: \\nas\share «Blau3Tinte!» /user:ann
xfreerdp /u:admin /p:«D0nnerstag#» /v:win01
ldapsearch -D cn=admin -w «dir3ctory!» -b dc=example
htpasswd -b .htpasswd ann «n1ghtingale»
zip -P «arch1ve-me» out.zip a.txt
7z a -p«s7venzip!» out.7z docs
gh secret set DEPLOY --body «{a30}»
vault kv put secret/app db_password=«{q18}»
kubectl create secret generic db --from-literal=password=«{a22}»
heroku config:set SECRET_KEY_BASE=«{h128}»
aws configure set aws_secret_access_key «{b40}»
npm config set //registry.example.com/:_authToken «{h40}»
rclone obscure «cl0udy-sky-9»
keytool -storepass «ch4ngedit!» -keystore a.jks
jarsigner -storepass «k3ystore99» -keypass «k3ypass99» a.jar alias
echo «su9erUs3r» | sudo -S apt update
net user ann «Fr0sch!teich» /add
sqlcmd -S db -U sa -P «Yukon900!»
influx -username admin -password «t1meseries»
smtp: swaks --auth-user ann --auth-password «m4ilb0x!»
mosquitto_pub -u dev -P «m0squit0» -t a -m b
tool --api-key «{a32}» --verbose
deploy --token=«{h40}» --env prod
# in a field of a file
"password": "«blue-monday»"
{"db": {"user": "app", "pass": "«{a12}»"}}
'clientSecret': '«{a32}»',
client_secret = "«{w40}»"
secretKey: «{h64}»
auth: {username: ann, password: «p1cnic-basket»}
<password>«Lem0n+tree»</password>
<add key="ApiSecret" value="«{a40}»" />
<property name="hibernate.connection.password">«orchid-77»</property>
"private_key_id": "{h40}", "private_key": "-----BEGIN ¦PRIVATE KEY-----\n«{b64}\n{b64}\n{b40}»\n-----END ¦PRIVATE KEY-----\n"
\"api_token\": \"«{a40}»\"
machine api.example.com login ann password «n3trc-val»
db.example.com:5432:shop:app:«pgp4ssval»
PrivateKey = «{b43}=»
PresharedKey = «{b43}=»
psk="«kaffeepause7»"
wpa_passphrase=«{a12}»
Data Source=db;User ID=app;Password=«Qw8!rtzu»;Encrypt=true
Server=db;Uid=app;Pwd=«Hj7%kl»;
ENV API_TOKEN «{a32}»
requirepass «{a40}»
credentials = ("admin", "«r0ot-beer»")
AUTH_BASIC_PASS: «ju9iter»
encryption_key: «{b43}=»
SESSION_COOKIE_SECRET=«{q32}»
DJANGO_SECRET_KEY='«django-insecure-{q40}»'
signing.keyPassword=«gr4dle-sign»
bind_dn_password: "«ldap-Ou7»"
CREATE USER app WITH PASSWORD '«sql1njected»';
ALTER USER app IDENTIFIED BY '«0racle-sez»';
GRANT ALL ON *.* TO 'a'@'%' IDENTIFIED BY "«gr4ntme99»";
# in a header or a URL
X-Api-Key: «{a24}»
Cookie: sessionid=«{l32}»; csrftoken=abc
Set-Cookie: connect.sid=«s%3A{w32}.{a43}»; Path=/; HttpOnly
Authorization: Basic «{b26}==»
Proxy-Authorization: Bearer «{w60}»
X-Vault-Token: «{w26}»
https://api.example.com/v1?access_token=«{w40}&»expires=3600
https://api.example.com/v1/x?client_secret=«{a24}»
https://ann:«s0mm3r»@git.example.com/a.git
rediss://default:«{a20}»@cache.example.com:6380
wss://stream.example.com/?auth=«{h32}»
ftp://backup:«tape4ever»@10.1.1.9/dump
otpauth://totp/Acme:ann?secret=«{x32}»&issuer=Acme
smtp://mailer%40example.com:«m%40il!77»@smtp.example.com:587
https://{h32}@o12.ingest.sentry.io/3 and https://hooks.slack¦.com/services/T{u8}/B{u8}/«{a24}»
# told in a sentence
the wifi password is «hunter2»
The password for the NAS is «Gartenzaun8»
Ann's password was changed to «v1olin-case»
we set the root password to «p0tato!salad» yesterday
Her PIN is «4711» for the alarm.
the door code is «908172»
Log in as admin / «adm1n-0815» on the printer.
username: admin, password: «sw0rdfish»
user ann with password «qu1ck-fox»
Credentials: ann@example.com / «b3rgsteiger»
Use the passphrase "«velvet otter climbs nine»" for the backup.
The API token we got from them is «{h40}»
Their key to the sandbox API is «{l32}»
Mein Passwort ist «fl0hmarkt»
Das WLAN-Passwort lautet «Kirsch#Kuchen7»
Kennwort: «W1nterreifen»
Das Passwort für den Server ist «Lok0motive»
le mot de passe est «fr0mage!»
Mot de passe : «Bouteille77»
mdp: «ch4teau-fort»
la contraseña es «tort1lla»
Contraseña: «M4driguera»
clave de acceso: «p3rezoso»
la password è «pizz4funghi»
a senha é «caip1rinha»
senha: «S4mbaDeUma»
パスワードは«sakura2019»です
パスワード：«n3ko-desu»
密码是«woaini1314»
密码：«Xi4oLong»
密碼: «t4iwan-88»
비밀번호는 «kimch1-jjigae»
пароль: «vod0lazka»
Пароль от роутера «m0rozko77»
wachtwoord is «stroopw4fel»
# a seed phrase or a private key in digits
seed phrase: «{M12}»
Recovery phrase for the hardware wallet:\n«{M24}»
{U} backup words «{M12}»
«{M24}»
wallet private key «0x{h64}»
eth key: «{h64}»
PRIVATE_KEY=«0x{h64}»
BTC: «L{k51}» (compressed)
«5{k50}» is the paper wallet
«xprv9s21ZrQH143K{k95}»
2FA secret «{x32}»
TOTP seed: «{x16}»
recovery codes: «{l5}-{l5}» «{l5}-{l5}»
-----BEGIN ¦OPENSSH PRIVATE KEY-----\n«b3BlbnNzaC1rZXktdjEAAAAA{b45}\n{b70}\n{b70}»
nsec: «nsec¦1{s58}»
jwt «{J}» from the console
ssh host key dump «MC4CAQAwBQYDK2VwBCIEI{b43}»
AES key (hex) «{h64}»
hmac key «{h64}»
"""
"""A heading names the class of what follows."""

HONEST = r"""
DB_PASSWORD=${DB_PASSWORD:?unset}
api_key: {X20}
token: <paste yours here>
password: ********
password: changeme
password=%(db_password)s
secret: !vault |
export TOKEN=$(pass show api/token)
Set SECRET_KEY to a long random string.
--password-file /run/secrets/db
mysql -u root -p"$MYSQL_PWD" shop
docker login -u ann --password-stdin
curl -u "$API_USER:$API_PASS" https://x.example.com
PGPASSWORD="$(cat /run/pw)" psql
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
Authorization: Bearer {{{{ token }}}}
X-Api-Key: YOUR_API_KEY
https://user:password@example.com/path is the form
postgres://user:pass@localhost/db in the README
redis://:PASSWORD@host:6379
token = os.environ["TOKEN"]
token: str | None = None
secret = secrets.token_urlsafe(32)
password = getpass.getpass()
const token = await getToken();
let apiKey = config.apiKey
private readonly secret: string;
if (password.length < 12) throw new Error("short");
self.password = password
password_hash = $2b$12${a53}
password_reset_token_expires_at: 2026-01-01
"password": "string"
password: {{ type: string, format: password }}
tokens: 4096
max_tokens=1024
token count: 128000
tokenizer: cl100k_base
The tokenizer is bert-base-uncased.
num_tokens = 31337
access key: Alt+Shift+K
Press any key: nothing happens
primary key: (workspace_id, id)
foreign key: orders.customer_id
sort key: created_at
partition_key: user_id
public key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{b43} ann@laptop
ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ{b90} deploy
-----BEGIN CERTIFICATE-----\nMIID{b60}\n{b64}\n-----END CERTIFICATE-----
-----BEGIN PUBLIC KEY-----\nMIIB{b60}\n-----END PUBLIC KEY-----
fingerprint SHA256:{b43}
key fingerprint = {u4} {u4} {u4} {u4} {u4}  {u4} {u4} {u4} {u4} {u4}
gpg key id 0x{h16}
commit {h40}
fixed in {h7} and {h8}
merge base {h40}, head {h40}
sha256:{h64}
digest: sha256:{h64}
md5sum {h32}  a.iso
{h64}  memoryd.tar.gz
SHA-512: {h128}
etag "{h32}"
integrity sha512-{b86}==
image: ghcr.io/acme/app@sha256:{h64}
docker image id {h12}
container {h64} exited
request id {U}
trace {h32} span {h16}
uuid={U}
session {U} ended
X-Request-Id: {U}
tenant id: {U}
client_id: {U}
client_id={d12}-{l32}.apps.googleusercontent.com
AWS account {d12}, role arn:aws:iam::{d12}:role/deploy
ami-{h17} in eu-central-1
vpc-{h17}, subnet-{h17}
s3://acme-backups/2026/11/{h32}.tar.gz
pk_¦live_{a24} is the publishable key, which browsers see
G-{u10} is the analytics id
order {u10} was refunded
ISBN 978-3-16-148410-0
IBAN GB82 WEST 1234 5698 7654 32
tracking number 1Z{u16}
price: 1.299,00 EUR
total 12,345.67
v2.3.1-rc.4+{h7}
python 3.11.7 on linux
released 2026-11-22T03:10:00Z
1732243800 is the epoch
+1 (555) 010-9999
192.168.178.1/24 and fe80::1ff:fe23:4567:890a
00:1A:2B:3C:4D:5E
eth address 0x{h40} is the contract
tx 0x{h64} confirmed
bc1q{l38} got the refund
block {h64}
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA{b150}
data:font/woff2;base64,d09GMgABAAAAA{b120}
![logo](data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP{b40})
<svg viewBox="0 0 24 24"><path d="M12 2L2 7l10 5 10-5-10-5z"/></svg>
/var/lib/docker/overlay2/{h64}/merged
node_modules/.cache/{h32}.js
index-{a8}.js and chunk.{h8}.css
~/.ssh/id_ed25519 has mode 600
https://github.com/acme/app/commit/{h40}
https://example.com/reset?step=2&lang=de
https://youtu.be/{w11}
https://docs.google.com/document/d/{w44}/edit
https://gist.github.com/ann/{h32}
magnet:?xt=urn:btih:{h40}
The password policy asks for twelve characters.
The password is stored in the keychain.
My password is too long for their form.
The password is required.
the password was reset by the admin on Monday
Password: see the vault, item "NAS".
Password reset mails are sent by the queue.
The wifi password is on the fridge.
Ask Ann for the password.
password must contain 8 characters, a digit and a sign
Forgot the password? Click here.
The token is passed in the header.
The token is invalid or expired.
token is valid for 3600 seconds
A secret is mounted at /run/secrets/db.
The secret is to rest the dough overnight.
The key is under the mat.
key: value
The key takeaway: ship on Friday.
The API key is read from the environment.
rotate the API key every quarter
api-key authentication is deprecated
The pin is 13 on the ESP32.
pin: 4 (SDA), 5 (SCL)
pinned to 1.4.2
Use passphrase-protected keys only.
The PIN has four digits.
The door code was changed last week.
code: 404
error code is 0x80070005
zip code: 10115
country code: DE
status code is 201
promo code SUMMER24 ends on Sunday
Room 4711 on floor 3
Log in as admin / guest role on the demo.
username: admin, password: see wiki
user ann with password authentication disabled
Credentials: see 1Password, vault Ops
basic auth is off; sessions use cookies
Cookie: consent=true; theme=dark
Set-Cookie: lang=de; Path=/
csrf protection is on
Bearer authentication (RFC 6750)
bearer shares are not allowed
Le mot de passe est obligatoire.
Mot de passe oublié ?
La contraseña es obligatoria.
Das Passwort ist falsch.
Das Passwort muss geändert werden.
Passwort vergessen? Hier klicken.
パスワードを忘れた場合
パスワードは8文字以上です
密码不能为空
密码是必填项
비밀번호를 잊으셨나요?
пароль должен содержать 8 символов
a senha deve ter oito caracteres
la password è obbligatoria
abandon the old plan, then able people act across the area again
The seed phrase has twelve words and must never be typed in.
recovery phrase: write it down on paper
wallet address 0x{h40}
The private key is in the HSM.
PRIVATE_KEY_PATH=/etc/ssl/private/key.pem
private_key_file: id_rsa
ssh-keygen -t ed25519 -C ann@example.com
openssl rand -hex 32
openssl passwd -6
htpasswd -c .htpasswd ann
zip -r out.zip docs
tar -xzpf backup.tar.gz
mkdir -p /srv/app/data
cp -p a b
ps -p 4711 -o pid
ssh -p 2222 ann@host
nmap -p 80,443 host
docker run -p 8080:80 nginx
git log -p --stat src/app.py
pytest -p no:cacheprovider tests
redis-cli -a "$REDISCLI_AUTH" ping
curl -u : --negotiate https://intranet
mysql -pdb_name is wrong, the flag takes the password
wget --user-agent=Mozilla/5.0 https://example.com
--token-budget 500 --limit 10
--secret-name db-credentials
--key-file server.key --cert server.crt
--from-literal=password=$PW
git config credential.helper store
kubectl get secret db -o yaml
aws secretsmanager get-secret-value --secret-id prod/db
vault kv get secret/app
gh auth token
npm token list
sk-learn is imported as sklearn
sk-SK is the locale
hf_hub_download fetches the file
npm_config_cache=/tmp/npm
AKIA is how AWS access keys begin
ghp_ and github_pat_ are prefixes of GitHub
the regex ^xox[baprs]-[0-9A-Za-z-]+$
eyJ marks a base64 JSON object
glpat- tokens expire after a year
whsec_ is the prefix of a webhook secret
secretName: app-tls
secretKeyRef: {{name: db, key: password}}
imagePullSecrets: [{{name: regcred}}]
type: kubernetes.io/tls
keyboard layout: de-latin1-nodeadkeys
monkey: capuchin-42b
tokenization: byte-pair-encoding-v2
compass: north-by-northwest-2
bypass: enabled-since-2024
passenger: seat12A
passive: mode-7x
author: Ann-Marie O'Neill2
authority: example.com:8443
authority = "https://login.example.com/{U}/v2.0"
pass: 412 fail: 3
12 passed, 3 failed: test_login2
The bus pass is E45-77b for zone 3
keys: id, name, created_at
cache key: user:42:profile:v3
i18n key: settings.security.password.title
translation: "Password": "Passwort"
label for="password2"
#password-field {{ color: #ff00aa33; }}
localStorage.getItem("token")
SELECT password FROM users WHERE id = 42
ALTER TABLE users ADD COLUMN password varchar(255)
UPDATE users SET password = crypt($1, gen_salt('bf'))
def login(user: str, password: str) -> Token:
return {{"token": create_token(user.id)}}
expect(token).toBe("expected-value-1")
type Token = {{ access_token: string; expires_in: number }}
The model has 7B parameters and 128k tokens of context.
Lottery: 4 8 15 16 23 42
chess: e4 e5 Nf3 Nc6 Bb5 a6
DNA: GATTACAGATTACAGATTACAGATTACAGATTACA
Serial number C02{u9}
MAC key 3 on the keyboard sticks.
license: Apache-2.0
license key: ask procurement
ticket OPS-4411: rotate password of the NAS, owner Ben
"""
"""One note a line; {{ and }} stand for braces."""


def _fill(match: re.Match[str], rng: random.Random) -> str:
    kind, length = match[1], int(match[2] or 0)
    made = {"U": lambda: str(uuid.UUID(int=rng.getrandbits(128), version=4)), "J": lambda: jwt(rng), "M": lambda: phrase(rng, length)}
    return made[kind]() if kind in made else "".join(rng.choices(CLASSES[kind], k=length))


def phrase(rng: random.Random, length: int) -> str:
    """A key phrase of BIP 39 with its checksum."""
    words = Mnemonic("english").wordlist
    entropy = rng.randbytes(length * 4 // 3)
    bits = f"{int.from_bytes(entropy):0{len(entropy) * 8}b}{hashlib.sha256(entropy).digest()[0]:08b}"
    return " ".join(words[int(bits[at : at + 11], 2)] for at in range(0, length * 11, 11))


def made(line: str, rng: random.Random) -> str:
    """A line with what stands in braces made up, and its escapes resolved."""
    whole = line.replace("{{", "\0").replace("}}", "\1")
    whole = re.sub(r"\{([A-Za-z])(\d*)\}", lambda match: _fill(match, rng), whole)
    return whole.replace("\0", "{").replace("\1", "}").replace("¦", "").replace("\\n", "\n")


def held(half: int) -> Iterator[tuple[str, str, str]]:
    """Class, note and first secret of each line of a half, 0 or 1, that holds one."""
    rng, kind, number = random.Random(39), "", 0
    for line in filter(None, HELD.split("\n")):
        if line.startswith("# "):
            kind = line[2:]
            continue
        whole = made(line, rng)
        for secret in re.findall("«(.*?)»", whole, re.DOTALL)[-1:]:
            if number % 2 == half:
                yield kind, whole.replace("«", "").replace("»", ""), secret
        number += 1


def honest(half: int) -> Iterator[tuple[str, str]]:
    """The notes of a half that hold none."""
    rng = random.Random(40)
    for number, line in enumerate(filter(None, HONEST.split("\n"))):
        whole = made(line, rng)
        if number % 2 == half:
            yield "fresh", whole
