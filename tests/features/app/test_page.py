"""The source of the app's page: it shows data as text only, loads nothing from elsewhere, and is small."""

import re

from mcp import types

from memoryd.features.app import app as memories


def page() -> str:
    (content,) = memories.read(memories.URI).contents
    assert isinstance(content, types.TextResourceContents)
    return content.text


def test_texts_do_not_become_markup() -> None:
    unsafe = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc|\beval\(|new Function|setAttribute"
    )
    assert re.findall(unsafe, page()) == []
    markup = page().partition("<script>")[0]
    assert re.findall(r"\son\w+\s*=|javascript:|\sstyle=", markup) == []


def test_nothing_is_loaded_from_or_sent_elsewhere() -> None:
    assert (
        re.findall(r"//[\w.-]+\.\w|url\(|@import|\ssrc=|\shref=|<(?:link|img|iframe|object|base|form)\b", page()) == []
    )
    assert (
        re.findall(r"\bfetch\(|XMLHttpRequest|WebSocket|EventSource|localStorage|sessionStorage|cookie", page()) == []
    )


def test_it_is_one_small_file() -> None:
    assert len(page().encode()) < 24_000
    assert page().count("<script>") == page().count("<style>") == 1
