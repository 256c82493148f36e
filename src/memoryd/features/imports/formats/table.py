"""The foreign formats that memoryd imports."""

from memoryd.features.imports.formats import (
    aider,
    chat,
    chatgpt,
    claude_ai,
    claude_code,
    claude_mem,
    codex,
    cognee,
    cursor,
    gemini,
    graphiti,
    json_lines,
    letta,
    markdown,
    mcp_memory_service,
    mem0,
    mempalace,
    opencode,
    qwen,
    server_memory,
)
from memoryd.features.imports.formats.source import ForeignFormat

FORMATS: dict[str, ForeignFormat] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        server_memory,
        claude_code,
        qwen,
        claude_ai,
        chatgpt,
        claude_mem,
        codex,
        mempalace,
        mcp_memory_service,
        gemini,
        opencode,
        cursor,
        letta,
        graphiti,
        cognee,
        mem0,
        aider,
        chat,
        markdown,
        json_lines,
    )
}
"""The formats by name, in the order in which they are tried: more specific ones come first."""
