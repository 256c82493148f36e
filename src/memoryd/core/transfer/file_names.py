"""File names that every system accepts, made from arbitrary names and texts."""

import re
import unicodedata

from memoryd.hidden import shown

LENGTH = 80  # characters of a name; with its folders and its suffix it stays below every system's limit in bytes
_FORBIDDEN = re.compile(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\x7f-\x9f]+')
_BLANKS = re.compile(r"\s+")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|(?:com|lpt)[\d¹²³]|con(?:in|out)\$)(?:\..*)?", re.IGNORECASE)
_BYTES = 180  # of UTF-8: a name may have 255, including what is added to it


def readable(text: str) -> str:
    """Return a text as a file name: NFC, without characters that a system or a link forbids, or that are invisible."""
    name = shown(unicodedata.normalize("NFC", text[: 4 * LENGTH]))
    name = _BLANKS.sub(" ", _FORBIDDEN.sub(" ", name)).strip(" .")[:LENGTH].strip(" .")
    name = name.encode()[:_BYTES].decode(errors="ignore").strip(" .")
    return f"_{name}" if not name or _DEVICES.fullmatch(name) else name
