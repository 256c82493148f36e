"""What others install memoryd from: registry entry, bundle, image. Each says what the package says."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from memoryd import __version__
from memoryd.cli.clients.install import VARIABLE
from memoryd.settings import Settings, variables

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[1]
KNOWN = {name for field in Settings.model_fields for name in variables(field)}


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_version_is_the_packages() -> None:
    server, bundle = read("server.json"), tomllib.loads(text("mcpb/pyproject.toml"))["project"]
    assert {server["version"], *(package["version"] for package in server["packages"])} == {__version__}
    assert {read("mcpb/manifest.json")["version"], bundle["version"]} == {__version__}
    assert bundle["dependencies"] == [f"memoryd=={__version__}"]


def test_the_registry_entry_has_what_the_registry_demands() -> None:
    """The rules of the schema of 2025-12-11 that bear on the entry, and those that the registry adds."""
    server = read("server.json")
    assert server["$schema"].endswith("/2025-12-11/server.schema.json")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert 3 <= len(server["name"]) <= 200
    assert 1 <= len(server["description"]) <= 100
    assert 1 <= len(server["title"]) <= 100
    assert server.keys() <= {"$schema", "name", "title", "description", "version", "packages"}
    (package,) = server["packages"]
    assert package.keys() >= {"registryType", "identifier", "version", "transport"}
    assert (package["registryType"], package["transport"]) == ("pypi", {"type": "stdio"})
    assert f"<!-- mcp-name: {server['name']} -->" in text("README.md")
    for variable in package["environmentVariables"]:
        assert variable["name"] in KNOWN
        assert re.fullmatch(VARIABLE, variable["name"])
        assert variable.get("format", "string") in ("string", "number", "boolean", "filepath")
        assert isinstance(variable.get("isSecret", False), bool)
        assert variable.keys() <= {"name", "description", "default", "format", "isSecret"}


def test_the_package_is_the_one_of_the_registry_entry() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    (package,) = read("server.json")["packages"]
    assert package["identifier"] == project["name"]
    assert package["identifier"] in project["scripts"]  # so that `uvx NAME` starts it


def test_the_bundle_is_of_its_schema() -> None:
    manifest = read("mcpb/manifest.json")
    jsonschema.Draft7Validator(read("tests/schemas/mcpb-manifest-v0.4.schema.json")).validate(manifest)
    assert manifest["manifest_version"] == "0.4"
    assert (ROOT / "mcpb" / manifest["server"]["entry_point"]).is_file()
    configured = manifest["server"]["mcp_config"]["env"]
    assert configured.keys() <= KNOWN
    assert set(configured.values()) == {f"${{user_config.{name}}}" for name in manifest["user_config"]}


def test_the_image_is_made_of_what_is_there() -> None:
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


def test_the_services_belong_together() -> None:
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
