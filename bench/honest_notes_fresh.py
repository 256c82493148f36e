"""The honest notes for bench/secret_notes_fresh.py, which describes the placeholders."""

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
"""One note per line."""
