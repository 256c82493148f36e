"""The foreign formats that memoryd imports."""

from memoryd.features.imports.formats import (
    aider,
    chat,
    chatgpt,
    claude_ai,
    claude_code,
    claude_mem,
    codex,
    cursor,
    gemini,
    graphs,
    json_lines,
    letta,
    markdown,
    mcp_memory_service,
    mem0,
    mempalace,
    opencode,
    server_memory,
)

FORMATS = {
    form.name: form
    for form in (
        server_memory.FORMAT,
        claude_code.FORMAT,
        chat.QWEN,
        claude_ai.FORMAT,
        chatgpt.FORMAT,
        claude_mem.FORMAT,
        codex.FORMAT,
        mempalace.FORMAT,
        mcp_memory_service.FORMAT,
        gemini.FORMAT,
        opencode.FORMAT,
        cursor.FORMAT,
        letta.FORMAT,
        graphs.GRAPHITI,
        graphs.COGNEE,
        mem0.FORMAT,
        aider.FORMAT,
        chat.FORMAT,
        markdown.FORMAT,
        json_lines.FORMAT,
    )
}
"""The formats by name, in the order in which they are tried: more specific ones come first."""
