"""Sessions: loaded models."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from . import _native as C
from ._providers import check_and_normalize_provider_args
from ._runs import Session

if TYPE_CHECKING:
    from ._providers import Provider

__all__ = ["InferenceSession", "Session", "describe_argument"]

_TENSORRT = ("TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider")


class InferenceSession(Session):
    """A loaded model, ready to run.

        session = InferenceSession("model.onnx")
        probabilities, = session.run(None, {"image": image})

    Loading releases the lock of the interpreter. Several threads may run one session at once. Sessions can be pickled
    (the other process loads the model again) and used after a fork.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: C.SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[Any, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Loads a model.

        Args:
            path_or_bytes: a file in ONNX or ORT format (by its name or by the entry `session.load_model_format`), or
                the bytes of one.
            sess_options: threads, optimization level, configuration entries, devices and so on.
            providers: names of execution providers, or pairs of a name and a dict of options, the most preferred
                first; what none of them runs, the CPU runs.
            provider_options: a dict of options for each name, if `providers` has only names.
            kwargs: `enable_fallback` = 0: see `disable_fallback`; `disabled_optimizers`: names of rules that loading
                leaves out; `read_config_from_model` = 1: options that are stored in the model.

        Raises:
            TypeError: the model or the options are not of these types.
            Exception: one of the classes of `retort.errors`: NoSuchFile, InvalidProtobuf, InvalidGraph, Fail...
        """
        super().__init__(enable_fallback=int(kwargs.get("enable_fallback", 1)) == 1)
        if isinstance(path_or_bytes, (str, os.PathLike)):
            self._model_path, self._model_bytes = os.fspath(path_or_bytes), None
            if "\0" in os.fsdecode(self._model_path):
                raise ValueError(f"path_or_bytes: the path {self._model_path!r} contains a NUL character")
        elif isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
            self._model_path, self._model_bytes = None, bytes(path_or_bytes)
        else:
            raise TypeError(
                f"Unable to load from type '{type(path_or_bytes)}'; expected a path, or the bytes of a model"
            )
        if sess_options is not None and not isinstance(sess_options, C.SessionOptions):
            raise TypeError(f"sess_options: got {type(sess_options).__name__}, expected a SessionOptions or None")
        self._sess_options_initial = sess_options
        self._disabled_optimizers = set(kwargs.get("disabled_optimizers") or ())
        stored = kwargs.get("read_config_from_model", os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL") == "1")
        self._read_config_from_model = int(stored) == 1
        self._fallback_providers: list[str] = []
        try:
            self._load(providers, provider_options)
        except (ValueError, RuntimeError) as error:
            if not self._enable_fallback or not self._fallback_providers or not providers:
                raise
            warnings.warn(
                f"the model cannot be loaded with {providers} ({error}); it is loaded with "
                f"{self._fallback_providers} instead",
                RuntimeWarning,
                stacklevel=2,
            )
            try:
                self._load(self._fallback_providers, None)
            except Exception as second:
                raise second from error
            self.disable_fallback()

    def _load(
        self, providers: Sequence[Provider] | None, provider_options: Sequence[dict[Any, Any]] | None
    ) -> None:
        """Makes the native session. The old one, if any, stays in use if this fails."""
        available = C.get_available_providers()
        names, options_of_names = check_and_normalize_provider_args(providers, provider_options, available)
        self._fallback_providers = _fallback_of(names, available)
        options = self._sess_options_initial
        if options is None:
            options = C.get_default_session_options()
        elif names and options.has_providers():
            warnings.warn(
                "the session options name providers, and so does the argument 'providers', which alone is used",
                stacklevel=3,
            )
        source: Any = self._model_path if self._model_path is not None else self._model_bytes
        session = C.InferenceSession(options, source, self._model_path is not None, self._read_config_from_model)
        session.initialize_session(names, options_of_names, self._disabled_optimizers)
        self._asked_providers = providers, provider_options
        self._adopt(session)

    def _adopt(self, session: C.InferenceSession) -> None:
        """Takes over a native session that is initialized."""
        self._sess = session
        self._sess_options = session.session_options
        self._inputs_meta = session.inputs_meta
        self._outputs_meta = session.outputs_meta
        self._overridable_initializers = session.overridable_initializers
        self._model_meta = session.model_meta
        self._providers = session.get_providers()
        self._provider_options = session.get_provider_options()

    @classmethod
    def _from_initialized_c_session(cls, sess: C.InferenceSession) -> InferenceSession:
        """The session of a component of a model package: it knows no file to load again."""
        session = cls.__new__(cls)
        Session.__init__(session, enable_fallback=False)
        session._from_model_package = True
        session._model_path = session._model_bytes = session._sess_options_initial = None
        session._fallback_providers = []
        session._adopt(sess)
        return session

    def __repr__(self) -> str:
        source = "a model package" if self._from_model_package else repr(self._model_path or "bytes")
        inputs = ", ".join(describe_argument(argument) for argument in self._inputs_meta)
        outputs = ", ".join(describe_argument(argument) for argument in self._outputs_meta)
        return f"<InferenceSession of {source}: {inputs} -> {outputs}; {', '.join(self._providers)}>"

    def _repr_html_(self) -> str:
        import html

        rows = [
            f"<tr><td>{kind}</td><td>{html.escape(each.name)}</td><td>{html.escape(each.type)}</td>"
            f"<td>{html.escape(str(each.shape))}</td></tr>"
            for kind, arguments in (("input", self._inputs_meta), ("output", self._outputs_meta))
            for each in arguments
        ]
        head = "<tr><th></th><th>name</th><th>type</th><th>shape</th></tr>"
        return f"<table>{head}{''.join(rows)}</table><p>{html.escape(', '.join(self._providers))}</p>"

    def __reduce__(self) -> tuple[Any, ...]:
        self._require_model_source("pickling")
        source: Any = os.path.abspath(self._model_path) if self._model_path is not None else self._model_bytes
        state = {
            "enable_fallback": int(self._enable_fallback),
            "disabled_optimizers": sorted(self._disabled_optimizers),
            "read_config_from_model": int(self._read_config_from_model),
        }
        return _load_again, (type(self), source, self._sess_options_initial, *self._asked_providers, state)


def describe_argument(argument: C.NodeArg) -> str:
    """An input or output in a few words: "image float[1,3,224,224]"."""
    shape = ",".join("?" if extent is None else str(extent) for extent in argument.shape)
    kind = argument.type
    if kind.startswith("tensor(") and kind.endswith(")"):
        return f"{argument.name} {kind[7:-1]}[{shape}]"
    return f"{argument.name} {kind}"


def _fallback_of(names: Sequence[str], available: Sequence[str]) -> list[str]:
    """The providers that remain if one of those asked for fails: the CPU, and before it CUDA beside TensorRT."""
    if all(name in names for name in _TENSORRT):
        raise ValueError(f"providers: {_TENSORRT[0]} and {_TENSORRT[1]} cannot be in one session; choose one")
    has_tensorrt = any(name in names and name in available for name in _TENSORRT)
    if has_tensorrt and "CUDAExecutionProvider" in names:
        return ["CUDAExecutionProvider", "CPUExecutionProvider"]
    return ["CPUExecutionProvider"]


def _load_again(
    cls: type[InferenceSession],
    source: str | bytes,
    options: C.SessionOptions | None,
    providers: Sequence[Provider] | None,
    provider_options: Sequence[dict[Any, Any]] | None,
    state: dict[str, Any],
) -> InferenceSession:
    """A session of another process, made from a pickled one."""
    return cls(source, options, providers, provider_options, **state)
