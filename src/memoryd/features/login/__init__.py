"""The authorization server: clients get tokens for what a person grants them in a browser (OAuth 2.1)."""

from memoryd.features.base import Feature

FEATURE = Feature(
    commands={
        "HTTP": {
            "login": "memoryd.features.login.commands:logins",
            "access": "memoryd.features.login.commands:access",
        }
    },
    admissions="memoryd.features.login.logins:logins_of",
    chores="memoryd.features.login.logins:chores",
    gate="memoryd.features.login.app:gate",
    open_paths=("/.well-known/", "/oauth/"),
)
