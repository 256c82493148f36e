"""The page: people see, search, correct and undo what their agents remember."""

from memoryd.features.base import Feature

FEATURE = Feature(
    needs="imports",
    commands={"Memories": {"ui": "memoryd.features.page.command:ui"}},
    routes="memoryd.features.page.app:routes",
    open_paths=("/ui/",),
)
