"""The changes that `memoryd install` makes to the configurations of MCP clients."""

from memoryd.features.base import Feature

FEATURE = Feature(
    commands={
        "Clients": {
            "install": "memoryd.features.install.install:install",
            "uninstall": "memoryd.features.install.install:uninstall",
        }
    }
)
