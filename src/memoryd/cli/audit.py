"""`memoryd audit`: stored texts that a person should review."""

import json

from rich.text import Text

from memoryd.cli import show
from memoryd.cli.frame import PLACE, AsJson, command, out
from memoryd.core.admin.audit import AuditFinding, findings
from memoryd.core.engine import Engine
from memoryd.core.workspaces.registry import ARCHIVED
from memoryd.settings import Settings


@command(*PLACE)
def audit(settings: Settings, *, as_json: AsJson = False) -> None:
    """List texts that contain secrets or read like instructions to an agent, without showing the texts.

    Covers every workspace that is not archived, or only the one that --workspace names.
    """
    with Engine(settings, fetch=False) as engine:
        engine.demand_database()
        if "workspace" in settings.model_fields_set:
            chosen = [engine.workspace(make=False)]
        else:
            chosen = [workspace for workspace in engine.workspaces.all() if workspace.status != ARCHIVED]
        number = 0
        for number, finding in enumerate(findings(engine, chosen), 1):
            _print(finding, number, as_json=as_json)
    if as_json:
        out.file.write("\n]\n" if number else "[]\n")
    elif not number:
        out.print(Text("Nothing was found.", style="green"))


def _print(finding: AuditFinding, number: int, *, as_json: bool) -> None:
    """Print one finding, as soon as it is found: there may be very many."""
    if as_json:
        out.file.write((",\n" if number > 1 else "[\n") + json.dumps(finding.as_dict()))
        return
    what = f"{finding.where} {finding.predicate}" + (", deleted" if finding.deleted else "")
    show.verbatim(f"{finding.workspace}  {finding.kind} {finding.id}  {finding.created_at[:10]}  {what}")
