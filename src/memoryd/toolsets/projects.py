"""Seed b's project tools: workspaces that a session creates, switches between, archives, restores and deletes."""

from dataclasses import asdict
from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from memoryd.core.workspaces import registry
from memoryd.core.workspaces.registry import DESCRIPTION_LENGTH, NAME_LENGTH
from memoryd.errors import InvalidInputError
from memoryd.model import Workspace
from memoryd.toolsets.registry import Answer, Arguments, Call, NoArguments, Result, Tool, Toolset

Status = Literal["active", "archived"]
Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME_LENGTH)]
Description = Annotated[str, StringConstraints(max_length=DESCRIPTION_LENGTH)]

NONE_ACTIVE = "No project is currently active. Use switch_project to select one."


class Project(Result):
    """A project, as b gives it."""

    id: str
    name: str
    description: str
    status: Status
    created_at: str
    updated_at: str


class Confirmation(Result):
    """What was done to a project."""

    project: Project
    message: str


# looking -------------------------------------------------------------------------------------------------------------


class ListArguments(Arguments):
    """Which projects."""

    status: Annotated[registry.WorkspaceStatus, Field(description="Filter projects by status.")] = "active"


class Projects(Result):
    """Projects, by name."""

    result: list[Project]


class CurrentProject(Result):
    """The active project, if any."""

    project: Project | None
    message: str


def list_projects(call: Call, arguments: ListArguments) -> Answer:
    """list_projects."""
    return Answer(Projects(result=[_project(found) for found in call.engine.workspaces.all(arguments.status)]))


def get_current_project(call: Call, _: NoArguments) -> Answer:
    """get_current_project."""
    active = call.engine.sessions.active(call.session)
    if active is None:
        return Answer(CurrentProject(project=None, message=NONE_ACTIVE))
    return Answer(CurrentProject(project=_project(active), message=f'Project "{active.name}" is active.'))


# choosing and changing -----------------------------------------------------------------------------------------------


class CreateArguments(Arguments):
    """A new project."""

    name: Annotated[Name, Field(description="Unique name: 1 to 100 letters, digits, - _ and ., e.g. website-relaunch.")]
    description: Annotated[Description, Field(description="What the project is about.")] = ""


class SwitchArguments(Arguments):
    """Which project."""

    name: Annotated[Name, Field(description="Name of the project to switch to.")]


class ArchiveArguments(Arguments):
    """Which project."""

    name: Annotated[Name, Field(description="Name of the project to archive.")]


class RestoreArguments(Arguments):
    """Which project."""

    name: Annotated[Name, Field(description="Name of the archived project to restore.")]


class DeleteArguments(Arguments):
    """Which project."""

    name: Annotated[Name, Field(description="Name of the project to permanently delete.")]


def create_project(call: Call, arguments: CreateArguments) -> Answer:
    """create_project. b: it becomes the active one, where the caller has a session."""
    created = call.engine.workspaces.create(arguments.name, arguments.description)
    return Answer(_project(call.engine.sessions.switch(call.session, created.name) if call.session else created))


def switch_project(call: Call, arguments: SwitchArguments) -> Answer:
    """switch_project. b: one active project for each session, never one for all clients."""
    if not call.session:
        raise InvalidInputError(
            "This request belongs to no session that could have an active project. Name the session in _meta "
            "(memoryd/session), connect with a handshake, or name the project in the header X-Memory-Workspace."
        )
    chosen = call.engine.sessions.switch(call.session, arguments.name)
    return _confirmed(chosen, f'Switched to project "{chosen.name}".')


def archive_project(call: Call, arguments: ArchiveArguments) -> Answer:
    """archive_project."""
    archived = call.engine.workspaces.archive(arguments.name)
    return _confirmed(archived, f'Project "{archived.name}" archived.')


def restore_project(call: Call, arguments: RestoreArguments) -> Answer:
    """restore_project."""
    return Answer(_project(call.engine.workspaces.restore(arguments.name)))


def delete_project(call: Call, arguments: DeleteArguments) -> Answer:
    """delete_project."""
    deleted = call.engine.workspaces.delete(arguments.name)
    return _confirmed(deleted, f'Project "{deleted.name}" permanently deleted.')


def _confirmed(workspace: Workspace, message: str) -> Answer:
    return Answer(Confirmation(project=_project(workspace), message=message))


def _project(workspace: Workspace) -> Project:
    return Project.model_validate(asdict(workspace))


TOOLS: Toolset = (
    Tool(
        name="list_projects", title="List projects",
        description="List projects, active ones unless another status is asked for.",
        arguments=ListArguments, result=Projects, capability="read", handler=list_projects, needs="nothing",
    ),
    Tool(
        name="create_project", title="Create a project",
        description="Create a project with a memory of its own, and switch to it.",
        arguments=CreateArguments, result=Project, capability="write", handler=create_project, needs="nothing",
    ),
    Tool(
        name="switch_project", title="Switch to a project",
        description="Make a project the active one of this session: the other tools work in it from now on.",
        arguments=SwitchArguments, result=Confirmation, capability="read", handler=switch_project, needs="nothing",
    ),
    Tool(
        name="get_current_project", title="Current project",
        description="Tell which project is active in this session, if any.",
        arguments=NoArguments, result=CurrentProject, capability="read", handler=get_current_project, needs="nothing",
    ),
    Tool(
        name="archive_project", title="Archive a project",
        description="Set a project aside. It keeps all that it holds and cannot be used until restore_project.",
        arguments=ArchiveArguments, result=Confirmation, capability="write", handler=archive_project, needs="nothing",
    ),
    Tool(
        name="restore_project", title="Restore a project",
        description="Bring an archived project back; switch_project then makes it the active one.",
        arguments=RestoreArguments, result=Project, capability="write", handler=restore_project, needs="nothing",
    ),
    Tool(
        name="delete_project", title="Delete a project",
        description="Permanently delete a project, active or archived, and all that it holds. This cannot be undone.",
        arguments=DeleteArguments, result=Confirmation, capability="write", handler=delete_project, needs="nothing",
        destructive=True,
    ),
)  # fmt: skip
