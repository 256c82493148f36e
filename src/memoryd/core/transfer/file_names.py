"""Names of files that every system accepts, made of names and texts that may hold anything."""

import re
import unicodedata

LENGTH = 80  # characters of a name; with its folders and its suffix it stays below every system's limit in bytes
_FORBIDDEN = re.compile(r'[\\/:*?"<>|#^\[\]%\x00-\x1f\x7f-\x9f]+')
_BLANKS = re.compile(r"\s+")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
_BYTES = 180  # of UTF-8, of which a name may have 255 with what is added to it


class FileNames:
    """The names that are taken in a folder, whatever the case of their letters."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def free(self, folder: str, text: str) -> str:
        """Return a path below a folder for a text, without suffix: ` (2)` follows a name that is taken."""
        name = readable(text)
        path, number = f"{folder}/{name}", 1
        while path.casefold() in self._taken:
            number += 1
            path = f"{folder}/{name} ({number})"
        self._taken.add(path.casefold())
        return path


def readable(text: str) -> str:
    """Return a text as the name of a file: NFC, without characters that a system or a link forbids."""
    name = unicodedata.normalize("NFC", text[: 4 * LENGTH])
    name = _BLANKS.sub(" ", _FORBIDDEN.sub(" ", name)).strip(" .")[:LENGTH].strip(" .")
    name = name.encode()[:_BYTES].decode(errors="ignore").strip(" .")
    return f"_{name}" if not name or _DEVICES.fullmatch(name) else name
