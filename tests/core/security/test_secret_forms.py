"""Forms in which secrets are written down, and honest notes that look alike.

Between « and » stands what is masked; ¦ parts what no scanner should take for a leak.
"""

import pytest

from memoryd.core.security.secrets import mask

HELD = """
# a sentence that refers to what the one before named
The printer's password was changed in June, it's «oakenDoor_1931» now.
Old passphrase was dropped; new one is «Mar1gold&Rain» since then.
Passwort geändert, jetzt «Amsel7Kiosk»
user: which vpn pass was it?\\nassistant: It was «pebble.Heron.417»
# the name of an account before it
Logged in to the camera with admin and «Tulip7garden», as the label says.
Credentials for the share of Lang & Co: lang_in with «Qr4)bNw-6xYe» on port 2121.
Accounts of the lab:\\n* root – «tR4xmfe2Kw»\\n* guest – none
# what is opened with it
The archive from the bank opens with «Winter2021#Moor»
Unlock the old laptop with «Fern6Kettle»
# tables
| host | user | password |\\n|---|---|---|\\n| git | ann | «w3Kt!yellow» |
user,pw\\nann,«Brook5Tulip»
# phrases and letters of chance
The password to open the vault on the old shelf is "«nine swans near Århus»".
[mail]\\nuser = ann\\npass = «kqzvxnwtrbhjpdlf»
Gmail app password: «ktwq xzvb plmr jdhs»
define( 'AUTH_SALT', '«kT3`x{9]wq"R|f7+Zm(2&Lp#v»' );
# what is piped or written to a file
echo '«amber-loom-3814»' | sudo tee /etc/borg/pw
echo "ann:«Brook5Tulip»" | chpasswd
docker login -u ann --password-stdin <<< "«Brook5Tulip»"
# locks and Wi-Fi
Keypad at the back of the shop: press «40713» and then *.
The safe combination is «24-8-31».
Guest Wi-Fi: SSID Lindenhof, key «butter-blume-6»
WIFI:T:WPA;S:Lindenhof;P:«butterblume6»;;
# commands
plink -ssh ann@host -pw «Brook5Tulip»
http -a ann:«Brook5Tulip» https://api.example.com
sqlplus app/«Brook5Tulip»@orders
rabbitmqctl add_user ann «Brook5Tulip»
unzip -P «Brook5Tulip» a.zip
# files and calls
- name: DB_PASSWORD\\n  value: «Brook5Tulip»
{"name": "DB_PASSWORD", "value": "«Brook5Tulip»"}
username ann password 0 «Brook5Tulip»
user.setPassword("«Brook5Tulip»")
requests.get(url, auth=("ann", "«Brook5Tulip»"))
DriverManager.getConnection(url, "app", "«Brook5Tulip»")
$mail->Password = '«Speck.48gramm»';
# languages
A senha do painel da loja é «Caju.Azul27» (usuário: ana).
heslo je «Brook5Tulip»
Lösenord till NAS: «Brook5Tulip»
Şifre: «Brook5Tulip»
mật khẩu là «Brook5Tulip»
كلمة المرور: «Brook5Tulip»
# syntaxes
let api_key: &str = "«¦8414e4b7d88b768cabb010027a6eb320»";
app_key ?= «Brook5Tulip»
<psk><![CDATA[«Brook5Tulip»]]></psk>
**API_KEY:** `«Brook5Tulip»`
Server=db;User ID=app;Password=«V7q$wJby3Oqo»;Encrypt=True;
RESTIC_PASSWORD="«mauve Otter 91 climbs!»" restic snapshots
app:«Brook5Tulip»@tcp(db:3306)/orders
wandb login «¦ac9ddb0d2092cf7716dfe44ac721648472fc5a48»
# forms of keys
{"kty":"EC","crv":"P-256","d":"«¦Uf3rB8d4G4k31I5ArzsWqulqMyatJRRvu6S7YghnWfc»"}
{"auths":{"box.lan":{"auth":"«¦cm9ib3QkY2k6SXNxR2tZZW4yMXVITmlZMGIyTUk=»"}}}
encrypt = "«¦mWTPEPJWnaiaTxn/WCpcMCv5DdIG4DWupkUvi5F+JyE=»"
Bitlocker recovery: «349074-482625-383614-281600-344619-059334-687071-178541»
root:«$6$wkppQOwhw0MYK8k.$ZoIucDhc6b1YKgLg3gHIjfpCL3sYRBJyGwUMQ6l7MK48c»:20511:0:99999:7:::
Add the MFA key by hand: «i3b5 5aoa kbdq 24db 55a2 jy5i jces alcy»
tr_live_«¦4f9a1c07e2b85d3690fbc41d» starts jobs
# passwords of apps
notarytool submit a.zip --apple-id ann@example.org --password «¦bqzs-gikc-mvhh-jpxs» --wait
smtp.gmail.com:587, user ann@gmail.com, app password «¦fqlhmvzpllmxbyks»
# dots, capitals and digits
DB_PASSWORD=«amber.Otter.1973»
Bağlantı: kullanıcı ann, şifre «Çınar.Kapı58».
пароль от роутера — «Moor1968kran», логин ann
# accounts and keys among arguments
Authorization: Basic «¦YW5uOlRyYXZlcnRpbmVfUm9vZg==»
requests.get(url, auth=('ann.bell', '«Gr4n-Mill-2017»'), verify=False)
client = Client('AC1', '«¦7629fea5039b96abde8f654505479dfa»')
[redis]\\nauth = "«¦941ca3430f2540698dd8bbbbec483263»"
the demo login is ann@example.org // «CopperKettle7»
config/master.key must contain «¦ea3fff4d734850d751d1f8902ac38a19», says Ann
oathtool --totp -b «¦7WRZZGD4P365OEKWDPYWPNI2RKC7BI3Q»
# more languages
lozinka je «Brook5Tulip»
kata laluan: «Brook5Tulip»
რა არის პაროლი: «Brook5Tulip»
合言葉は「«Brook5Tulip»」
# prose: values that code would have for names
Contraseña del router: «tortilla.verde4», llamar antes
Clave Wi-Fi y contraseña «Tortuga.roja3».
Kata sandi wifi warung adalah «esteh_manis3»
Password modem di kantor: «sotoayam_enak7», IP 10.0.0.1
Password modem di kantor: «kopipahit22»
Hasło do NAS-a: «pierogi_z_kapusta», użytkownik ola
Mật khẩu admin của trang web là «phoGa@saigon12», đăng nhập ở /admin
Heslo k routeru je «Knedlik.se7», nezapomenout
login ann, password: «tortilla.verde4»
# passphrases of Wi-Fi, keys of web tokens and files, cookies
SSID Hof-Gast, WPA2 passphrase «green turtles sleep early»
config/master.key is gone, a copy was noted: «¦0f8e2d9c4b7a61538f0e1d2c3b4a5968» .
API-nyckel: «¦4f9a1c07e2b85d3690fbc41d77aa01c2». Byt i maj.
jwt.sign({ id: user.id }, '«hafen-licht-88»', { expiresIn: '1d' })
curl -b PHPSESSID=«¦k3v9q2m7c1x8z5b0n4a6s2d1f7» http://shop.lan/
upload_flags = --auth=«w0rkB3nch»
# codes of doors and alarms
Der Alarmanlagen-Code im Büro ist «48213», danach 20 Sekunden.
Der Code für die Haustür lautet «5519»
Larmkod är «55120»
Il codice del cancello è «4471»
# the second argument of what makes a client
const twilio = require('twilio')('AC1', '«¦57e36722fc3f61e6092c4b143e180a05»'); // sid, auth token
let shop = new Razorpay("main", "«¦vQ8x2LmNx0RtYv5BzC7dKq»");
rest = RestClient('https://erp.lan', 'sync', '«Tr0ut-Lagoon-77»')
# PINs of devices, in other languages
The alarm PIN at the warehouse is «482913», arm with # afterwards.
ПИН-код от сейфа в офисе — «905218», запомни.
倉庫の暗証番号：«39201»
El PIN del móvil de la oficina es «6612»
PIN da porta dos fundos: «44718»
Le code PIN du téléphone est le «5583»
现在门禁密码是«390217»
スマホのPINは«4829»です
手机PIN码：«7714»
The tablet unlocks with PIN «2580».
Il codice dell'allarme: «4471»
# passphrases of plain words
Passphrase of the borg repo: «ostrich lantern copper valley tuesday»
Passphrase for the backups is «correct pony battery staple river»
The phrase for the GPG key is: «moss under the old railway bridge»
La phrase secrète de la clé GPG : «sept hiboux mangent du gruyère»
La frase de contraseña de la clave SSH es «cuatro barcos salen del puerto viejo»
Passphrase für den Restic-Tresor: «blaue Gänse fliegen heute nach Süden»
Парольная фраза от диска: «семь синих китов спят днём»
Master password: «purple hedgehogs juggle lanterns»
# words of a wallet, whatever their checksum, in any language
BIP39 seed, kept on demand: «orbit velvet garage pistol canyon mango drift urban sibling noble claw erupt»
Seed: «abate abbinare abisso abitare abete abolire aborrire ablativo abrasivo acacia accadere accanto»
Contraseña maestra: «siete patos cruzan el rio»
# names of keys in other languages
clave_api: "«¦UxiPSM4XHAAkmY4sURkqQNIDUt1Fe5TZX16qRhs8»"
chave_api = «¦f8a2c9d1e7b34560a1b2c3d4e5f60718»
clé d'accès : «¦Mn8Bv6Cx4Zl2Kj0H»
geheimer_schluessel: '«¦Pw93kLs0aXq7Zn2M»'
社内Wi-Fiの暗号化キー: «kaze-to-yuki-3391» (SSID: OFFICE)
비밀 키 = «¦p0Lk9Jm8Nh7Bg6Vf»
ключ_доступа: «¦c3d4e5f60718f8a2c9d1e7b34560a1b2»
WPA key of the holiday flat: «strandkorb-1987»
The SNMP community of the printers is «n0rthw1nd-ro»
La password dell'admin è «Vesuvio_rosso2»
psql "host=db user=app password=«Herbst.Laub7» dbname=x"
token_dostępu: «¦e7b34560a1b2c3d4e5f60718f8a2»
api_key=«¦Zx8/kq2LmN0vT/r8WyBJq8Lx0Zm2Vr5TnYw»
# an account and its password
관리자 페이지 로그인: admin / «Namsan-tower_19» (운영 서버)
登录：root / «Lotus_pond88»
accesso router: admin / «Ginestra_gialla9»
connexion : julien / «Tarte-Fine_62»
Basic auth for staging is demo:«Sparrow-Hill-22»
# vendors
«fc-¦65618f6b2bca87ae21be87b243953bf4» reads pages
«pat-¦na1-3f2b8a1c-9d4e-4b7a-8c1f-2e5d6a7b8c9d» reads contacts
«xkeysib-¦6814a1ee1f5cc4aac4cfa8175ba92aa2ea1e25b98a7421bc8b546d083c5568c5-0gqggWTllx7Yq2Za» sends mail
# cookies of sessions
curl -b 'sessionid=«¦ih14nfq0opx45qmlczrigstxx04je6r1»; lang=de' https://intranet.lan
curl --cookie "connect.sid=«¦s%3Aq8Lm2nV0xTzR5yWbK7cJdH1f»" https://shop.lan
Session cookie of the panel: sid=«¦q8lm2nv0xtzr5ywbk7»
# names in capitals
export SSHPASS='«Brook5Tulip»'
- name: MYSQLPASS\\n  value: «Brook5Tulip»
KAKAO_REST_KEY=«¦10b98440007f515a97723e4bc74da237»
{"TMDB_KEY": "«¦q8Lm2nV0xTzR5yWbK7cJdH1fP3»"}
# a password of an app among arguments, a passphrase before a dash, codes a sentence later
imap.login("ann@gmail.com", "«¦qmzt hvka wepd rluy»")
My GPG passphrase is «velvet anchor drum sixty pelican» – please use it when asked.
Passphrase: «velvet anchor drum sixty pelican» - for the borg repo
Backup codes for the forge, one already used. Next one to use: «20017-7d31f»
# PINs without a sign
debit card PIN «8317», the new one since Tuesday
O cofre do escritório abre com o PIN «306184», depois gire a trava.
Tarjeta de débito: PIN «4471»
Карта, пин «4471»
PIN «4471» for the spare phone
The PIN code of the office alarm is «482913»
# keys of Wi-Fi that are groups of digits
WLAN-Schlüssel in der Ferienwohnung: «4471 9038 2265 7710» (steht unten am Router).
Clé du Wi-Fi : «4471 9038 2265 7710»
# names joined as code joins them
mot_de_passe=«fArine92tKp»
palavra_passe: «Brook5Tulip»
parola_d_ordine = "«Brook5Tulip»"
clave_de_acceso=«Brook5Tulip»
senha_do_banco: '«Brook5Tulip»'
пароль_бд=«Brook5Tulip»
データベース_パスワード: «Brook5Tulip»
# what a token is like, and what its line says of it
Ana's laptop unlocks with «wagtail1992», by the way.
She reset the password to «Welcome-Hx47q» and asked him to change it.
I gave her «Tram14milano» come password provvisoria
root on db-03 is still «Zx9!halibut» until Friday
The real password is "«seven rusty kettles sing at noon»", she says
Le wifi du gîte : «chataigne-et-miel-9»
kubectl create secret generic smtp --from-literal=password=«Ke7tle.Swan»
# numbers that a sentence says to open something
The alarm at the studio gets disarmed with «905218» followed by the tick key.
Le digicode de l'immeuble c'est «47B09»
Der Türcode fürs Büro ist seit Montag «2958E»
Segredo do cofre da loja: «31-08-54»
SIM PUK for the work phone is «48120937»
"""
HONEST = """
go.sum: example.org/pgx/v5 v5.7.5 h1:W7SPbDlN9yZspcZAWQJA7MUAF95gN9EzwQg/2Njn/DI=
PublicKey = mWTPEPJWnaiaTxn/WCpcMCv5DdIG4DWupkUvi5F+JyE=
password_hash = $2b$12$7iFZ2g20tUojktZC93nAdKLKfLg0Cg86u5rHJXecjxXSgTlbD44BX
password: ENC[AES256_GCM,data:vn0iahg0mpzu5YC7,iv:Sttp12tZOaz0GXpjHpicfBHxo5kALgTs=,type:str]
Nuts and seeds: rich in protein and fats and good for you at any time of the day
pk_live_9uShN0IYYzh4ZQjrWzZiwOCT is the publishable key
pod api-7d9f8b6c5d-x2x9z restarted
client_secret: "REPLACE_ME"
パスワードは1Passwordで管理しています。
# code that handles tokens
const token = req.headers.authorization?.split(' ')[1];
credentials = _get_credentials(settings)
Token(refresh_token=refresh_token).load_and_set(client2)
key_or_pass = r'(?:key|pwd|password|pass|token)'
Further arguments to pass to `subprocess.run`.
private_key: Ed25519PrivateKey | None
Argument "token" to "connect" has incompatible type "str | None"
if token == "integer": return int
GRANT_TYPE_REFRESH_TOKEN = 'refresh_token'
client = Client(api_key="incorrect-api-key")
(r'(token|name|variable|body)\\b', Keyword)
if not isinstance(other, V1TokenReview): return False
def generate_key() -> x448.X448PrivateKey: ...
if method == socks.SOCKS5AuthMethod.USERNAME_PASSWORD
<assembly publicKeyToken="¦1fc8b3b9a1e18e3b" />
The password is stored_as_hash and never logged.
The password is settings.db_password2
password: req.body.password1
create(:user, password: some_random_value)
if password == form.field1: return other.attr2[0]
password to unlock_the_safe()
The password field in the form is user_field_2
The password for db.rack2 is in the vault.
f(password=my_mod.field1)
'password' => 'required|min:8|confirmed'
RESTIC_PASSWORD_FILE=/srv/.restic-pass\nRESTIC_REPOSITORY=rest:http://nas:8000/main
jwt.verify(token, publicKey, { algorithms: ['RS256'] })
jwt.decode(token, "your-256-bit-secret")
server.key md5: ¦0f8e2d9c4b7a61538f0e1d2c3b4a5968
WPA2 passphrase must be at least eight characters long.
smtp --auth=kerberos5
# keys that are called public
The reCAPTCHA site key (public, in the HTML) is ¦6Lc_aX0UAAAAABGK2zRzJqz8vT5xW1kYp3mN7oQd; the secret one stays.
Stripe publishable key on the page: ¦pk_live_51Gkgiqj25RX3IBm5hLxE0Om0bfzbsYBGo6PpqTgyL
clave pública: ¦BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4
# words about words, and translations
La palabra clave del artículo es "fotovoltaica"; añade también "energía solar".
La parola chiave è "agriturismo2024"
"login.password": "パスワード", "login.forgot": "パスワードをお忘れですか?"
"password": "Contraseña", "secret": "Geheimnis"
password: "Hasło"
# numbers that open nothing
Connect the LED to pin 13 and the sensor to pin 1024.
暗証番号は4桁です
The country code for the door supplier: 0049
The product code of the lock is 40713
# sentences about passphrases and seeds
Passphrase for the disk: ask Ann about the envelope
Passphrase für die Platte: siehe Tresor im Keller
La phrase secrète doit contenir au moins douze mots
The passphrase is never written to the disk
passphrase: optional passphrase of the key
The seed round was led by three funds from Berlin and two angels from Paris last spring
Backup phrase for the talk: slides are on the shared drive
Contraseña maestra: preguntar a Marta en la oficina
the code of the alarm module: 3200 lines
PIN entry is limited to 3 tries per 3600 seconds.
# arguments that are no keys, and what only looks like an account
git = new Commit("repo", "¦9fceb02d0ae598e95dc970b74767f19372d61af8")
app = Client("worker-1", "queue-high-priority-2")
connexion : ADSL / Fibre2
Login page / Signup_page2
with Postgres/TimescaleDB-2.11
api_path: Users/Ann2/Documents/GitHub/App3
# codes that open nothing
The status code from the port is 8080
Der HTTP-Code im Tor-Browser ist 4040
CAP: il codice di Porta Romana è 20122
# marks of tokenizers, colors, models
stop_token: "<|endoftext|>"
tokenizer.pad_token = "[PAD]"
Token: "#ddd0c0"
The token limit of Llama-2-70b-hf is 4096.
# what is made to be public, elided, or the place of a secret
mapboxgl.accessToken = '¦pk.eyJ1IjoiYW5uIiwiYSI6ImNseDAwIn0.HxMy7bqjSIaFX0B2no0clV'
project key ¦phc_6s1NIhqhlm3lWEfzcnfjl7qJt1OFrfjtv2ZZkGFRwPW
Incorrect API key provided: sk-proj-********************************3fQA.
secrets: arn:aws:secretsmanager:eu-west-1:483333872328:secret:prod/ledger/db-a8KqLm
Auth0 client_id is ¦vbliaZUG6Jlmp5hN9OWaiNrSRavkSxrw (PKCE, so no secret)
postgres://readonly@db.lan:5432/shop?sslmode=verify-full (no password)
^(?=.*[A-Z])(?=.*\\\\d)[A-Za-z\\\\d!@#$%^&*]{12,}$ is the password policy
export PGPASSWORD=$(pass show db/orders)
The alarm clock is set, press 0700 to confirm.
The safe type 2023 model costs 400 euros.
We encrypt and decrypt with AES-256-GCM or ChaCha20-Poly1305.
The password hash is now Argon2id.
The login service is now Keycloak24.
Sign in with Google and GitHub.
SSID FritzBox-7590AX / 5GHz-Kanal36
| model | token | cost |\\n|---|---|---|\\n| gpt4 | 8kCtx | 3 |
| test | pass | fail |\\n|---|---|---|\\n| unit | 97.5% | 3 |
board,pin\\nESP32,GPIO13
echo "hello-world2" > secrets.md
auth: ["basic", "OAuth2Bearer"]
password: "The two passwords do not match"
- name: DB_PASSWORD\\n  valueFrom: secretKeyRef
users:\\n- anna: Windows11\\n- ben: Ubuntu22.04
Passwort: Rindfleischetikettierung
# cookies of no session, names that end alike
curl -b cookies.txt -c cookies.txt https://shop.lan
curl -b 'theme=dark; lang=de' https://shop.lan
BYPASS=Brook5Tulip
COMPASS: Qmc5883-GY271
apt install sshpass=1.09-1
CACHE_KEY=¦10b98440007f515a97723e4bc74da237
NEXT_PUBLIC_MAP_KEY=¦10b98440007f515a97723e4bc74da237
IDEMPOTENCY_KEY=¦q8Lm2nV0xTzR5yWbK7cJdH1fP3
GPG_KEY=¦E3FF2839C048B25C084DEBE9B26995E310250568
client.login("ann", "read only mode here")
The GPG passphrase is asked for twice – use the agent.
Backup codes are in the safe. The next release: 10091-4c83e
# pins of boards, postal codes, telephones
PIN 13 of the board drives the LED, pin D4 the door sensor.
The SIM card board uses pin 1024
Card PIN 2024 edition
PIN code of the Bengaluru office is 560001, for the courier form.
Delivery address: Gate 3, Indiranagar, PIN code: 560038, phone 080 2222
Office: Gate 3, Indiranagar, Bengaluru PIN 560038
Wi-Fi password lost; the number of the support is 0800 330 1000
WLAN-Störung melden: 0441 9038 2265
Den WLAN-Schlüssel hat der Hausmeister 0441 9038 2265
Wi-Fi key: ask at the front desk, 0441 9038 2265
# words about words, digests of secrets
parola_chiave: agriturismo2024
clave_primaria: idCliente2
senha_hash=Brook5Tulip
checksum/secret: ¦9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
# names, numbers and products near words for secrets
The password policy is now NIST800-63b.
The user is anna1992, she has forgotten her password.
The login service is now Keycloak24, not Firefox-128esr.
The Wifi network of the hotel is Halibut_Guest9.
Trace id ¦4bF9aQ2xLm7TzR1vYp8KcN3d shows the login took 4 s.
The file opens with LibreOffice7.
The serial number of the lock is 2958E.
The gate opens at 0730 and closes at 1900.
Enter 4471 rows of test data into the alarm table.
checksum/secret-key: ¦9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"""


def lines(table: str) -> list[str]:
    """The notes of a table, without its comments."""
    notes = [line.replace("\\n", "\n") for line in table.strip().split("\n") if not line.startswith("# ")]
    return [note.replace("¦", "") for note in notes]


@pytest.mark.parametrize("note", lines(HELD))
def test_a_secret_is_masked(note: str) -> None:
    secret = note[note.index("«") + 1 : note.index("»")]
    masked, found = mask(note.replace("«", "").replace("»", ""))
    assert secret not in masked
    assert len(found) == 1


@pytest.mark.parametrize("note", lines(HONEST))
def test_an_honest_note_stays(note: str) -> None:
    assert mask(note) == (note, [])
