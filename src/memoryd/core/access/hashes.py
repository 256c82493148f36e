"""Hashes of random secrets, and PKCE challenges."""

import base64
import hashlib
import hmac


def hashed(secret: str) -> str:
    """Return the hash of a random secret: a plain SHA-256, which is sufficient for 256 random bits."""
    return _sha256(secret).hex()


def derived(secret: str, purpose: str) -> str:
    """Return another secret that only the owner of the first can derive again, so that it need not be stored."""
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def pkce_challenge(verifier: str) -> str:
    """Return the S256 challenge of a verifier (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(_sha256(verifier)).rstrip(b"=").decode()


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
