"""The backend interface of the package onnx over this package's sessions."""

from __future__ import annotations

import os
import unittest
from typing import Any

from onnx import ModelProto, helper
from onnx.backend.base import Backend
from onnx.checker import check_model

from .._native import SessionOptions, get_available_providers, get_device
from .._session import InferenceSession
from .backend_rep import OnnxRuntimeBackendRep, apply_options

# What a caller may set of a session: nothing that writes files.
_SESSION_OPTIONS = (
    "enable_cpu_mem_arena",
    "enable_mem_pattern",
    "enable_mem_reuse",
    "execution_mode",
    "execution_order",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
    "log_severity_level",
    "log_verbosity_level",
    "logid",
    "use_deterministic_compute",
    "use_per_session_threads",
)


class OnnxRuntimeBackend(Backend):
    """What onnx.backend.test and other users of the interface need."""

    #: Refuse operator sets that onnx has not released; the environment variable ALLOW_RELEASED_ONNX_OPSET_ONLY=0
    #: accepts them.
    allowReleasedOpsetsOnly: bool = os.environ.get("ALLOW_RELEASED_ONNX_OPSET_ONLY", "1") == "1"

    @classmethod
    def is_compatible(cls, model: Any, device: str | None = None, **kwargs: Any) -> bool:
        """Whether a device can be used; the model is ignored."""
        return cls.supports_device(get_device() if device is None else device)

    @classmethod
    def is_opset_supported(cls, model: ModelProto) -> tuple[bool, str]:
        """Whether all operator sets of a model are released ones, and if not, which one is not."""
        if not cls.allowReleasedOpsetsOnly:
            return True, ""
        for opset in model.opset_import:
            domain = opset.domain or "ai.onnx"
            if (domain, opset.version) not in helper.OP_SET_ID_VERSION_MAP:
                return False, (
                    f"operator set {opset.version} of '{domain}' is not released by the installed onnx; set "
                    "ALLOW_RELEASED_ONNX_OPSET_ONLY=0 to use it"
                )
        return True, ""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether this build has a device: "CPU", "GPU", "CUDA"..."""
        wanted = "GPU" if device == "CUDA" else device
        return wanted in get_device().split("-")

    @classmethod
    def prepare(cls, model: Any, device: str | None = None, **kwargs: Any) -> OnnxRuntimeBackendRep:
        """Loads a model.

        Args:
            model: a path, bytes, an onnx.ModelProto, a session, or what this method gave before.
            device: "CPU" and so on; None: the default one.
            kwargs: attributes of `SessionOptions`.

        Raises:
            RuntimeError: the device is not in this build, or an attribute cannot be set here.
            unittest.SkipTest: an operator set is not released.
        """
        if isinstance(model, OnnxRuntimeBackendRep):
            return model
        if isinstance(model, InferenceSession):
            return OnnxRuntimeBackendRep(model)
        if isinstance(model, (str, bytes)):
            return OnnxRuntimeBackendRep(cls._session(model, device, kwargs))
        data = model.SerializeToString()
        check_model(data)
        supported, message = cls.is_opset_supported(model)
        if not supported:
            raise unittest.SkipTest(message)
        return cls.prepare(data, device, **kwargs)

    @classmethod
    def _session(cls, model: str | bytes, device: str | None, values: dict[str, Any]) -> InferenceSession:
        options = SessionOptions()
        released = "1" if cls.allowReleasedOpsetsOnly else "0"
        options.add_session_config_entry("session.allow_released_opsets_only", released)
        apply_options(options, _SESSION_OPTIONS, values)
        if device is not None and not cls.supports_device(device):
            raise RuntimeError(f"device '{device}' is not in this build, which has {get_device()}")
        excluded = os.environ.get("ORT_ONNX_BACKEND_EXCLUDE_PROVIDERS", "").split(",")
        providers = [name for name in get_available_providers() if name not in excluded]
        session = InferenceSession(model, options, providers)
        session.disable_fallback()  # another provider would hide the failure that a test looks for
        return session

    @classmethod
    def run_model(  # type: ignore[override]
        cls, model: Any, inputs: Any, device: str | None = None, **kwargs: Any
    ) -> list[Any]:
        """Loads a model and runs it once; arguments as for `prepare` and for its result's `run`."""
        return cls.prepare(model, device, **kwargs).run(inputs, **kwargs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Any, device: str | None = None, outputs_info: Any = None, **kwargs: Any
    ) -> Any:
        """Not available: make a model of the node, and run that.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("run_node: make a model of the node with onnx.helper.make_model, and use run_model")


is_compatible = OnnxRuntimeBackend.is_compatible
prepare = OnnxRuntimeBackend.prepare
run = OnnxRuntimeBackend.run_model
supports_device = OnnxRuntimeBackend.supports_device
