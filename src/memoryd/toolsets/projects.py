"""Seed b's project tools: create, switch between, archive, restore and delete workspaces."""

from typing import Annotated

from pydantic import Field, StringConstraints

from memoryd.core.base.results import WholeList
from memoryd.core.workspaces import view
from memoryd.core.workspaces.registry import DESCRIPTION_LENGTH, NAME_LENGTH, StatusFilter
from memoryd.core.workspaces.view import ChangedProject, CurrentProject, Project
from memoryd.errors import InvalidInputError
from memoryd.toolsets.registry import Call, Toolset

ProjectName = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH)]
ProjectDescription = Annotated[str, StringConstraints(max_length=DESCRIPTION_LENGTH)]

TOOLS = Toolset(needs="nothing")


@TOOLS.tool("List projects", "read")
def list_projects(
    call: Call, *, status: Annotated[StatusFilter, Field(description="Filter projects by status.")] = "active"
) -> WholeList[Project]:
    """List projects, active ones unless another status is asked for."""
    return {"result": list(map(view.project, call.engine.workspaces.all(status)))}


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
    return view.project(created)


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
    return view.changed(call.engine.sessions.switch(call.session, name), "Switched to project {}.")


@TOOLS.tool("Current project", "read")
def get_current_project(call: Call) -> CurrentProject:
    """Tell which project is active in this session, if any."""
    return view.current(call.engine.sessions.active(call.session))


@TOOLS.tool("Archive a project", "write")
def archive_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the project to archive.")]
) -> ChangedProject:
    """Set a project aside. It keeps its content and cannot be used until restore_project."""
    return view.changed(call.engine.workspaces.archive(name), "Project {} archived.")


@TOOLS.tool("Restore a project", "write")
def restore_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the archived project to restore.")]
) -> Project:
    """Bring an archived project back; switch_project then makes it the active one."""
    return view.project(call.engine.workspaces.restore(name))


@TOOLS.tool("Delete a project", "write", destructive=True)
def delete_project(
    call: Call, *, name: Annotated[ProjectName, Field(description="Name of the project to permanently delete.")]
) -> ChangedProject:
    """Permanently delete a project, active or archived, and its content. This cannot be undone."""
    return view.changed(call.engine.workspaces.delete(name), "Project {} permanently deleted.")
