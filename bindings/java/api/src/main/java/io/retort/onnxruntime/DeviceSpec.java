package io.retort.onnxruntime;

import java.util.Objects;

/**
 * A place for tensors.
 *
 * @param name name of the memory, as the library or a provider calls it: {@code Cpu}, {@code Cuda}
 * @param type kind of the device
 * @param vendorId PCI id of the vendor; 0 for the processor, and where it does not matter
 * @param deviceId which of several
 * @param memory kind of its memory
 * @param alignment alignment of allocations in bytes; 0 for that of the device
 */
public record DeviceSpec(String name, DeviceType type, int vendorId, int deviceId, MemoryKind memory, long alignment) {
  private static final int NVIDIA = 0x10de;

  /** Ordinary memory of the host. */
  public static final DeviceSpec CPU = new DeviceSpec("Cpu", DeviceType.CPU, 0, 0, MemoryKind.DEFAULT, 0);

  /**
   * Checks what was given.
   *
   * @throws OrtException if the id is negative or the alignment is not a power of two
   */
  public DeviceSpec {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(memory, "memory");
    if (deviceId < 0) throw OrtException.invalid("device id " + deviceId + ": give 0 for the first");
    if (alignment < 0 || Long.bitCount(alignment) > 1) throw OrtException.invalid("alignment " + alignment + ": give a power of two, or 0");
  }

  /**
   * {@return memory of a CUDA device}
   *
   * @param deviceId which of several
   */
  public static DeviceSpec cuda(int deviceId) {
    return new DeviceSpec("Cuda", DeviceType.GPU, NVIDIA, deviceId, MemoryKind.DEFAULT, 0);
  }

  /**
   * {@return memory of the host that a CUDA device addresses}
   *
   * @param deviceId which of several
   */
  public static DeviceSpec cudaPinned(int deviceId) {
    return new DeviceSpec("CudaPinned", DeviceType.GPU, NVIDIA, deviceId, MemoryKind.HOST_ACCESSIBLE, 0);
  }

  /** {@return whether the processor can read and write there} */
  public boolean isHostAccessible() {
    return type == DeviceType.CPU || memory == MemoryKind.HOST_ACCESSIBLE;
  }

  /** Name, kind and number, as {@code Cuda (GPU 0)}. */
  @Override
  public String toString() {
    return name + " (" + type + " " + deviceId + (memory == MemoryKind.HOST_ACCESSIBLE ? ", host-accessible)" : ")");
  }
}
