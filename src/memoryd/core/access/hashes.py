"""What is kept of a secret that chance made, and what PKCE shows of one."""

import base64
import hashlib
import hmac


def hashed(secret: str) -> str:
    """Return the hash of a random secret: with 256 bits of them a plain SHA-256 is sufficient."""
    return _sha256(secret).hex()


def derived(secret: str, purpose: str) -> str:
    """Return another secret, which only who has the first one can make again: nothing of it has to be kept."""
    return hmac.new(secret.encode(), purpose.encode(), hashlib.sha256).hexdigest()


def pkce_challenge(verifier: str) -> str:
    """Return the challenge of a verifier by the method S256 (RFC 7636, 4.2)."""
    return base64.urlsafe_b64encode(_sha256(verifier)).rstrip(b"=").decode()


def _sha256(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
