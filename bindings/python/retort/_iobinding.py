"""IOBinding: where inputs are read and outputs written, in the form of the official package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native as C
from ._devices import OrtDevice
from ._values import OrtValue

if TYPE_CHECKING:
    from ._runs import Session


class IOBinding:
    """Declares once where a session reads its inputs and writes its outputs. `Session.bind` is shorter.

    Bound arrays and values are kept alive. A binding is for one thread at a time; several bindings of one session may
    run at once.
    """

    def __init__(self, session: Session) -> None:
        """An empty binding of a session; `session.io_binding()` does the same."""
        self._session = session._sess
        self._iobinding = C.SessionIOBinding(session._sess)
        self._numpy_obj_references: dict[str, np.ndarray] = {}

    def __repr__(self) -> str:
        outputs = self._iobinding.get_output_names()
        return f"<IOBinding with {'outputs ' + ', '.join(outputs) if outputs else 'no outputs'}>"

    def bind_cpu_input(self, name: str, arr_on_cpu: np.ndarray) -> None:
        """Binds an array to an input: each run reads its memory.

        Args:
            name: the input.
            arr_on_cpu: an array of the type and shape of the input.
        """
        self._numpy_obj_references[name] = arr_on_cpu
        self._iobinding.bind_input(name, arr_on_cpu)

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds memory to an input. The memory must stay valid for as long as it is bound.

        Args:
            name: the input.
            device_type: the device of the memory, see `OrtDevice.make`.
            device_id: the number of the device.
            element_type: a dtype or what numpy.dtype() accepts, or a number of onnx.TensorProto.DataType.
            shape: the extents.
            buffer_ptr: the address of the first element.
        """
        device = OrtDevice.make(device_type, device_id)._get_c_device()
        self._iobinding.bind_input(name, device, element_type, shape, buffer_ptr)

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value to an input."""
        self._iobinding.bind_ortvalue_input(name, ortvalue._ortvalue)

    def synchronize_inputs(self) -> None:
        """Waits until copies of bound inputs to devices are done."""
        self._iobinding.synchronize_inputs()

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Binds a device, or memory, to an output.

        Args:
            name: the output.
            device_type: the device where the result must be, see `OrtDevice.make`.
            device_id: the number of the device.
            element_type: type of the elements of `buffer_ptr`, as for `bind_input`.
            shape: the extents of `buffer_ptr`.
            buffer_ptr: the address of memory into which runs write; it must stay valid for as long as it is bound.
                None: the engine allocates the result.

        Raises:
            ValueError: there is an address, but no type or no shape.
        """
        device = OrtDevice.make(device_type, device_id)._get_c_device()
        if buffer_ptr is None:
            self._iobinding.bind_output(name, device)
            return
        if element_type is None or shape is None:
            raise ValueError(
                f"bind_output: buffer_ptr of '{name}' has no element_type or no shape; give all three, or none"
            )
        self._iobinding.bind_output(name, device, element_type, shape, buffer_ptr)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Binds a value to an output: each run writes into its memory."""
        self._iobinding.bind_ortvalue_output(name, ortvalue._ortvalue)

    def synchronize_outputs(self) -> None:
        """Waits until devices have written all bound outputs."""
        self._iobinding.synchronize_outputs()

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound, wherever they are."""
        return [OrtValue(value) for value in self._iobinding.get_outputs()]

    def get_outputs_as_ortvaluevector(self) -> C.OrtValueVector:
        """The outputs of the last run as a vector of native values."""
        return self._iobinding.get_outputs()

    def copy_outputs_to_cpu(self) -> list[Any]:
        """The outputs of the last run as `Session.run` gives them, copied from devices if they are there."""
        return self._iobinding.copy_outputs_to_cpu()

    def clear_binding_inputs(self) -> None:
        """Unbinds all inputs."""
        self._iobinding.clear_binding_inputs()
        self._numpy_obj_references.clear()

    def clear_binding_outputs(self) -> None:
        """Unbinds all outputs."""
        self._iobinding.clear_binding_outputs()
