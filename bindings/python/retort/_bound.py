"""Binding: inputs and outputs by name that stay bound from run to run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as C
from ._devices import OrtDevice
from ._values import OrtValue

if TYPE_CHECKING:
    from ._runs import Session

_STRINGS = "OSU"  # kinds of dtypes
_SMALL = {"int2", "uint2", "int4", "uint4", "float4_e2m1fn"}


class Results(Mapping[str, Any]):
    """The outputs of a bound run by name, in the order of the model.

    A result on the CPU is an array: the bound one, or one that shares the engine's memory and stays as it is in later
    runs. A result on a device is an OrtValue.
    """

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        value = self._find(name)
        if not isinstance(value, OrtValue) or (value.is_tensor() and value.device_name() != "cpu"):
            return value
        return value.as_sparse_tensor() if value.is_sparse_tensor() else value.numpy()

    def value(self, name: str) -> OrtValue:
        """An output as an OrtValue, which can be bound to an input of the next run without a copy."""
        value = self._find(name)
        return value if isinstance(value, OrtValue) else OrtValue.ortvalue_from_numpy(value)

    def _find(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise KeyError(f"no output '{name}'; outputs: {', '.join(self._values)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<Results: {_list(self._values)}>"


class Binding:
    """Inputs and outputs of a session that stay bound from run to run. `Session.bind` makes one.

    For one thread at a time; several bindings of one session may run at once. Bound arrays and values are kept alive.

    A decoder whose cache lies in one buffer, read and written in place:

        step = session.bind(past_key=keys, present_key=keys, past_value=values, present_value=values)
        token = first
        for position in range(length):
            logits = step.run(token=[[token]], position=[position])["logits"]
            token = int(logits[0, -1].argmax())
    """

    def __init__(self, session: Session, values: Mapping[str, Any]) -> None:
        """Binds values by name, see `Session.bind`."""
        self._session = session
        self._native = C.SessionIOBinding(session._sess)
        required = session.get_inputs()
        self._inputs = {argument.name: argument for argument in [*required, *session.get_overridable_initializers()]}
        self._missing = [argument.name for argument in required if not argument.type.startswith("optional")]
        self._sources: dict[str, Any] = {}
        # The engine lists outputs in the order in which they were bound first: that of the model.
        self._targets: dict[str, Any] = dict.fromkeys(argument.name for argument in session.get_outputs())
        self._allocated: dict[str, OrtDevice] = {}
        for name in self._targets:
            self._bind_output(name, "cpu")
        self._results = Results(self._targets)  # of runs that allocate nothing: it sees what is bound later
        # What a run that allocates nothing calls, and nothing else: such a run takes half a microsecond.
        self._ready: Callable[[C.RunOptions | None], None] | None = None
        self.bind(values)

    def bind(self, values: Mapping[str, Any] | None = None, /, **by_name: Any) -> Binding:
        """Binds more names, or other values for bound ones; arguments as for `Session.bind`. Gives the binding.

        Raises:
            KeyError: the model has no input and no output of a name.
            ValueError: an array cannot be read or written in place: it is not contiguous, aligned and in native byte
                order, its elements are smaller than a byte, or it is for an output and read-only or of strings.
            TypeError: something that no run can write into is given for an output.
        """
        self._bind_all({**(values or {}), **by_name}, once=False)
        return self

    def run(
        self, values: Mapping[str, Any] | None = None, /, run_options: C.RunOptions | None = None, **by_name: Any
    ) -> Results:
        """Binds what is given, runs the model once and gives the outputs.

        Args:
            values: see `bind`. Arrays for inputs need not be contiguous here: they are copied if they are not.
            run_options: options of this run.
            by_name: see `bind`.

        Raises:
            ValueError: an input has no value.
        """
        if values or by_name:
            self._bind_all({**(values or {}), **by_name}, once=True)
        ready = self._ready
        if ready is None:
            return self._run_allocating(run_options)
        ready(run_options)
        return self._results

    def synchronize(self) -> None:
        """Waits until devices have written all outputs."""
        self._native.synchronize_outputs()

    def _run_allocating(self, run_options: C.RunOptions | None) -> Results:
        if self._missing:
            raise ValueError(f"no value for input {', '.join(self._missing)}; give it to bind() or run()")
        if not C.is_retort():
            # Official ONNX Runtime writes over earlier results, and fails if their shape changes, unless bound again.
            for name, device in self._allocated.items():
                self._native.bind_output(name, device._get_c_device())
        self._native.run(run_options)
        values = {}
        for (name, target), value in zip(self._targets.items(), self._native.get_outputs()):
            values[name] = OrtValue(value) if name in self._allocated else target
        return Results(values)

    def _bind_all(self, values: Mapping[str, Any], once: bool) -> None:
        self._ready = None
        for name, value in values.items():
            if name in self._inputs:
                self._bind_input(name, value, once)
            elif name in self._targets:
                self._bind_output(name, value)
            else:
                raise KeyError(
                    f"the model has no input or output '{name}'; inputs: {', '.join(self._inputs)}; "
                    f"outputs: {', '.join(self._targets)}"
                )
        self._ready = None if self._missing or self._allocated else self._native.run

    def _bind_input(self, name: str, value: Any, once: bool) -> None:
        source = value
        if value is None:
            raise TypeError(f"input '{name}': got None, expected an array or another value that run() takes")
        if isinstance(value, np.ndarray):
            # Strings are always copied: a tensor has them in another form.
            reason = "" if once or value.dtype.kind in _STRINGS else _why_not_in_place(value)
            if reason:
                raise ValueError(
                    f"input '{name}': the array {reason} and cannot be read in place; bind a copy of it, or give it to "
                    "run(), which copies it"
                )
        elif not isinstance(value, OrtValue) and hasattr(value, "__dlpack__"):
            source = OrtValue.from_dlpack(value)
        if isinstance(source, OrtValue):
            self._native.bind_ortvalue_input(name, source._ortvalue)
        else:
            self._native.bind_input(name, source)
        self._sources[name] = source
        if name in self._missing:
            self._missing.remove(name)

    def _bind_output(self, name: str, value: Any) -> None:
        device = _device_of(value)
        if device is not None:
            self._native.bind_output(name, device._get_c_device())
            self._allocated[name] = device
            self._targets[name] = device
            return
        target = value
        if isinstance(value, OrtValue):
            held = value
        elif isinstance(value, np.ndarray):
            _require_target(name, value)
            held = OrtValue.ortvalue_from_numpy(value)
        elif hasattr(value, "__dlpack__"):
            target = held = OrtValue.from_dlpack(value)
        else:
            raise TypeError(
                f"output '{name}': got {type(value).__name__}, expected an array, an OrtValue or a device such as 'cpu'"
            )
        self._native.bind_ortvalue_output(name, held._ortvalue)
        self._allocated.pop(name, None)
        self._targets[name] = target

    def __repr__(self) -> str:
        missing = "".join(f", {name} unbound" for name in self._missing)
        return f"<Binding: {_list({**self._sources, **self._targets})}{missing}>"


def _device_of(value: Any) -> OrtDevice | None:
    """A device, or its name: "cuda:1"."""
    if isinstance(value, OrtDevice):
        return value
    if isinstance(value, str):
        kind, _, number = value.partition(":")
        return OrtDevice.make(kind, int(number or 0))
    return None


def _require_target(name: str, array: np.ndarray) -> None:
    if not array.flags.writeable:
        raise ValueError(f"output '{name}': the array is read-only; bind one that can be written")
    reason = "has strings" if array.dtype.kind in _STRINGS else _why_not_in_place(array)
    if reason:
        raise ValueError(
            f"output '{name}': the array {reason} and cannot be written in place; bind a plain array, or leave the "
            "output out and read the results of run()"
        )


def _why_not_in_place(array: np.ndarray) -> str:
    """Why a tensor cannot lie over the array; "" if it can."""
    if not array.flags.c_contiguous:
        return f"has strides {array.strides}"
    if not array.flags.aligned:
        return "is not aligned for its elements"
    if not array.dtype.isnative:
        return "is in another byte order"
    if array.dtype.name in _SMALL:
        return f"has a whole byte for each {array.dtype.name}"
    return ""


def _list(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_brief(value)}" for name, value in values.items())


def _brief(value: Any) -> str:
    """A value in a few words: "float32[2, 3]"."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    if isinstance(value, OrtValue):
        return repr(value)[len("<OrtValue ") : -1]
    return repr(value)
