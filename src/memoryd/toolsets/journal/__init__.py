"""Seed e's toolset: turns of agents, session by session, and what each session was about."""

from memoryd.toolsets.journal import database, sessions, summaries, turns
from memoryd.toolsets.registry import Toolset

TOOLS = Toolset([*database.TOOLS, *turns.TOOLS, *summaries.TOOLS, *sessions.TOOLS])
