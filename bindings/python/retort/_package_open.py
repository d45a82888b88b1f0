"""Model packages that are open for reading, and how changed ones are written."""

from __future__ import annotations

from enum import IntEnum

from . import _native as C
from ._native import ModelPackageComponentContext, ModelPackageContext, ModelPackageOptions
from ._session import InferenceSession

__all__ = [
    "ModelPackageComponentContext",
    "ModelPackageContext",
    "ModelPackageOptions",
    "ModelPackageWriteMode",
]


class ModelPackageWriteMode(IntEnum):
    """How `ModelPackage.commit` writes descriptions: where they are, or all in the manifest."""

    PRESERVE = 0
    DENSE = 1


def _create_session(
    self: ModelPackageComponentContext, sess_options: C.SessionOptions | None = None
) -> InferenceSession:
    """A session of the selected variant.

    Args:
        sess_options: options of the session; None: those of the package.
    """
    return InferenceSession._from_initialized_c_session(self._create_session(sess_options))


_create_session.__name__ = "create_session"
_create_session.__qualname__ = "ModelPackageComponentContext.create_session"
setattr(ModelPackageComponentContext, "create_session", _create_session)
