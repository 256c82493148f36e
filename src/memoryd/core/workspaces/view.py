"""What the tools for projects answer: b's JSON of workspaces."""

from collections.abc import Iterable

from typing_extensions import TypedDict

from memoryd.model import Workspace, WorkspaceStatus

NONE_ACTIVE = "No project is currently active. Use switch_project to select one."


class Project(TypedDict):
    """A workspace as a project of b."""

    id: str
    name: str
    description: str
    status: WorkspaceStatus
    created_at: str
    updated_at: str


class ProjectList(TypedDict):
    """Projects, by name."""

    result: list[Project]


class ChangedProject(TypedDict):
    """A project, and what was done to it."""

    project: Project
    message: str


class CurrentProject(TypedDict):
    """The active project, if any."""

    project: Project | None
    message: str


def project(workspace: Workspace) -> Project:
    """Return a workspace as b shows it."""
    return {
        "id": workspace.id, "name": workspace.name, "description": workspace.description, "status": workspace.status,
        "created_at": workspace.created_at, "updated_at": workspace.updated_at,
    }  # fmt: skip


def listed(workspaces: Iterable[Workspace]) -> ProjectList:
    """Return several workspaces in their order."""
    return {"result": list(map(project, workspaces))}


def changed(workspace: Workspace, message: str) -> ChangedProject:
    """Return a workspace and what was done to it; `message` names it as {}."""
    return {"project": project(workspace), "message": message.format(f'"{workspace.name}"')}


def current(active: Workspace | None) -> CurrentProject:
    """Return the active workspace; None says how to choose one."""
    if active is None:
        return {"project": None, "message": NONE_ACTIVE}
    return {"project": project(active), "message": f'Project "{active.name}" is active.'}
