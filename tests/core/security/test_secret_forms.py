"""Forms in which secrets are written down, and honest notes that look alike.

Between « and » stands what is masked; ¦ parts what no scanner should take for a leak.
"""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.core.security.secrets import mask

HELD = """
# tokens, alone or in a sentence
«¦AKIAQYLPMN5HHFIQR7XY» deploys
The bot pushes with «ghp_¦a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8»
fly tokens: «fo1_¦Rk3vQ8x2LmNx0RtYv5BzC7dKqPw9Zs4Tg6Hj1FbN»
tr_live_«¦4f9a1c07e2b85d3690fbc41d» starts jobs
«fc-¦65618f6b2bca87ae21be87b243953bf4» reads pages
root:«$6$wkppQOwhw0MYK8k.$ZoIucDhc6b1YKgLg3gHIjfpCL3sYRBJyGwUMQ6l7MK48c»:20511:0:99999:7:::
Bitlocker recovery: «349074-482625-383614-281600-344619-059334-687071-178541»
The paper in the safe: «legal winner thank year wave sausage worth useful legal winner thank yellow»
# addresses
postgres://app:«Brook5Tulip»@db:5432/orders
app:«Brook5Tulip»@tcp(db:3306)/orders
https://api.example.com/v1?access_token=«¦Zx8kq2LmN0vTr8WyBJq8»&page=2
https://app.example.com/reset/«¦Zx8kq2LmN0vTr8WyBJq8»
«https://hooks.zapier.com/hooks/catch/1234567/b3kq9xz»/
«https://hooks.airtable.com/workflows/v1/genericWebhook/appZx8kq2LmN0vT/wflr8WyBJq8Zx8k/wtrq2LmN0vTr8»
«https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=¦3f2b8a1c-9d4e-4b7a-8c1f-2e5d6a7b8c9d»
«https://outlook.office.com/webhook/¦3f2b8a1c-9d4e-4b7a-8c1f-2e5d6a7b8c9d@x/IncomingWebhook/6be0576ff61c053d5f9a3225»
«https://events.pagerduty.com/integration/¦6be0576ff61c053d5f9a3225e2a90f76»/enqueue
«https://hc-ping.com/¦3f2b8a1c-9d4e-4b7a-8c1f-2e5d6a7b8c9d» is pinged by the backup
«https://api.vercel.com/v1/integrations/deploy/prj_Zx8kq2LmN0vTr8/q2LmN0vTr8»
«https://discord.com/api/webhooks/112233445566778899/¦Zx8kq2LmN0vTr8WyBJq8Zx8kq2LmN0vTr8»
https://chat.example.com/hooks/«¦q8lm2nv0xtzr5ywbk7cjd1f3pa»
https://n8n.example.com/webhook/«¦3f2b8a1c-9d4e-4b7a-8c1f-2e5d6a7b8c9d»
WIFI:T:WPA;S:Lindenhof;P:«butterblume6»;;
# headers and cookies
Authorization: Basic «¦YW5uOlRyYXZlcnRpbmVfUm9vZg==»
curl -H 'Authorization: Bearer «¦9f8e7d6c5b4a39281706f5e4»' https://api.example.com
X-Auth-Token: «¦3f7a9c1d2e4b5a6f»
curl -b PHPSESSID=«¦k3v9q2m7c1x8z5b0n4a6s2d1f7» http://shop.lan/
Set-Cookie: session=«¦eyJ1c2VyIjoxMn0.ZxY1bA.9sdkfjh3kj4h5kjh»; HttpOnly
# assignments and fields
DB_PASSWORD=«amber.Otter.1973»
POSTGRES_PASSWORD=«verysecret»
- name: DB_PASSWORD\\n  value: «Brook5Tulip»
{"name": "DB_PASSWORD", "value": "«Brook5Tulip»"}
let api_key: &str = "«¦8414e4b7d88b768cabb010027a6eb320»";
<psk><![CDATA[«Brook5Tulip»]]></psk>
**API_KEY:** `«Brook5Tulip»`
Server=db;User ID=app;Password=«V7q$wJby3Oqo»;Encrypt=True;
[mail]\\nuser = ann\\npass = «kqzvxnwtrbhjpdlf»
"password" : "«tr0mbone»"
$mail->Password = '«Speck.48gramm»';
KAKAO_REST_KEY=«¦10b98440007f515a97723e4bc74da237»
export SSHPASS='«Brook5Tulip»'
{"kty":"EC","crv":"P-256","d":"«¦Uf3rB8d4G4k31I5ArzsWqulqMyatJRRvu6S7YghnWfc»"}
{"auths":{"box.lan":{"auth":"«¦cm9ib3QkY2k6SXNxR2tZZW4yMXVITmlZMGIyTUk=»"}}}
PrivateKey = «¦mWTPEPJWnaiaTxn/WCpcMCv5DdIG4DWupkUvi5F+JyE=»
ALTER USER app IDENTIFIED BY '«oracle-seven»';
machine api.example.com login ann password «n3trc-val»
db.example.com:5432:shop:app:«pgp4ssval»
define('FTP_PASS') = '«Qr4)bNw-6xYe»';
# flags of commands
deploy --token=«¦9f8e7d6c5b4a39281706» --env prod
mysqldump -u backup -p«Vq7tRa2x» shop
docker login -u ann -p «Qu4rtz-lime» registry.example.com
curl -u deploy:«Mn5rT!kq» https://nexus.example.com/x
psql "host=db user=app password=«Herbst.Laub7» dbname=x"
notarytool submit a.zip --apple-id ann@example.org --password «¦bqzs-gikc-mvhh-jpxs» --wait
# arguments of what makes a client or logs in
const twilio = require('twilio')('AC1', '«¦57e36722fc3f61e6092c4b143e180a05»'); // sid, auth token
co = cohere.ClientV2('«¦Zk3mQp9vRtYx7LbNcWdAeFgHjKsUiOo2TqVzXyB1»')
search = algoliasearch('LATENCY1', '«¦6be0576ff61c053d5f9a3225e2a90f76»') // admin
twilio(account, "«¦57e36722fc3f61e6092c4b143e180a05»")
index = Pinecone("eu-west1-gcp", '«¦Zk3mQp9vRtYx7LbNcWdAeFgHjKsU»')
Redis("cache.lan", 6379, 0, "«¦Zk3mQp9vRtYx7LbN»")
client = SearchClient.create("LATENCY1", "«¦6be0576ff61c053d5f9a3225e2a90f76»")
connect("http://db.lan", AuthApiKey("«¦Zk3mQp9vRtYx7LbNcWdAeFgHjKsU»"))
requests.get(url, auth=('ann.bell', '«Gr4n-Mill-2017»'), verify=False)
imap.login("ann@gmail.com", "«qmzt hvka wepd rluy»")
jwt.sign({ id: user.id }, '«hafen-licht-88»', { expiresIn: '1d' })
# a label right beside the value, in sentences and languages
the password is «hunter2»!
We set the root password to «p0tato!salad» yesterday
The password for the NAS is «Gartenzaun8».
user ann with password «qu1ck-fox»
Use the passphrase "«velvet otter climbs nine»" for the backup.
Their API key is «¦8414e4b7d88b768cabb010027a6eb320»
Gmail app password: «ktwq xzvb plmr jdhs»
Her PIN is «4711» for the alarm.
Passwort: «Sommer2023»
Le mot de passe du serveur est «Pommier99»
Contraseña del router: «tortilla.verde4», llamar antes
A senha do painel da loja é «Caju.Azul27» (usuário: ana).
パスワードは«sakura2019»です
пароль от роутера — «Moor1968kran», логин ann
現在の暗証番号：«39201»
비밀번호: «kimch1-jjigae»
# keys and codes
Recovery codes: «¦4f8a2-91bcd 77dea-0a1b3»
Add the MFA key by hand: «¦i3b5 5aoa kbdq 24db 55a2 jy5i jces alcy»
wallet private key «¦0x9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08»
"""
HONEST = """
# placeholders, and the place of a secret
client_secret: "REPLACE_ME"
api_key = <your-key>
api_key: xxxxxxxxxxxxxxxx
token: ${TOKEN}
aws_access_key_id = ¦AKIAIOSFODNN7EXAMPLE
Incorrect API key provided: sk-proj-********************************3fQA.
RESTIC_PASSWORD_FILE=/srv/.restic-pass\\nRESTIC_REPOSITORY=rest:http://nas:8000/main
secrets: arn:aws:secretsmanager:eu-west-1:483333872328:secret:prod/ledger/db-a8KqLm
export PGPASSWORD=$(pass show db/orders)
password: ENC[AES256_GCM,data:vn0iahg0mpzu5YC7,iv:Sttp12tZOaz0GXpjHpicfBHxo5kALgTs=,type:str]
amqp://guest:guest@localhost:5672
postgres://readonly@db.lan:5432/shop?sslmode=verify-full (no password)
# code that handles tokens
const token = req.headers.authorization?.split(' ')[1];
credentials = _get_credentials(settings)
private_key: Ed25519PrivateKey | None
if token == "integer": return int
GRANT_TYPE_REFRESH_TOKEN = 'refresh_token'
client = Client(api_key="incorrect-api-key")
if method == socks.SOCKS5AuthMethod.USERNAME_PASSWORD
<assembly publicKeyToken="¦1fc8b3b9a1e18e3b" />
password: req.body.password1
'password' => 'required|min:8|confirmed'
jwt.verify(token, publicKey, { algorithms: ['RS256'] })
send --auth=kerberos5
git = new Commit("repo", "¦9fceb02d0ae598e95dc970b74767f19372d61af8")
app = Client("worker-1", "queue-high-priority-2")
client = Client(region, api_key_value)
Pinecone("us-east-1-aws", index_name)
stripe.prices.retrieve("¦price_1NvXz2LkdIwHu7ixQ8Zb3kTy")
lookup("users", "¦6be0576ff61c053d5f9a3225e2a90f76")
Redis("cache-eu-west-1.internal.example.com", 6379)
https://docs.github.com/en/webhooks/using-webhooks/handling-webhook-deliveries
https://events.pagerduty.com/v2/enqueue
https://hc-ping.com/docs
password to unlock_the_safe()
# sentences about secrets
The password field in the form is user_field_2
The password for db.rack2 is in the vault.
The password policy is now NIST800-63b.
The token limit of Llama-2-70b-hf is 4096.
Contraseña maestra: preguntar a Marta en la oficina
La phrase secrète doit contenir au moins douze mots
Passwort: Rindfleischetikettierung
The password is 2048 bits long.
パスワードは1Passwordで管理しています。
The user is anna1992, she has forgotten her password.
"password": "Contraseña", "secret": "Geheimnis"
parola_chiave: agriturismo2024
Nuts and seeds: rich in protein and fats and good for you at any time of the day
Backup codes are in the safe. The next release: 10091-4c83e
# hashes, ids, public keys, names that end alike
go.sum: example.org/pgx/v5 v5.7.5 h1:W7SPbDlN9yZspcZAWQJA7MUAF95gN9EzwQg/2Njn/DI=
PublicKey = ¦mWTPEPJWnaiaTxn/WCpcMCv5DdIG4DWupkUvi5F+JyE=
password_hash = $2b$12$7iFZ2g20tUojktZC93nAdKLKfLg0Cg86u5rHJXecjxXSgTlbD44BX
checksum/secret-key: ¦9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
pod api-7d9f8b6c5d-x2x9z restarted
session_V1StGXR8Z5jdHi6BmyTabcDEF123 went on
¦pk_live_9uShN0IYYzh4ZQjrWzZiwOCT is the publishable key
project key ¦phc_6s1NIhqhlm3lWEfzcnfjl7qJt1OFrfjtv2ZZkGFRwPW
BYPASS=Brook5Tulip
COMPASS: Qmc5883-GY271
CACHE_KEY=¦10b98440007f515a97723e4bc74da237
curl -b 'theme=dark; lang=de' https://shop.lan
The trace 3f2b8a1c-9d4e-4b7a-8c1f-2e5d6a7b8c9d shows the login.
stop_token: "<|endoftext|>"
# numbers of pins and posts
Connect the LED to pin 13 and the sensor to pin 1024.
The pin is 13 on the ESP32.
PIN code: 560001 of the Bengaluru office
PIN entry is limited to 3 tries per 3600 seconds.
暗証番号は4桁です
# numbers near what opens or locks
The Vault port is 8200. HashiCorp Vault: 8200, Consul: 8500.
A safe default is 4096 for the buffer, the safe limit is 3000 requests per worker.
It is safe: 8080 is only open internally.
Lock wait timeout, code 1205.
pg_advisory_lock uses key 4242 for the scheduler, the allocator takes an advisory lock (key 7781).
Row lock on key 48213 blocked the import. Redis lock: key 8812, ttl 30
Obsidian vault plugin: Local REST API is 27123. The vault id is 4711.
The order lock is 15 minutes, code freeze is 1200 UTC.
Alarm code 3021 on the chiller means low flow. Fault code 3021 with the door open.
The alarm threshold code is 9000. The safe mode code is 1042. Alarm: code 7700 squawk
Gate code path: 5432 is the default port.
Use a combination of 1200 and 800 grit for the door.
Enter 8443 as the port in the lock service form. Enter 2500 in the field Lock timeout.
The entrance exam is 2100 points, press 4000 more.
Voicemail extension: 4410. Schloss Neuschwanstein, Baujahr ist 1869.
The lock file has key 20240512. The Obsidian vault: 4210 notes. Our data vault is 3500 tables.
door code: 4711
"""


def lines(table: str) -> list[str]:
    """The notes of a table, without its comments."""
    notes = [line.replace("\\n", "\n") for line in table.strip().split("\n") if not line.startswith("# ")]
    return [note.replace("¦", "") for note in notes]


def test_a_secret_is_masked() -> None:
    for note in lines(HELD):
        secret = note[note.index("«") + 1 : note.index("»")]
        masked, found = mask(note.replace("«", "").replace("»", ""))
        assert secret not in masked
        assert len(found) == 1, note


@pytest.mark.parametrize("key_id", ["k1", "signing-2024-09-" * 12])
def test_a_web_token_is_masked_however_long_its_header(key_id: str) -> None:
    parts = [{"alg": "RS256", "kid": key_id}, {"sub": "ann", "exp": 1_726_561_800}]
    encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    assert mask(f"The console shows {'.'.join(encoded)}.{'Zx8k' * 10} again") == (
        "The console shows [masked: JSON web token] again",
        ["JSON web token"],
    )


def test_an_honest_note_stays() -> None:
    assert [note for note in lines(HONEST) if mask(note) != (note, [])] == []


WORDS = (
    "the a code key token secret lock safe vault alarm door gate entrance entry port id is are lautet ist est press"
    " enter type opens with unlocks for on at year limit wifi login account user api number row advisory zip order"
    " Schlüssel Code Tür Tresor clé porte coffre llave puerta ключ дверь сейф 鍵 金庫 门 锁 비상구"
).split()
SHORT = st.integers(0, 99_999_999).map(str)
JOINTS = st.sampled_from([" ", ": ", " = ", ", ", " (", ") ", " - ", "="])


@given(st.lists(st.tuples(st.one_of(st.sampled_from(WORDS), SHORT), JOINTS), min_size=1, max_size=14))
def test_no_short_number_without_a_label_is_masked(parts: list[tuple[str, str]]) -> None:
    """A lost fact costs more than the code of a door that is kept."""
    text = "".join(word + joint for word, joint in parts)
    assert mask(text) == (text, [])


@given(
    st.integers(1_000, 10**12).map(str),
    st.sampled_from(["PIN: ", "pin=", "My PIN is ", "passcode: ", "Passwort: "]),
)
def test_a_label_directly_before_a_number_makes_it_a_secret(number: str, label: str) -> None:
    assert number not in mask(f"{label}{number}.")[0]
