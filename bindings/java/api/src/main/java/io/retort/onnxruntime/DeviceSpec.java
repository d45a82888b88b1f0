package io.retort.onnxruntime;

import java.util.Objects;

/**
 * A place where tensors can be: a device and a kind of its memory.
 *
 * @param name name of the memory, as the library or a provider defines it, such as {@code Cpu} or {@code Cuda}
 * @param type kind of the device
 * @param vendorId PCI id of the vendor; 0 for the processor, or if it does not matter
 * @param deviceId number of the device, from 0, among those of the same type and vendor
 * @param memory kind of its memory
 * @param alignment alignment of allocations in bytes, a power of two; 0 for the default of the device
 */
public record DeviceSpec(String name, DeviceType type, int vendorId, int deviceId, MemoryKind memory, long alignment) {
  private static final int NVIDIA = 0x10de;

  /** Ordinary memory of the host, which the processor uses. */
  public static final DeviceSpec CPU = new DeviceSpec("Cpu", DeviceType.CPU, 0, 0, MemoryKind.DEFAULT, 0);

  /**
   * Checks the arguments.
   *
   * @throws OrtException if the device id is negative or the alignment is not a power of two
   */
  public DeviceSpec {
    Objects.requireNonNull(name, "name");
    Objects.requireNonNull(type, "type");
    Objects.requireNonNull(memory, "memory");
    if (deviceId < 0) throw OrtException.invalid("device id " + deviceId + ": use 0 for the first device");
    if (alignment < 0 || Long.bitCount(alignment) > 1) throw OrtException.invalid("alignment " + alignment + ": use a power of two, or 0 for the default");
  }

  /**
   * Creates the memory of a device by its name. The names {@code Cpu}, {@code Cuda} and {@code CudaPinned} give the
   * places that {@link #CPU}, {@link #cuda} and {@link #cudaPinned} give. For another name, the place is the device's own
   * memory, and the vendor is that of the registered provider with such memory.
   *
   * @param name name of the memory; upper and lower case are equal for the names above
   * @param type kind of the device
   * @param deviceId number of the device, from 0
   * @throws OrtException if one of the names above is used for another type, or the device id is negative
   */
  public DeviceSpec(String name, DeviceType type, int deviceId) {
    this(known(name, type), type, vendor(name), deviceId, name.equalsIgnoreCase("CudaPinned") ? MemoryKind.HOST_ACCESSIBLE : MemoryKind.DEFAULT, 0);
  }

  /** Returns the usual spelling of a name; throws if it names memory of another kind of device. */
  private static String known(String name, DeviceType type) {
    for (String one : new String[] {"Cpu", "Cuda", "CudaPinned"}) {
      if (!one.equalsIgnoreCase(Objects.requireNonNull(name, "name"))) continue;
      DeviceType wanted = one.equals("Cpu") ? DeviceType.CPU : DeviceType.GPU;
      if (wanted != type) throw OrtException.invalid("memory '" + name + "' of a " + type + ": it belongs to a " + wanted);
      return one;
    }
    return name;
  }

  private static int vendor(String name) {
    return name.equalsIgnoreCase("Cuda") || name.equalsIgnoreCase("CudaPinned") ? NVIDIA : 0;
  }

  /** Returns whether both are on one device. A vendor that is 0 may be any. */
  boolean sameDevice(DeviceSpec other) {
    return type == other.type && deviceId == other.deviceId && (vendorId == other.vendorId || vendorId == 0 || other.vendorId == 0);
  }

  /** Returns whether both are the same memory of one device. Names and alignments do not matter. */
  boolean sameMemory(DeviceSpec other) {
    return sameDevice(other) && memory == other.memory;
  }

  /**
   * {@return the memory of a CUDA device}
   *
   * @param deviceId number of the device, from 0
   */
  public static DeviceSpec cuda(int deviceId) {
    return new DeviceSpec("Cuda", DeviceType.GPU, NVIDIA, deviceId, MemoryKind.DEFAULT, 0);
  }

  /**
   * {@return host memory that a CUDA device can address (pinned memory)}
   *
   * @param deviceId number of the device, from 0
   */
  public static DeviceSpec cudaPinned(int deviceId) {
    return new DeviceSpec("CudaPinned", DeviceType.GPU, NVIDIA, deviceId, MemoryKind.HOST_ACCESSIBLE, 0);
  }

  /** {@return whether the processor can read and write this memory} */
  public boolean isHostAccessible() {
    return type == DeviceType.CPU || memory == MemoryKind.HOST_ACCESSIBLE;
  }

  /** Returns the name, the type and the number, as in {@code Cuda (GPU 0)}. */
  @Override
  public String toString() {
    return name + " (" + type + " " + deviceId + (memory == MemoryKind.HOST_ACCESSIBLE ? ", host-accessible)" : ")");
  }
}
