"""The ledger of copies that the engine made by itself, and the option that forbids them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from . import _native as C

_FORBID = "session.disallow_implicit_copies"


class Copy(NamedTuple):
    """Copies of one tensor for one reason."""

    tensor: str  #: its name in the model
    cause: str  #: "array" (of another layout), "bind_input", "run_input", "border", "output", "alias" or "dynamic"
    direction: str  #: "host_to_host", "host_to_device", "device_to_host" or "device_to_device"
    source: str  #: the memory from which it was copied
    target: str  #: the memory to which it was copied
    bytes: int  #: how many bytes, over all copies
    times: int  #: how many copies


class CopyLedger(Sequence[Copy]):
    """What was copied without being asked for since a session was made; a sequence of `Copy`.

    Arrays that runs got in another layout come first, then the copies of the engine in the order of the first. It is a
    snapshot: later copies do not change it.
    """

    def __init__(self, copies: Sequence[Copy], total_bytes: int) -> None:
        self._copies = tuple(copies)
        self.total_bytes = total_bytes  #: bytes of all copies together

    @overload
    def __getitem__(self, index: int) -> Copy: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Copy, ...]: ...
    def __getitem__(self, index: int | slice) -> Copy | tuple[Copy, ...]:
        return self._copies[index]

    def __len__(self) -> int:
        return len(self._copies)

    def __iter__(self) -> Iterator[Copy]:
        return iter(self._copies)

    def __repr__(self) -> str:
        return f"<CopyLedger: {self.total_bytes} bytes in {sum(copy.times for copy in self)} copies>"

    def __str__(self) -> str:
        lines = [repr(self)]
        for copy in self:
            lines.append(
                f"  {copy.tensor}: {copy.cause}, {copy.times} x {copy.source} -> {copy.target}, {copy.bytes} bytes"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{name}</th>" for name in Copy._fields)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(value))}</td>" for value in copy) + "</tr>" for copy in self
        )
        return f"<p>{html.escape(repr(self)[1:-1])}</p><table><tr>{head}</tr>{rows}</table>"


def read_ledger(session: C.InferenceSession) -> CopyLedger:
    """The ledger of a native session."""
    import json

    data = json.loads(session.copies_json())
    copies = [
        Copy(row["tensor"], row["cause"], row["direction"], row["from"], row["to"], row["bytes"], row["count"])
        for row in data["copies"]
    ]
    arrays = [
        Copy(name, "array", "host_to_host", "the CPU", "the CPU", size, times)
        for name, size, times in session.array_copies()
    ]
    return CopyLedger([*arrays, *copies], data["total_bytes"] + sum(copy.bytes for copy in arrays))


def _get_disallowed(options: C.SessionOptions) -> bool:
    """Whether a run that would have to copy a tensor by itself fails instead.

    This includes arrays that are not contiguous, aligned and in native byte order. The library of official ONNX Runtime
    ignores it for copies of its own.
    """
    try:
        return options.get_session_config_entry(_FORBID) == "1"
    except RuntimeError:
        return False


def _set_disallowed(options: C.SessionOptions, value: bool) -> None:
    options.add_session_config_entry(_FORBID, "1" if value else "0")


disallow_implicit_copies = property(_get_disallowed, _set_disallowed)
