"""Seed b's project tools: create, switch between, archive, restore and delete workspaces."""

from typing import Annotated

from pydantic import Field, StringConstraints

from memoryd.core.workspaces import view
from memoryd.core.workspaces.registry import DESCRIPTION_LENGTH, NAME_LENGTH, StatusFilter
from memoryd.core.workspaces.view import ChangedProject, CurrentProject, Project, ProjectList
from memoryd.errors import InvalidInputError
from memoryd.toolsets.registry import Answer, Arguments, Call, NoArguments, Tool, Toolset

ProjectName = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH)]
ProjectDescription = Annotated[str, StringConstraints(max_length=DESCRIPTION_LENGTH)]


# listing -------------------------------------------------------------------------------------------------------------


class ListProjectsArguments(Arguments):
    """The status of the projects to list."""

    status: Annotated[StatusFilter, Field(description="Filter projects by status.")] = "active"


def _list(call: Call, arguments: ListProjectsArguments) -> Answer[ProjectList]:
    return Answer(view.listed(call.engine.workspaces.all(arguments.status)))


def _current(call: Call, _: NoArguments) -> Answer[CurrentProject]:
    return Answer(view.current(call.engine.sessions.active(call.session)))


# choosing and changing -----------------------------------------------------------------------------------------------


class CreateProjectArguments(Arguments):
    """The project to create."""

    name: Annotated[
        ProjectName, Field(description="Unique name: 1 to 100 letters, digits, - _ and ., e.g. website-relaunch.")
    ]
    description: Annotated[ProjectDescription, Field(description="What the project is about.")] = ""


class SwitchProjectArguments(Arguments):
    """The project to switch to."""

    name: Annotated[ProjectName, Field(description="Name of the project to switch to.")]


class ArchiveProjectArguments(Arguments):
    """The project to archive."""

    name: Annotated[ProjectName, Field(description="Name of the project to archive.")]


class RestoreProjectArguments(Arguments):
    """The project to restore."""

    name: Annotated[ProjectName, Field(description="Name of the archived project to restore.")]


class DeleteProjectArguments(Arguments):
    """The project to delete."""

    name: Annotated[ProjectName, Field(description="Name of the project to permanently delete.")]


def _create(call: Call, arguments: CreateProjectArguments) -> Answer[Project]:
    """Create a project; b: it becomes the active one, if the caller has a session."""
    created = call.engine.workspaces.create(arguments.name, arguments.description)
    return Answer(view.project(call.engine.sessions.switch(call.session, created.name) if call.session else created))


def _switch(call: Call, arguments: SwitchProjectArguments) -> Answer[ChangedProject]:
    """Make a project the active one; b: per session, never for all clients."""
    if not call.session:
        raise InvalidInputError(
            "This request belongs to no session that could have an active project. Name the session in _meta "
            "(memoryd/session) or, over plain HTTP, in the header X-Memory-Session, connect with a handshake, or name "
            "the project in the header X-Memory-Workspace."
        )
    return Answer(view.changed(call.engine.sessions.switch(call.session, arguments.name), "Switched to project {}."))


def _archive(call: Call, arguments: ArchiveProjectArguments) -> Answer[ChangedProject]:
    return Answer(view.changed(call.engine.workspaces.archive(arguments.name), "Project {} archived."))


def _restore(call: Call, arguments: RestoreProjectArguments) -> Answer[Project]:
    return Answer(view.project(call.engine.workspaces.restore(arguments.name)))


def _delete(call: Call, arguments: DeleteProjectArguments) -> Answer[ChangedProject]:
    return Answer(view.changed(call.engine.workspaces.delete(arguments.name), "Project {} permanently deleted."))


TOOLS: Toolset = (
    Tool(
        name="list_projects", title="List projects",
        description="List projects, active ones unless another status is asked for.",
        arguments=ListProjectsArguments, result=ProjectList, capability="read", handler=_list, needs="nothing",
    ),
    Tool(
        name="create_project", title="Create a project",
        description="Create a project with its own memory, and switch to it.",
        arguments=CreateProjectArguments, result=Project, capability="write", handler=_create, needs="nothing",
    ),
    Tool(
        name="switch_project", title="Switch to a project",
        description="Make a project the active one of this session: the other tools work in it from now on.",
        arguments=SwitchProjectArguments, result=ChangedProject, capability="read", handler=_switch, needs="nothing",
    ),
    Tool(
        name="get_current_project", title="Current project",
        description="Tell which project is active in this session, if any.",
        arguments=NoArguments, result=CurrentProject, capability="read", handler=_current, needs="nothing",
    ),
    Tool(
        name="archive_project", title="Archive a project",
        description="Set a project aside. It keeps its content and cannot be used until restore_project.",
        arguments=ArchiveProjectArguments, result=ChangedProject, capability="write", handler=_archive, needs="nothing",
    ),
    Tool(
        name="restore_project", title="Restore a project",
        description="Bring an archived project back; switch_project then makes it the active one.",
        arguments=RestoreProjectArguments, result=Project, capability="write", handler=_restore, needs="nothing",
    ),
    Tool(
        name="delete_project", title="Delete a project",
        description="Permanently delete a project, active or archived, and its content. This cannot be undone.",
        arguments=DeleteProjectArguments, result=ChangedProject, capability="write", handler=_delete, needs="nothing",
        destructive=True,
    ),
)  # fmt: skip
