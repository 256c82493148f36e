"""Integration of coding agents: hooks and transcripts."""

from memoryd.features.base import Feature

FEATURE = Feature(
    needs="imports",
    commands={"Clients": {"hook": "memoryd.features.agents.command:app"}},
    routes="memoryd.features.agents.routes:routes",
    requests={"hook": "memoryd.features.agents.requests:HookRequests"},
    chores="memoryd.features.agents.spool:chores",
    unlisted={"memory_prompt": "memoryd.features.agents.connected:TOOL"},
)
