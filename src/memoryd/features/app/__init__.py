"""The memories app: a page within the clients that show apps, with tools of its own."""

from memoryd.features.base import Feature

FEATURE = Feature(client_app="memoryd.features.app.app:APP")
