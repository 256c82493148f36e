"""Samples of foreign formats, built for a test, read and imported."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from memoryd.core.engine import Engine
from memoryd.core.transfer.restore import RestoredWorkspace
from memoryd.features.imports import intake
from memoryd.features.imports.formats.source import opened
from memoryd.features.imports.formats.table import FORMATS
from memoryd.features.imports.intake import Intake

SAMPLES = Path(__file__).parent / "samples"
NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())


def sample(name: str, folder: Path) -> Path:
    """Return a sample below a folder: its only file, or the folder with all of them. Statements become databases."""
    made = folder / name
    shutil.copytree(SAMPLES / name, made)
    for script in made.rglob("*.sql"):
        with closing(sqlite3.connect(script.with_suffix(""))) as database:
            database.executescript(f"BEGIN;{script.read_text()}COMMIT;")
        script.unlink()
    files = [path for path in made.rglob("*") if path.is_file()]
    return files[0] if len(files) == 1 else made


def bring(
    engine: Engine, path: Path, form: str = "", *include: str, by_project: bool = False
) -> tuple[Intake, list[RestoredWorkspace]]:
    """Import a source, in the recognized format unless one is named; check the counts of a rehearsal."""
    with opened(path) as source:
        found = intake.named(source, FORMATS[form]) if form else intake.recognize(source, FORMATS.values())
        ((known, part),) = found.kinds
        with intake.staged(
            engine, part, known, frozenset(include), lambda *_: None, by_project=by_project, left_out=found.beside()
        ) as read:
            counted = read.rehearse(engine, lambda *_: None)
            done = read.load(engine, lambda *_: None)
            added = {noun: sum(one.new[noun] for one in done) for noun in read.numbers}
            assert added == {noun: counted[noun] for noun in added}
            return read, done
