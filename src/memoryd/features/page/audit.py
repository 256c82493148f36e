"""Audit: secrets, texts that read like instructions, invisible characters; part by part, with the progress."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from starlette.responses import Response

from memoryd.core.admin import audit, masking
from memoryd.core.admin.audit import AuditFinding
from memoryd.core.memories import listing
from memoryd.core.memories.listing import ListedRecord
from memoryd.features.page import answers
from memoryd.features.page.visit import View, Visit

PART = 500  # rows of a part
PLACES = {
    "versions": "an earlier text",
    "relations": "a relation",
    "memory_details": "the reason of an ending",
    "summary_details": "a summary's technologies",
    "perspectives": "a template of vectors",
    "events": "an event",
    "journal": "the journal in ChromaDB",
    "records": "a record of a session that is still open",
}
"""The content of the tables, in words."""


@dataclass(frozen=True, slots=True)
class AuditedRow:
    """A row that should be reviewed, and the reasons."""

    first: AuditFinding
    whats: Sequence[str]
    maskable: bool
    listed: ListedRecord | None
    """The record that the row is or belongs to."""

    @property
    def place(self) -> str:
        """The kind of the row, in words."""
        return PLACES[self.first.table]


def show(visit: Visit) -> Response:
    """Show the frame, which fetches the parts."""
    total = visit.kept.get(visit.scope, "audited", lambda: audit.total(visit.scope))
    return visit.page("audit.html", "audit", total=total)


def show_part(visit: Visit) -> Response:
    """Show the findings of one part, and fetch the next part."""
    looked, total = int(visit.number("looked", 0)), int(visit.number("total", 0))
    part = audit.part(visit.scope, visit.text("after"), PART)
    looked += part.looked
    any_yet = visit.text("any") == "1" or bool(part.findings)
    listed = {shown.record.id: shown for shown in listing.some(visit.scope, [found.id for found in part.findings])}
    by_row = groupby(part.findings, lambda finding: (finding.id, finding.created_at))
    return visit.fragment(
        "audited.html",
        found=[_row(list(group), listed.get(key[0])) for key, group in by_row],
        looked=looked,
        total=total,
        any_yet=any_yet,
        next=visit.address("/audit/part", after=part.after, looked=looked, total=total, any="1" if any_yet else "")
        if part.after
        else "",
    )


def _row(findings: Sequence[AuditFinding], listed: ListedRecord | None) -> AuditedRow:
    reasons = list(dict.fromkeys(finding.what for finding in findings))
    return AuditedRow(findings[0], reasons, any(map(masking.can, findings)), listed)


def mask(visit: Visit) -> Response:
    """Mask the secrets of a row in place. The earlier text stays a version until that is also masked or purged."""
    table = visit.text("table", "records")
    done = masking.mask(visit.scope, table, visit.id, visit.text("at"))
    if table != "records":
        return answers.done(visit, "Masked.", ids=done.ids)
    text = "Masked. The text with the secret is still a version of it: mask that below, or delete it permanently."
    return answers.done(visit, text, {"ids": list(done.ids), "at": done.at}, done.ids)


VIEWS = (View("/audit", show), View("/audit/part", show_part), View("/m/{id}/mask", mask, "POST", "correct"))
