"""The real clients: how each is configured for the scripted model and memoryd, and prompted without a window."""

import json
import shutil
import sys
from abc import ABC, abstractmethod
from typing import ClassVar

from tests.installers import BIN, ROOT
from tests.real_clients.packages import Npm, PyPI
from tests.real_clients.place import BUILD, PROGRAMS, Place

KEY = "not-a-key"
PLUGIN = ROOT / "plugins" / "memoryd"
EXTENSION = ROOT / "plugins" / "gemini"
ALLOWED = '[[rule]]\nmcpName = "memory"\ntoolName = "*"\ndecision = "allow"\npriority = 100\n'
"""Allows Gemini CLI to call the tools without asking a person."""
MODEL = "scripted"
TERMINAL = (sys.executable, "-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))")
"""Runs a command in its own terminal."""


class Agent(ABC):
    """A client that uses a model. A subclass overrides only what its client has."""

    name: ClassVar[str]
    """Its name in `memoryd install`, if that supports it."""
    package: ClassVar[Npm | PyPI]
    configuration: ClassVar[str] = ""
    """The file below its home that `memoryd install` edits."""
    options: ClassVar[tuple[str, ...]] = ()
    """Options for `memoryd install` with which the client does not have to ask a person."""
    hooks: ClassVar[str] = ""
    """The file below its home with its hooks."""

    def variables(self, url: str) -> dict[str, str]:
        """Return additional variables: the model's address, and switches that keep the client offline."""
        return {}

    def configure(self, place: Place, url: str) -> None:  # noqa: B027 - a library has no configuration
        """Write the client's own configuration, before memoryd is installed."""

    def install(self, place: Place) -> None:
        """Add memoryd to the client's configuration."""
        place.memoryd("install", self.name, *self.options)

    def install_plugin(self, place: Place) -> bool:
        """Install the plugin of this repository as its user would; return whether the client has plugins."""
        return False

    def login(self) -> list[str]:
        """Return the command that logs in to the memory server in a browser; empty if that needs a window."""
        return []

    @abstractmethod
    def command(self, place: Place, url: str, prompt: str) -> list[str]:
        """Return the command that sends the client a prompt."""

    def binary(self, name: str) -> str:
        """Return the path of a program that its package installs."""
        return str(BUILD / self.name / "node_modules" / ".bin" / name)


class ClaudeCode(Agent):
    """Claude Code, prompted with -p."""

    name = "claude-code"
    package = Npm("@anthropic-ai/claude-code")
    configuration, hooks = ".claude.json", ".claude/settings.json"
    options = ("--always-load", "--allow-tools")

    def variables(self, url: str) -> dict[str, str]:
        return {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": KEY,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    def configure(self, place: Place, url: str) -> None:
        place.write(".claude.json", {"hasCompletedOnboarding": True})
        place.write(".claude/settings.json", {})

    def install_plugin(self, place: Place) -> bool:
        plugin = [self.binary("claude"), "plugin"]
        for path in (ROOT, PLUGIN):
            place.output([*plugin, "validate", "--strict", str(path)])
        place.output([*plugin, "marketplace", "add", str(ROOT)])
        place.output([*plugin, "install", "memoryd@memoryd"])
        settings = json.loads((place.home / self.hooks).read_text(encoding="utf-8"))
        place.write(self.hooks, settings | {"permissions": {"allow": ["mcp__plugin_memoryd_memory"]}})
        return True

    def command(self, place: Place, url: str, prompt: str) -> list[str]:
        return [self.binary("claude"), "-p", prompt]

    def login(self) -> list[str]:
        return [*TERMINAL, self.binary("claude"), "mcp", "login", "memory"]

    def compaction(self) -> list[str]:
        """Return the command that compacts its last conversation; its output names the hooks that ran."""
        return [self.binary("claude"), "-p", "/compact", "--continue", "--output-format", "stream-json", "--verbose"]


class Codex(Agent):
    """Codex, prompted with exec; since no person can trust its hooks, that check is bypassed."""

    name = "codex"
    package = Npm("@openai/codex")
    configuration, hooks = ".codex/config.toml", ".codex/hooks.json"
    options = ("--always-load",)

    def variables(self, url: str) -> dict[str, str]:
        return {"SCRIPTED_KEY": KEY}

    def configure(self, place: Place, url: str) -> None:
        place.write(
            self.configuration,
            f'model = "{MODEL}"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n\n'
            "[analytics]\nenabled = false\n\n"
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{url}/v1"\nenv_key = "SCRIPTED_KEY"\n'
            'wire_api = "responses"\n',
        )

    def install_plugin(self, place: Place) -> bool:
        plugin = [self.binary("codex"), "plugin"]
        place.output([*plugin, "marketplace", "add", str(ROOT)])
        place.output([*plugin, "add", "memoryd@memoryd"])
        return True

    def login(self) -> list[str]:
        return [self.binary("codex"), "mcp", "login", "memory"]

    def command(self, place: Place, url: str, prompt: str) -> list[str]:
        return [
            self.binary("codex"),
            "exec",
            "--skip-git-repo-check",
            "--dangerously-bypass-hook-trust",
            prompt,
        ]


class Gemini(Agent):
    """Gemini CLI, prompted with --prompt in a trusted folder."""

    name = "gemini"
    package = Npm("@google/gemini-cli")
    configuration = hooks = ".gemini/settings.json"
    options = ("--allow-tools",)

    def variables(self, url: str) -> dict[str, str]:
        return {"GEMINI_API_KEY": KEY, "GOOGLE_GEMINI_BASE_URL": url}

    def configure(self, place: Place, url: str) -> None:
        settings = {
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        }
        place.write(self.configuration, settings)
        place.write(".gemini/trustedFolders.json", {str(place.project): "TRUST_FOLDER"})

    def install_plugin(self, place: Place) -> bool:
        extension = [self.binary("gemini"), "extensions"]
        place.output([*extension, "validate", str(EXTENSION)])
        trusted = "y\n"  # the answer to whether the folder is trusted
        place.output([*extension, "install", str(EXTENSION), "--consent"], input=trusted)
        place.write(".gemini/policies/memory.toml", ALLOWED)
        return True

    def command(self, place: Place, url: str, prompt: str) -> list[str]:
        return [self.binary("gemini"), "--model", "gemini-2.5-flash", "--prompt", prompt]


class OpenCode(Agent):
    """opencode, prompted with run; it uses Chat Completions."""

    name = "opencode"
    package = Npm("opencode-ai")
    configuration = ".config/opencode/opencode.json"

    def variables(self, url: str) -> dict[str, str]:
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}

    def configure(self, place: Place, url: str) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{url}/v1", "apiKey": KEY},
            "models": {MODEL: {"tool_call": True}},
        }
        place.write(self.configuration, {"autoupdate": False, "share": "disabled", "provider": {MODEL: provider}})

    def install_plugin(self, place: Place) -> bool:
        shutil.copy(ROOT / "plugins" / "opencode" / "memoryd.js", place.made(".config/opencode/plugins"))
        place.memoryd("install", self.name, "--workspace", "auto")
        return True

    def command(self, place: Place, url: str, prompt: str) -> list[str]:
        return [self.binary("opencode"), "run", "--model", f"{MODEL}/{MODEL}", prompt]


class Library(Agent):
    """A library for agents: a program of this repository uses it as its documentation shows."""

    program: ClassVar[str]

    def command(self, place: Place, url: str, prompt: str) -> list[str]:
        python = BUILD / self.name / BIN.name / "python"
        return [str(python), str(PROGRAMS / self.program), url, prompt, str(BIN / "memoryd")]


class OpenAIAgents(Library):
    """openai-agents: it uses Responses, not streamed."""

    name = "openai-agents"
    package = PyPI(("openai-agents>=0.24,<1",))
    program = "openai_agent.py"


class LangChain(Library):
    """langchain: an agent of langgraph that uses Chat Completions."""

    name = "langchain"
    package = PyPI(("langchain-mcp-adapters>=0.3.2,<1", "langchain>=1.3,<2", "langchain-openai>=1.4,<2"))
    program = "langchain_agent.py"


class PydanticAI(Library):
    """pydantic-ai: it uses Chat Completions, not streamed."""

    name = "pydantic-ai"
    package = PyPI(("pydantic-ai-slim[mcp,openai]>=2.68,<3",))
    program = "pydantic_agent.py"


AGENTS = (ClaudeCode(), Codex(), Gemini(), OpenCode(), OpenAIAgents(), LangChain(), PydanticAI())
