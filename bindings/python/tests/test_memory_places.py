"""OrtDevice, OrtMemoryInfo, OrtArenaCfg and their enumerations."""
import pickle

import pytest
from retort.capi import _pybind_state as C


def test_numbers_of_devices():
    names = ("cpu", "cuda", "gpu", "webgpu", "fpga", "npu", "cann", "dml", "default_memory")
    assert [getattr(C.OrtDevice, name)() for name in names] == [0, 1, 1, 1, 2, 3, 3, 4, 0]


def test_device():
    device = C.OrtDevice(1, 0, 0x10DE, 3)
    assert (device.device_type(), device.mem_type(), device.vendor_id(), device.device_id()) == (1, 0, 0x10DE, 3)
    assert C.OrtDevice(1, 0, 3).vendor_id() == 0
    assert device == C.OrtDevice(1, 0, 0x10DE, 3) and device != C.OrtDevice(1, 0, 3)
    assert len({device, C.OrtDevice(1, 0, 0x10DE, 3)}) == 1
    assert pickle.loads(pickle.dumps(device)) == device
    assert repr(device) == "OrtDevice(Cuda, id=3, vendor=4318)"


def test_device_mistakes():
    with pytest.raises(ValueError, match="memory type 7"):
        C.OrtDevice(1, 7, 0)
    with pytest.raises(TypeError):
        C.OrtDevice(300, 0, 0)
    with pytest.raises(TypeError):
        C.OrtDevice("cpu", 0, 0)


def test_memory_info():
    info = C.OrtMemoryInfo("Cpu", C.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, C.OrtMemType.CPU_INPUT)
    assert (info.name, info.allocator_type, info.mem_type) == ("Cpu", C.OrtAllocatorType.ORT_ARENA_ALLOCATOR,
                                                               C.OrtMemType.CPU_INPUT)
    assert (info.device_id, info.device_vendor_id) == (0, 0)
    assert info.device_mem_type == C.OrtDeviceMemoryType.DEFAULT
    with pytest.raises(RuntimeError):
        C.OrtMemoryInfo("no such memory", C.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, C.OrtMemType.DEFAULT)


def test_memory_info_with_vendor():
    info = C.OrtMemoryInfo.create_v2("mine", C.OrtMemoryInfoDeviceType.GPU, 0x10DE, 1,
                                     C.OrtDeviceMemoryType.HOST_ACCESSIBLE, 64,
                                     C.OrtAllocatorType.ORT_DEVICE_ALLOCATOR)
    assert (info.name, info.device_id, info.device_vendor_id) == ("mine", 1, 0x10DE)
    assert info.device_mem_type == C.OrtDeviceMemoryType.HOST_ACCESSIBLE
    assert "mine" in repr(info)


ENUMS = {
    "OrtMemType": {"CPU_INPUT": -2, "CPU_OUTPUT": -1, "CPU": -1, "DEFAULT": 0},
    "OrtAllocatorType": {"INVALID": -1, "ORT_DEVICE_ALLOCATOR": 0, "ORT_ARENA_ALLOCATOR": 1},
    "OrtDeviceMemoryType": {"DEFAULT": 0, "HOST_ACCESSIBLE": 5},
    "OrtMemoryInfoDeviceType": {"CPU": 0, "GPU": 1, "NPU": 3, "FPGA": 2},
    "OrtSparseFormat": {"ORT_SPARSE_UNDEFINED": 0, "ORT_SPARSE_COO": 1, "ORT_SPARSE_CSRC": 2,
                        "ORT_SPARSE_BLOCK_SPARSE": 4},
    "ArenaExtendStrategy": {"kNextPowerOfTwo": 0, "kSameAsRequested": 1},
}


@pytest.mark.parametrize("name", ENUMS)
def test_enumerations(name):
    kind = getattr(C, name)
    assert {key: int(value) for key, value in kind.__members__.items()} == ENUMS[name]
    for key, number in ENUMS[name].items():
        member = getattr(kind, key)
        assert member.value == number and kind(number) == member and member == number
        assert str(member) == f"{name}.{member.name}" and repr(member) == f"<{name}.{member.name}: {number}>"
        assert pickle.loads(pickle.dumps(member)) is member
    with pytest.raises(ValueError):
        kind(99)


def test_arena():
    fields = ("max_mem", "arena_extend_strategy", "initial_chunk_size_bytes", "max_dead_bytes_per_chunk",
              "initial_growth_chunk_size_bytes", "max_power_of_two_extend_bytes")

    def all_of(arena):
        return [getattr(arena, field) for field in fields]

    assert all_of(C.OrtArenaCfg(1, 2, 3, 4)) == [1, 2, 3, 4, -1, -1]
    assert all_of(C.OrtArenaCfg({})) == [0, -1, -1, -1, -1, -1]
    assert all_of(C.OrtArenaCfg({"max_mem": 5, "max_power_of_two_extend_bytes": 7})) == [5, -1, -1, -1, -1, 7]
    arena = C.OrtArenaCfg({})
    arena.max_mem = 8
    assert arena.max_mem == 8
    with pytest.raises(RuntimeError, match="Invalid OrtArenaCfg option: nonsense"):
        C.OrtArenaCfg({"nonsense": 1})
    with pytest.raises(RuntimeError, match="max_mem"):
        C.OrtArenaCfg({"max_mem": "much"})


def test_shared_allocators():
    info = C.OrtMemoryInfo("Cpu", C.OrtAllocatorType.ORT_ARENA_ALLOCATOR, 0, C.OrtMemType.DEFAULT)
    C.create_and_register_allocator(info, C.OrtArenaCfg(0, -1, -1, -1))
    C.create_and_register_allocator(info, None)
    C.create_and_register_allocator_v2("CPUExecutionProvider", info, {}, None)
