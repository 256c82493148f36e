"""An identity provider over HTTP on this machine: it describes itself, logs anyone in, and signs tokens."""

import base64
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, quote_plus, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, rsa

CLIENT, SECRET = "memoryd-test", "secret of memoryd-test"


class FakeProvider:
    """The behaviour that tests change: who logs in, and how the token differs from a valid one."""

    def __init__(self) -> None:
        self._first = {"one": ("RS256", rsa.generate_private_key(65_537, 2_048))}
        self.reset()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                provider.answer(self, "")

            def do_POST(self) -> None:
                provider.answer(self, self.rfile.read(int(self.headers["Content-Length"])).decode())

            def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}/realms/team"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def reset(self) -> None:
        self.who: dict[str, Any] = {"sub": "1", "email": "ann@example.org", "email_verified": True}
        self.changed: dict[str, Any] = {}
        self.more: dict[str, Any] = {}
        """The claims that only the userinfo endpoint returns."""
        self.methods: list[str] | None = ["client_secret_post", "client_secret_basic"]
        """The ways in which clients may send their secrets; None: the default, `client_secret_basic`."""
        self.fetches: list[str] = []
        self.away = False
        self._asked: dict[str, dict[str, str]] = {}
        self.keys: dict[str, tuple[str, Any]] = dict(self._first)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def rotate(self, kid: str, algorithm: str) -> None:
        rs = algorithm == "RS256"
        key = rsa.generate_private_key(65_537, 2_048) if rs else ec.generate_private_key(ec.SECP256R1())
        self.keys = {kid: (algorithm, key)}

    def signed(self, claims: dict[str, Any], **head: Any) -> str:
        ((kid, (algorithm, key)),) = self.keys.items()
        return jwt.encode(claims, key, algorithm, {"kid": kid, **head})

    def token(self, audience: str, **changed: Any) -> str:
        """Return an access token for a resource."""
        given = {"iss": self.issuer, "aud": audience, "exp": time.time() + 600, **self.who, **changed}
        return self.signed({name: value for name, value in given.items() if value is not None})

    def answer(self, request: BaseHTTPRequestHandler, body: str) -> None:
        path, _, query = request.path.removeprefix("/realms/team").partition("?")
        self.fetches.append(path)
        form = {name: values[0] for name, values in parse_qs(body or query).items()}
        if self.away:
            request.send_error(503)
        elif path == "/authorize":
            self._asked["code"] = form
            back = {"code": "code", "state": form["state"]}
            request.send_response(302)
            request.send_header("Location", f"{form['redirect_uri']}?{urlencode(back)}")
            request.send_header("Content-Length", "0")
            request.end_headers()
        else:
            found = self._document(path, form, request)
            text = json.dumps(found).encode()
            request.send_response(200 if found else 400)
            request.send_header("Content-Length", str(len(text)))
            request.end_headers()
            request.wfile.write(text)

    def _document(self, path: str, form: dict[str, str], request: BaseHTTPRequestHandler) -> dict[str, Any]:
        match path:
            case "/.well-known/openid-configuration":
                names = {
                    "authorization_endpoint": "authorize",
                    "token_endpoint": "token",
                    "jwks_uri": "keys",
                    "userinfo_endpoint": "claims",
                }
                methods = {"token_endpoint_auth_methods_supported": self.methods} if self.methods else {}
                return methods | {"issuer": self.issuer} | {name: f"{self.issuer}/{end}" for name, end in names.items()}
            case "/keys":
                algorithms: Any = {"RS256": jwt.algorithms.RSAAlgorithm, "ES256": jwt.algorithms.ECAlgorithm}
                return {
                    "keys": [
                        json.loads(algorithms[algorithm].to_jwk(key.public_key())) | {"kid": kid, "use": "sig"}
                        for kid, (algorithm, key) in self.keys.items()
                    ]
                }
            case "/token":
                asked = self._asked.pop(form["code"], {})
                proof = base64.urlsafe_b64encode(hashlib.sha256(form["code_verifier"].encode()).digest()).rstrip(b"=")
                right = asked and self._knows_secret(form, request) and asked["code_challenge"] == proof.decode()
                if not right or asked["code_challenge_method"] != "S256":
                    return {}
                claims = {"audience": CLIENT, "nonce": asked["nonce"]} | self.changed
                return {"id_token": self.token(**claims), "access_token": "upstream"}
            case "/claims" if request.headers["Authorization"] == "Bearer upstream":
                return {"sub": self.who["sub"]} | self.more
        return {}

    def _knows_secret(self, form: dict[str, str], request: BaseHTTPRequestHandler) -> bool:
        if self.methods and "client_secret_post" in self.methods:
            return form["client_secret"] == SECRET
        pair = f"{quote_plus(CLIENT)}:{quote_plus(SECRET)}".encode()
        header = f"Basic {base64.b64encode(pair).decode()}"
        return "client_secret" not in form and request.headers["Authorization"] == header


def elsewhere(address: str) -> str:
    """Return the path and query of a URL."""
    parts = urlsplit(address)
    return f"{parts.path}?{parts.query}"
