"""A second labelled set for bench/secrets.py, written from a list of classes before any rule was tried on it.

A secret is between « and »; {h40} is replaced with 40 characters of a class, from a fixed seed, and ¦ splits texts that
a scanner would report. Lines go alternately to two halves: the rules were tuned only on the even half.
"""

import hashlib
import random
import re
import string
import uuid
from collections.abc import Iterator

from mnemonic import Mnemonic

from bench.honest_notes_fresh import HONEST
from bench.secret_notes import HEX, LOWER, UPPER, URLSAFE, jwt

ALNUM = string.ascii_letters + string.digits
CLASSES = {
    "a": ALNUM, "w": URLSAFE, "h": HEX, "u": UPPER, "d": string.digits, "l": LOWER, "b": ALNUM + "+/",
    "x": string.ascii_uppercase + "234567", "s": "023456789acdefghjklmnpqrstuvwxyz",
    "k": ALNUM.translate(str.maketrans("", "", "0OIl")),
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
"private_key_id": "{h40}", "private_key": "-----BEGIN ¦PRIVATE KEY-----\n«{b64}\n{b64}\n{b40}»"
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
# in the words of a sentence
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
"""A heading names the class of the lines below it; {{ and }} stand for braces."""


def _fill(match: re.Match[str], rng: random.Random) -> str:
    kind, length = match[1], int(match[2] or 0)
    made = {
        "U": lambda: str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "J": lambda: jwt(rng),
        "M": lambda: phrase(rng, length),
    }
    return made[kind]() if kind in made else "".join(rng.choices(CLASSES[kind], k=length))


def phrase(rng: random.Random, length: int) -> str:
    """Return a key phrase of BIP 39 with its checksum."""
    words = Mnemonic("english").wordlist
    entropy = rng.randbytes(length * 4 // 3)
    bits = f"{int.from_bytes(entropy):0{len(entropy) * 8}b}{hashlib.sha256(entropy).digest()[0]:08b}"
    return " ".join(words[int(bits[at : at + 11], 2)] for at in range(0, length * 11, 11))


def made(line: str, rng: random.Random) -> str:
    """Return a line with the braces filled in and the escapes resolved."""
    whole = line.replace("{{", "\0").replace("}}", "\1")
    whole = re.sub(r"\{([A-Za-z])(\d*)\}", lambda match: _fill(match, rng), whole)
    return whole.replace("\0", "{").replace("\1", "}").replace("¦", "").replace("\\n", "\n")


def held(half: int) -> Iterator[tuple[str, str, str]]:
    """Yield class, note and last secret of each line with a secret in a half, 0 or 1."""
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
    """Yield the notes of a half that have no secret."""
    rng = random.Random(40)
    for number, line in enumerate(filter(None, HONEST.split("\n"))):
        whole = made(line, rng)
        if number % 2 == half:
            yield "fresh", whole
