"""An object that sessions of old versions of the official package were made with."""

from __future__ import annotations


class SessionObjectInitializer:
    """Has no members: sessions take their options as `SessionOptions`."""


def get_session_initializer() -> SessionObjectInitializer:
    """A new object, which nothing uses."""
    return SessionObjectInitializer()
