"""The results of the tools for projects: workspaces as JSON (b)."""

from typing import cast

from typing_extensions import TypedDict

from memoryd.model import Workspace, WorkspaceStatus

NONE_ACTIVE = "No project is currently active. Use switch_project to select one."


class Project(TypedDict):
    """A workspace, as a project (b)."""

    id: str
    name: str
    description: str
    status: WorkspaceStatus
    created_at: str
    updated_at: str


class ChangedProject(TypedDict):
    """A changed project, and a message that says what was done."""

    project: Project
    message: str


class CurrentProject(TypedDict):
    """The active project, if any."""

    project: Project | None
    message: str


def project(workspace: Workspace) -> Project:
    """Return a workspace as a project (b)."""
    return cast(Project, {name: getattr(workspace, name) for name in Project.__annotations__})


def changed(workspace: Workspace, message: str) -> ChangedProject:
    """Return a changed workspace with a message, in which its name replaces {}."""
    return {"project": project(workspace), "message": message.format(f'"{workspace.name}"')}


def current(active: Workspace | None) -> CurrentProject:
    """Return the active workspace, or if there is none, a message that says how to select one."""
    if active is None:
        return {"project": None, "message": NONE_ACTIVE}
    return {"project": project(active), "message": f'Project "{active.name}" is active.'}
