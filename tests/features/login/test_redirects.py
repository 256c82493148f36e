"""Redirect URIs: which are acceptable, and which of the registered ones a request refers to."""

from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from memoryd.features.login.oauth_clients import acceptable, host_of, matching
from memoryd.loopback import is_loopback

GOOD = (
    "https://claude.ai/api/mcp/auth_callback",
    "https://chatgpt.com/connector/oauth/a1B2_c3",
    "http://127.0.0.1:33418/",
    "http://127.0.0.1:33418",
    "http://localhost:3118/callback",
    "http://[::1]:9/cb?x=1",
    "cursor://anysphere.cursor-mcp/oauth/callback",
    "com.example.app:/oauth",
    "com.example:/oauth",
    "com.googleusercontent.apps.123-abc:/oauth2redirect",
    "io.github.someone.my-editor://cb",
    "zed://oauth/callback",
    "vscode-insiders://vscode.github/did-authenticate",
    "windsurf://codeium.windsurf/oauth",
    "vscode://vscode.github/did-authenticate",
)
BAD = (
    "",
    "x",
    "/callback",
    "//evil.example/cb",
    "http://evil.example/cb",
    "http://localhost.evil.example/cb",
    "http://127.0.0.1.evil.example/cb",
    "http://127.0.0.1@evil.example/",
    "https://a@evil.example/",
    "https:///cb",
    "https://x.example/cb#part",
    "javascript:alert(1)",
    "javascript://x.example/%0aalert(1)",
    "JavaScript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "blob:https://x.example/1",
    "about:blank",
    "ms-msdt:/id",
    "search-ms://x",
    "ftp://x.example/",
    "ws://localhost/",
    "myapp:callback",
    "myapp://callback",
    "cursor:callback",
    "x-apple.systempreferences:com.apple.preference",
    "com.apple.systempreferences:x",
    "ms.search://x",
    "microsoft.windows.camera:x",
    "windows.tbauth://x",
    ".example:/x",
    *(
        f"{scheme}://evil.example/share"
        for scheme in "smb nfs afp ssh sftp telnet ldap vnc rdp steam shortcuts gopher dict feed help x-man-page mms "
        "moz-extension chrome-extension itms-services intent callto facetime slack zoommtg web+x".split()
    ),
    "https://x.example/a b",
    "https://x.example\\@evil.example/",
    "https://x.example/\r\nSet-Cookie: a=b",
    "https://x.example/\x00",
    "https://x.example/é",
    "https://x.example:port/",
    "https://x.example/%zz",
    "https://x.example/<script>",
    f"https://x.example/{'a' * 2_000}",
)
LOCAL = st.sampled_from(("127.0.0.1", "localhost", "[::1]", "127.8.8.8"))
PATHS = st.sampled_from(("", "/", "/callback", "/callback/", "/Callback", "/oauth/callback", "/a%2Fb", "/..;x=1"))
no_deadline = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
PORTS = st.one_of(st.just(""), st.integers(1, 65_535).map(lambda port: f":{port}"))


def test_uris_that_clients_use_are_acceptable() -> None:
    assert [uri for uri in GOOD if not (acceptable(uri) and matching([uri], uri))] == []


def test_uris_that_lead_elsewhere_are_refused() -> None:
    assert [uri for uri in BAD if acceptable(uri)] == []
    assert [uri for uri in BAD if matching([uri], uri)] == [], "also where it was registered"


@no_deadline
@given(LOCAL, PORTS, PORTS, PATHS)
def test_any_port_of_this_machine_matches(host: str, one: str, other: str, path: str) -> None:
    assert matching([f"http://{host}{one}{path}"], f"http://{host}{other}{path}")
    assert matching([f"http://{host}{one}"], f"http://{host}{other}/")


@no_deadline
@given(LOCAL, LOCAL, PORTS, PATHS, PATHS)
def test_host_and_path_must_be_equal(host: str, other: str, port: str, path: str, another: str) -> None:
    assume((host, path or "/") != (other, another or "/"))
    assert not matching([f"http://{host}{path}"], f"http://{other}{port}{another}")


@pytest.mark.slow
@no_deadline
@given(st.sampled_from(GOOD), st.text(max_size=40))
@example("https://claude.ai/api/mcp/auth_callback", ":8443")
@example("http://localhost:3118/callback", "@evil.example")
def test_only_the_port_may_differ(registered: str, more: str) -> None:
    for given_uri in (registered + more, more + registered, registered.replace("//", f"//{more}", 1)):
        if given_uri != registered and matching([registered], given_uri):
            one, other = urlsplit(registered), urlsplit(given_uri)
            assert one.scheme == other.scheme == "http"
            assert one.hostname == other.hostname
            assert is_loopback(one.hostname or "")
            assert (one.path or "/", one.query) == (other.path or "/", other.query)


@no_deadline
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_handled(registered: str, uri: str) -> None:
    if matching([registered], uri):
        assert registered == uri
    if acceptable(uri):
        assert host_of(uri)
