"""What an engine has for logins; each is made on first use."""

from memoryd.core.base.background import Chore
from memoryd.core.engine import Engine
from memoryd.features.login.accounts import Accounts
from memoryd.features.login.logins import Logins
from memoryd.features.login.oauth_clients import OAuthClients


def logins_of(engine: Engine) -> Logins:
    """Return the logins."""
    return engine.part(_logins)


def accounts_of(engine: Engine) -> Accounts:
    """Return the people who log in with a password."""
    return engine.part(_accounts)


def clients_of(engine: Engine) -> OAuthClients:
    """Return the clients that have registered themselves."""
    return engine.part(_clients)


def chores(engine: Engine) -> list[Chore]:
    """Return what a server does for logins now and then."""
    return [logins_of(engine).tidy]


def _logins(engine: Engine) -> Logins:
    return Logins(engine.store, engine.clock)


def _accounts(engine: Engine) -> Accounts:
    return Accounts(engine.store, engine.workspaces, engine.clock, engine.secrets)


def _clients(engine: Engine) -> OAuthClients:
    return OAuthClients(engine.store, engine.clock, engine.secrets)
