"""Devices by name: OrtDevice and the identifiers of vendors."""

from __future__ import annotations

from enum import IntEnum

from . import _native as C


class OrtDeviceVendorId(IntEnum):
    """PCI identifiers of the companies that make devices; NONE for devices without one."""

    NONE = 0x0000
    AMD = 0x1002
    NVIDIA = 0x10DE
    ARM = 0x13B5
    MICROSOFT = 0x1414
    HUAWEI = 0x19E5
    QUALCOMM = 0x5143
    INTEL = 0x8086


# The names of devices, and the vendors that three of the names stand for.
_TYPES = {
    "cpu": C.OrtDevice.cpu,
    "gpu": C.OrtDevice.gpu,
    "npu": C.OrtDevice.npu,
    "cuda": C.OrtDevice.cuda,
    "cann": C.OrtDevice.cann,
    "dml": C.OrtDevice.dml,
    "webgpu": C.OrtDevice.webgpu,
}
_VENDORS = {
    "cuda": OrtDeviceVendorId.NVIDIA,
    "cann": OrtDeviceVendorId.HUAWEI,
    "dml": OrtDeviceVendorId.MICROSOFT,
    "webgpu": OrtDeviceVendorId.NONE,
}


def get_ort_device_type(device_type: str) -> int:
    """The number of a kind of device.

    Args:
        device_type: one of "cpu", "gpu", "npu", "cuda", "cann", "dml" and "webgpu".

    Raises:
        Exception: the name is not one of these.
    """
    try:
        return _TYPES[device_type]()
    except KeyError:
        known = ", ".join(_TYPES)
        raise Exception(f"Unsupported device type: {device_type}; expected one of {known}") from None


def get_vendor_id_for_device_type(device_type: str) -> OrtDeviceVendorId | None:
    """The vendor that the name of a device implies ("cuda" is NVIDIA's); None if it implies none ("gpu")."""
    return _VENDORS.get(device_type)


class OrtDevice:
    """A place where tensors can be: a kind of device, its number, its vendor and a kind of memory.

    Make one with `OrtDevice.make("cpu", 0)`. Objects do not change and may be used by several threads.
    """

    __slots__ = ("_ort_device",)

    def __init__(self, c_ort_device: C.OrtDevice) -> None:
        """Wraps a native device; programs call `make` instead.

        Raises:
            ValueError: the argument is not a native device.
        """
        if not isinstance(c_ort_device, C.OrtDevice):
            raise ValueError(
                f"OrtDevice: got {type(c_ort_device).__name__}, expected a native OrtDevice; use OrtDevice.make()"
            )
        self._ort_device = c_ort_device

    def _get_c_device(self) -> C.OrtDevice:
        return self._ort_device

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int | OrtDeviceVendorId = -1) -> OrtDevice:
        """A device by name and number.

        Args:
            ort_device_name: "cpu", "gpu", "npu", or a name that implies a vendor: "cuda", "cann", "dml", "webgpu".
            device_id: the number of the device among those of its kind and vendor; the first one is 0.
            vendor_id: PCI identifier of the vendor, for "gpu" and "npu"; a negative number: the one that the name
                implies.

        Raises:
            Exception: the name is not one of these.
        """
        kind = get_ort_device_type(ort_device_name)
        memory = C.OrtDevice.default_memory()
        vendor = get_vendor_id_for_device_type(ort_device_name) if vendor_id < 0 else vendor_id
        if vendor is None:
            return OrtDevice(C.OrtDevice(kind, memory, device_id))
        return OrtDevice(C.OrtDevice(kind, memory, int(vendor), device_id))

    def device_id(self) -> int:
        """The number of the device among those of its kind and vendor."""
        return self._ort_device.device_id()

    def device_type(self) -> int:
        """The number of the kind of device, as `get_ort_device_type` gives it."""
        return self._ort_device.device_type()

    def device_vendor_id(self) -> int:
        """PCI identifier of the vendor, 0 if there is none."""
        return self._ort_device.vendor_id()

    def device_mem_type(self) -> int:
        """The kind of memory: 0 for the device's own, 5 for memory that the host can access as well."""
        return self._ort_device.mem_type()

    def __repr__(self) -> str:
        kinds = {C.OrtDevice.cpu(): "cpu", C.OrtDevice.gpu(): "gpu", C.OrtDevice.npu(): "npu"}
        kind = kinds.get(self.device_type(), str(self.device_type()))
        vendor = f", vendor {self.device_vendor_id():#06x}" if self.device_vendor_id() else ""
        return f"OrtDevice({kind}:{self.device_id()}{vendor})"

    def __reduce__(self) -> tuple[object, ...]:
        return _device_of_numbers, (
            self.device_type(), self.device_mem_type(), self.device_vendor_id(), self.device_id(),
        )


def _device_of_numbers(kind: int, memory: int, vendor: int, number: int) -> OrtDevice:
    return OrtDevice(C.OrtDevice(kind, memory, vendor, number))
