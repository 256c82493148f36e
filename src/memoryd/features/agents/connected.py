"""What the hook of an agent calls through its connection: at a prompt, no process is started.

Claude Code (2.1.118) and Codex (0.150) call a tool that the server does not list, so it costs their models nothing.
"""

from typing import Annotated, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from memoryd.connect.hook import BUDGET, OF_PROMPT
from memoryd.features.agents.hooks import Hooks, event_of
from memoryd.toolsets.registry import Answer, Call, Toolset

HOOKED = Toolset()


class HookOutput(TypedDict):
    """The output of a hook as Claude Code and Codex read it; without fields, nothing is added."""

    hookSpecificOutput: NotRequired[dict[str, str]]


@HOOKED.tool("Recall at a prompt", "read", needs="given", right="memory_recall")
def memory_prompt(
    call: Call,
    *,
    prompt: Annotated[str, Field(description="The prompt.")],
    session_id: Annotated[str, Field(description="The client's id of the session.")],
    cwd: Annotated[str, Field(description="The directory in which the agent works.")] = "",
    client: Annotated[str, Field(description="The client.")] = "claude-code",
    budget: Annotated[int, Field(ge=1, le=BUDGET, description="Maximum tokens.")] = int(OF_PROMPT["budget"]),
) -> Answer[HookOutput]:
    """Return what bears on a prompt and was not shown to the session yet, as the output of its hook."""
    if not call.engine.settings.hooks:
        return Answer({})
    event = event_of({"session_id": session_id, "cwd": cwd, "prompt": prompt})
    hooks = Hooks(call.engine, event, call.place, call.grant)
    added = cast(HookOutput, hooks.answer_prompt(budget, client))
    hooks.delivered()
    return Answer(added, marked=True)


(TOOL,) = HOOKED
