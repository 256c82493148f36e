"""The settings, from the environment and the command line, as one frozen object."""

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasGenerator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from memoryd import environment
from memoryd.errors import InvalidInputError
from memoryd.origin import address, as_origin
from memoryd.text import unstorable

DEFAULT_WORKSPACE = "default"
AUTO = "auto"
"""The name that means the workspace of the project."""
SESSION_LENGTH = 200
URLS = frozenset({"chroma_url", "llm_base_url", "ollama_host", "openai_base_url"})  # they may contain a password
SHOWN = 100  # characters of a wrong value that are repeated in an error


CLIENT_SESSIONS = {"claude-code": "claude_code_session"}
"""The field with the session that a client passes to the servers it starts, by the client's name for itself.

The variable alone proves nothing, because everything that an agent starts in its shell, such as another client,
inherits it. Codex sets CODEX_THREAD_ID for its shell but not for its servers, and names the session in each call; no
other client's variable is known.
"""


# the types of settings that are parsed from a text, and a user's data directory ---------------------------------------

TOOLSETS = ("recall", "vault", "projects", "graph", "journal")
"""The names of all toolsets. A wrong one is an error of the settings, before a service or a client starts with it."""

NO_HOME = "This user has no home directory, or HOME is no absolute path."

NO_FILE = r":memory:|[A-Za-z][A-Za-z0-9+.-]+:"
"""A database in memory, or a URL as in SQLite and SQLAlchemy; C: is a drive."""


def _words(value: object) -> object:
    """Split `a, b c` into `("a", "b", "c")`."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


def _toolsets(names: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in (*TOOLSETS, "all")]
    if unknown or not names:
        raise ValueError(f"Unknown toolset {', '.join(unknown) or '(none)'}. There are: {', '.join(TOOLSETS)}, all.")
    return names


def _path(value: object) -> object:
    if isinstance(value, str) and re.match(NO_FILE, value):
        raise ValueError("it names no file on a disk. Give a path; for a file with such a name begin it with `./`.")
    try:
        return Path(value).expanduser().absolute() if isinstance(value, str) and value else value or None
    except RuntimeError as error:
        raise ValueError(f"{error} Give the full path of the directory.") from None


def as_path(given: str) -> Path:
    """Return the absolute path of a given place. Raise InvalidInputError."""
    try:
        return _AS_PATH.validate_python(given)
    except ValidationError as error:
        raise InvalidInputError(f"{given!r}: {error.errors()[0]['ctx']['error']}") from None


def user_data() -> Path:
    """Return the directory of this user's data. Raise InvalidInputError without a home."""
    if sys.platform == "win32":
        return platformdirs.user_data_path("memoryd", appauthor=False)
    if found := environment.user_data(environment.current()):
        return Path(found)
    raise InvalidInputError(f"{NO_HOME} Set HOME, or MEMORY_DATA_DIR and MEMORY_MODEL_DIR.")


def demand_home() -> None:
    """Raise InvalidInputError for a user without a home; platformdirs would use the account's, or fail."""
    if sys.platform != "win32" and not environment.home(environment.current()):
        raise InvalidInputError(f"{NO_HOME} Set HOME.")


WordList = Annotated[tuple[str, ...], BeforeValidator(_words)]
ToolsetNames = Annotated[WordList, AfterValidator(_toolsets)]
GivenPath = Annotated[Path, BeforeValidator(_path)]
FilePath = Annotated[Path | None, BeforeValidator(_path)]

_AS_PATH = TypeAdapter(GivenPath)


# the settings ---------------------------------------------------------------------------------------------------------


class Settings(BaseModel):
    """All settings. The environment variable of `x_y` is MEMORY_X_Y, unless the field names others.

    Of several variables of a field, the first one that is set counts.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        alias_generator=AliasGenerator(validation_alias=lambda name: AliasChoices(f"MEMORY_{name.upper()}")),
    )

    data_dir: GivenPath = Field(default_factory=user_data, validate_default=True)
    """The directory of the databases."""
    db_path: FilePath = Field(None, validation_alias=AliasChoices("MEMORY_DB_PATH", "MEMORY_MCP_DB_PATH"))
    """One file for everything except the models, instead of the database files in the data directory."""
    database_url: str | None = Field(None, repr=False)
    """A Postgres database with pgvector, `postgresql://...`, instead of SQLite files; never shown.
    `postgresql:managed`: a server that memoryd itself runs in the data directory."""
    workspace: str = Field(
        DEFAULT_WORKSPACE, min_length=1, validation_alias=AliasChoices("MEMORY_NAMESPACE", "MEMORY_WORKSPACE")
    )
    """The workspace: a separate memory in the same database, created on first use. `auto`: that of the
    [project](projects.md#the-workspace-of-a-directory)."""
    project_dir: FilePath = Field(None, validation_alias=AliasChoices("MEMORY_PROJECT_DIR", "CLAUDE_PROJECT_DIR"))
    """The directory whose project `auto` means; Claude Code sets the second one. If unset, the directory in which a
    hook runs, or in which the client has started memoryd."""
    toolsets: ToolsetNames = ("recall",)
    """The toolsets to offer, separated by commas or blanks; `all`: all of them."""
    read_only: bool = False
    """Offer only tools that change nothing."""
    transport: Literal["stdio", "http"] = "stdio"
    """`stdio`: one client on stdin and stdout; `http`: many over HTTP."""
    host: str = "127.0.0.1"
    """The address on which HTTP is served; for other machines only with [tokens](http.md#tokens)."""
    port: int = Field(8765, ge=0, le=65_535)
    """The port of HTTP; `0`: any free port."""
    allowed_hosts: WordList = ()
    """Host names that clients may use over HTTP besides the host itself, such as `memory.example.org`; web pages
    from these hosts may call the server too."""
    public_url: str | None = None
    """The address by which clients reach this server, such as `https://memory.example.org`: with it they can [log
    in](remote.md), and every request needs a token or a login."""
    login: Literal["password", "oidc", "jwt"] = "password"
    """How people [log in](remote.md#a-team-with-an-identity-provider): `password`; `oidc`: at an identity provider;
    `jwt`: clients bring its tokens."""
    login_documents: bool = True
    """Whether clients may name themselves by the address of a document, which this server fetches; `off`, where it
    does not reach the internet, makes them register."""
    oidc_issuer: str | None = Field(None, pattern=r"^(https://|http://(127\.0\.0\.1|localhost|\[::1\])[:/])")
    """The issuer of the identity provider, `https://...`."""
    oidc_client_id: str | None = None
    """The name under which the provider knows this server."""
    oidc_client_secret: str | None = Field(None, repr=False)
    """The secret of this server at the provider; never shown."""
    oidc_groups: str = "groups"
    """The claim in which the provider names the groups of a person."""
    login_rules: str | None = None
    """What the provider's people may grant: [rules](remote.md#a-team-with-an-identity-provider), of which the first
    matching one counts."""
    http_sessions: bool = True
    """Whether a client with a handshake gets a session (`Mcp-Session-Id`), which lives in one process; `false`:
    none, so that [any process](scale.md#behind-a-proxy) may answer."""
    rate_limit: str = "6000/minute"
    """The limit of HTTP requests for each token, and of attempts without a valid token for each address; `none`: no
    limit."""
    hooks: bool = True
    """Whether [hooks](hooks.md) do anything; `off` in the environment of a client silences them for its session, as
    for agents that run without people."""
    service: bool = True
    """Whether the clients of a memory share one [service](operations.md#the-service) over stdio; `false`: each
    client has its own server."""
    service_idle: float = Field(60, gt=0, le=7 * 86_400)
    """Seconds after its last client disconnects until the service ends."""
    call_timeout: float = Field(120, gt=0)
    """Seconds after which a call is answered with an error."""
    session_id: str | None = Field(
        None, max_length=SESSION_LENGTH, validation_alias=AliasChoices("MEMORY_MCP_SESSION_ID")
    )
    """The session of clients that name none; if unset, each client over stdio gets a random one."""
    claude_code_session: str | None = Field(None, validation_alias=AliasChoices("CLAUDE_CODE_SESSION_ID"))
    """Set by Claude Code, not by you: its [session](clients.md#session-ids), used over stdio if
    `MEMORY_MCP_SESSION_ID` is not set."""
    session_persist: bool = Field(False, validation_alias=AliasChoices("MEMORY_MCP_SESSION_PERSIST"))
    """`true` keeps the memories of a session after its end."""
    embedding_dim: int = Field(1536, ge=1, le=16_000, validation_alias=AliasChoices("MEMORY_MCP_EMBEDDING_DIM"))
    """The dimension of the embeddings that callers of the vault provide, 1 to 16,000."""
    journal_store: Literal["records", "chroma"] = "records"
    """Where the journal is stored: `records`, in the database with everything else; `chroma`, in ChromaDB."""
    chroma_url: str | None = Field(None, pattern=r"^https?://")
    """The ChromaDB server of the journal, `http://host:port`; if unset, memoryd runs one in the data directory."""
    embedder: str = Field("bundled", validation_alias=AliasChoices("MEMORY_EMBEDDER", "MEMORY_EMBEDDING_MODEL"))
    """The embedding model: `bundled`, `fastembed:NAME`, `ollama:NAME`, `openai:NAME`, `OWNER/NAME` or `none`."""
    embedding_dtype: str | None = None
    """The precision of a fastembed model: `q8`, `fp16` or `fp32`; if unset, the model's default."""
    reranker: str = Field("bundled", validation_alias=AliasChoices("MEMORY_RERANKER", "MEMORY_RERANKER_MODEL"))
    """The model that reranks the best hits: `bundled`, `fastembed:NAME`, `OWNER/NAME`, or `none`."""
    reranker_enabled: bool = True
    """`false` disables the reranker, whichever is configured."""
    model_dir: FilePath = None
    """The directory of the model files; if unset, one for each user, shared by all data directories."""
    languages: Literal["all", "english"] = Field("all", validation_alias=AliasChoices("MEMORY_MODELS"))
    """`english`: no text is embedded by the multilingual model, which is then never fetched."""
    model_runs: int = Field(2, ge=1, le=64)
    """Number of texts that local models read at the same time, 1 to 64: each takes a core and memory."""
    token_budget: int = Field(500, ge=1, le=50_000, validation_alias=AliasChoices("MEMORY_DEFAULT_TOKEN_BUDGET"))
    """The token budget of a memory_recall without one, 1 to 50,000."""
    maintenance_interval: int = Field(50, ge=0)
    """Number of stored memories after which maintenance runs; `0`: only `memoryd maintain` runs it."""
    decay_threshold: float = Field(0.05, ge=0, le=1)
    """The vitality below which a memory has decayed, 0 to 1."""
    compaction_min_group: int = Field(10, ge=2)
    """Minimum number of decayed memories to compact them, if there is a language model."""
    consolidation_batch_size: int = Field(50, ge=1, le=1_000)
    """Number of memories that are consolidated at once, 1 to 1,000."""
    durability: Literal["full", "normal"] = "full"
    """`full`: a write survives a power failure. `normal`: it survives kill -9; faster for one caller."""
    secrets: Literal["mask", "refuse", "allow"] = "mask"
    """What happens to [secrets](security.md#secrets) in a text to be stored: `mask` replaces them with their kind,
    `refuse` rejects the whole call, `allow` keeps them."""
    retention_days: float = Field(30, ge=0)
    """Days until a running server permanently deletes what was forgotten; `0`: immediately."""
    log_level: Literal["debug", "info", "warning", "error"] = "warning"
    """The level of the log, on stderr or in the file of a service: `debug`, `info`, `warning` or `error`."""
    llm_api_key: str | None = Field(None, repr=False)
    """The API key of the language model; never shown."""
    llm_base_url: str | None = Field(None, pattern=r"^https?://")
    """The address of a language model that speaks OpenAI's protocol, e.g. `http://localhost:11434/v1`. With neither
    an address nor a key nothing is sent anywhere."""
    llm_model: str = Field("claude-haiku-4-5-20251001", min_length=1)
    """The name of the language model at that address."""
    llm_timeout: float = Field(15, gt=0)
    """Seconds that a call waits for the language model in total; maintenance waits four times as long for each
    answer."""
    llm_tokens: int = Field(1_000_000, ge=1)
    """Maximum number of tokens sent to and received from the language model in an hour."""
    ollama_host: str = Field("http://127.0.0.1:11434", validation_alias=AliasChoices("OLLAMA_HOST"))
    """The address of the Ollama server that `ollama:` uses."""
    openai_base_url: str | None = Field(None, validation_alias=AliasChoices("OPENAI_BASE_URL"))
    """The address of the service that `openai:` uses, if it is not OpenAI's."""
    openai_api_key: str | None = Field(None, repr=False, validation_alias=AliasChoices("OPENAI_API_KEY"))
    """The API key for `openai:`; never shown."""

    @model_validator(mode="before")
    @classmethod
    def _blank_is_unset(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in values.items() if value not in ("", None)}

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        if isinstance(value, str | Path) and unstorable(str(value)):
            raise ValueError("contains a NUL or bytes that are not UTF-8. Use plain text")
        return value

    @field_validator("public_url")
    @classmethod
    def _origin(cls, value: str | None) -> str | None:
        return value and as_origin(value)

    @property
    def models(self) -> Path:
        """The directory of the model files, not a cache directory because they cannot be replaced without a network."""
        return self.model_dir or user_data() / "models"

    @property
    def reranker_spec(self) -> str:
        """The `provider:model` of the reranker; `none` if it is disabled."""
        return self.reranker if self.reranker_enabled else "none"

    @property
    def client_sessions(self) -> dict[str, str | None] | None:
        """The session of each client of CLIENT_SESSIONS; None if one session is set for all clients."""
        return None if self.session_id else {name: getattr(self, field) for name, field in CLIENT_SESSIONS.items()}

    @property
    def connection(self) -> dict[str, str]:
        """The variables by which a service gets the part of these settings that describes a connection."""
        given = ((variables(field)[0], getattr(self, field)) for field in self.model_fields_set)
        return {
            name: " ".join(value) if isinstance(value, tuple) else str(value)
            for name, value in given
            if name in environment.CONNECTION and value is not None
        }

    @classmethod
    def read(cls, environ: Mapping[str, str] | None = None, **overrides: Any) -> "Settings":
        """Return the settings of `environ` (default: the process's) with `overrides` by field name.

        Raise InvalidInputError, which names each invalid variable, its value and what is expected.
        """
        known = {name for field in cls.model_fields for name in variables(field)}
        environ = environment.current() if environ is None else environ
        values: dict[str, Any] = {name: value for name, value in environ.items() if name in known}
        for field, value in overrides.items():
            if value is not None:
                values = {k: v for k, v in values.items() if k not in variables(field)} | {field: value}
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise InvalidInputError(_explain(error)) from None


@cache
def variables(field: str) -> tuple[str, ...]:
    """Return the environment variables that set a field of Settings; the first one has precedence."""
    alias = Settings.model_fields[field].validation_alias
    assert isinstance(alias, AliasChoices)
    return tuple(str(choice) for choice in alias.choices)


def _explain(error: ValidationError) -> str:
    wrong = []
    for detail in error.errors():
        name = str(detail["loc"][0]) if detail["loc"] else "settings"
        variable = variables(name)[0] if name in Settings.model_fields else name
        wrong.append(f"{variable}{_given(name, detail['input'])}: {detail['msg'].removeprefix('Value error, ')}")
    return "Invalid settings. " + "; ".join(wrong)


def shown(field: str, value: object) -> str:
    """Return the value of a setting for messages and logs: `(set)` for a secret, host and port for a URL, on or off."""
    if not Settings.model_fields[field].repr:
        return "(set)"
    if isinstance(value, bool):
        return "on" if value else "off"
    return address(str(value)) if field in URLS else str(value)


def _given(name: str, value: object) -> str:
    """Return `=value`, shortened; '' for a secret or a URL."""
    field = next((field for field in Settings.model_fields if name in (field, *variables(field))), None)
    if field and (field in URLS or not Settings.model_fields[field].repr):
        return ""
    given = repr(str(value) if isinstance(value, Path) else value)
    return f"={given[:SHOWN]}{'...' if len(given) > SHOWN else ''}"
