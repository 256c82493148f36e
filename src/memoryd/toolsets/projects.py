"""Seed b's project tools: create, switch between, archive, restore and delete workspaces."""

from typing import Annotated, cast

from pydantic import Field, StringConstraints
from typing_extensions import TypedDict

from memoryd.core.base.results import WholeList
from memoryd.core.workspaces.registry import DESCRIPTION_LENGTH, NAME_LENGTH, StatusFilter
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace, WorkspaceStatus
from memoryd.toolsets.registry import Call, Toolset

ProjectName = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH)]
ProjectDescription = Annotated[str, StringConstraints(max_length=DESCRIPTION_LENGTH)]

TOOLS = Toolset(needs="nothing")
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


@TOOLS.tool("List projects", "read")
def list_projects(
    call: Call, *, status: Annotated[StatusFilter, Field(description="Filter projects by status.")] = "active"
) -> WholeList[Project]:
    """List projects, active ones unless another status is asked for."""
    return {"result": list(map(project, call.engine.workspaces.all(status)))}


@TOOLS.tool("Create a project", "write")
def create_project(
    call: Call,
    *,
    name: Annotated[
        ProjectName, Field(description="Unique name: 1 to 100 letters, digits, - _ and ., e.g. website-relaunch.")
    ],
    description: Annotated[ProjectDescription, Field(description="What the project is about.")] = "",
) -> Project:
    """Create a project with its own memory, and switch to it."""
    created = call.engine.workspaces.create(name, description)
    if call.session:  # b: it becomes the active one
        created = call.engine.sessions.switch(call.session, created.name)
    return project(created)


@TOOLS.tool("Switch to a project", "read")
def switch_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the project to switch to.")]
) -> ChangedProject:
    """Make a project the active one of this session: the other tools work in it from now on."""
    if not call.session:  # b: per session, never for all clients
        raise InvalidInputError(
            "This request belongs to no session that could have an active project. Name the session in _meta "
            "(memoryd/session) or, over plain HTTP, in the header X-Memory-Session, connect with a handshake, or name "
            "the project in the header X-Memory-Workspace."
        )
    return changed(call.engine.sessions.switch(call.session, name), "Switched to project {}.")


@TOOLS.tool("Current project", "read")
def get_current_project(call: Call) -> CurrentProject:
    """Tell which project is active in this session, if any."""
    return current(call.engine.sessions.active(call.session))


@TOOLS.tool("Archive a project", "write")
def archive_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the project to archive.")]
) -> ChangedProject:
    """Set a project aside. It keeps its content and cannot be used until restore_project."""
    return changed(call.engine.workspaces.archive(name), "Project {} archived.")


@TOOLS.tool("Restore a project", "write")
def restore_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the archived project to restore.")]
) -> Project:
    """Bring an archived project back; switch_project then makes it the active one."""
    return project(call.engine.workspaces.restore(name))


@TOOLS.tool("Delete a project", "write", destructive=True)
def delete_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the project to permanently delete.")]
) -> ChangedProject:
    """Permanently delete a project, active or archived, and its content. This cannot be undone."""
    return changed(call.engine.workspaces.delete(name), "Project {} permanently deleted.")
