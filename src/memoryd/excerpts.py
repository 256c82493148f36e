from dataclasses import dataclass
from memoryd.text import extract, estimate_tokens
@dataclass
class Excerpt:
    text: str
    left_out: int
def excerpt(text, tokens, about, best=None):
    t = extract(text, about, tokens, tokens)
    return Excerpt(t, max(0, estimate_tokens(text) - estimate_tokens(t)) if t != text else 0)
