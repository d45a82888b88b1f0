package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Objects;

/**
 * Memory for tensors as segments: pointers to memory of a device, and memory of the host that a device can address
 * (pinned memory). Bind them with the {@link DeviceSpec} of their place. Thread-safe.
 *
 * {@snippet :
 * MemorySegment staging = NativeMemory.pinned(session, place, 4 * 64, arena);     // read and written by the program
 * MemorySegment onDevice = NativeMemory.device(session, device, 4 * 64, arena);  // a pointer
 * binding.bindInput("image", onDevice, new long[] {1, 1, 8, 8}, OnnxTensorElementType.FLOAT, device);
 * }
 */
public final class NativeMemory {
  private NativeMemory() {}

  /**
   * {@return a pointer to memory of a device, as a segment of size 0: Java cannot read or write it. The program owns the
   * memory}
   *
   * @param address the address, from native code such as {@code cudaMalloc}
   * @throws OrtException if the address is 0
   */
  public static MemorySegment devicePointer(long address) {
    if (address == 0) throw OrtException.invalid("the address of device memory is 0: give that of an allocation");
    return MemorySegment.ofAddress(address);
  }

  /**
   * Allocates memory of a device, with an allocator of a session.
   *
   * @param session a session that uses the device
   * @param device the place
   * @param bytes number of bytes
   * @param arena lifetime of the memory: it is freed when the arena is closed
   * @return a pointer to the memory, as a segment of size 0: Java cannot read or write it
   * @throws OrtException if the session has no allocator for the place, or there is not enough memory
   */
  public static MemorySegment device(OrtSessionFFM session, DeviceSpec device, long bytes, Arena arena) {
    if (Objects.requireNonNull(device, "device").isHostAccessible()) throw OrtException.invalid(device + " is memory of the host: use NativeMemory.pinned");
    return allocate(session, device, bytes, arena, 0);
  }

  /**
   * Allocates memory of the host that a device can address, with an allocator of a session.
   *
   * @param session a session that uses the device
   * @param place the place, such as {@link DeviceSpec#cudaPinned} or {@link EpDevice#memory} of kind {@link
   * MemoryKind#HOST_ACCESSIBLE}; {@link DeviceSpec#CPU} gives ordinary memory
   * @param bytes number of bytes
   * @param arena lifetime of the memory: it is freed when the arena is closed
   * @return the memory, whose contents are undefined
   * @throws OrtException if the session has no allocator for the place, or there is not enough memory
   */
  public static MemorySegment pinned(OrtSessionFFM session, DeviceSpec place, long bytes, Arena arena) {
    if (!Objects.requireNonNull(place, "place").isHostAccessible()) throw OrtException.invalid(place + " is memory that the host cannot address: use NativeMemory.device");
    return allocate(session, place, bytes, arena, bytes);
  }

  private static MemorySegment allocate(OrtSessionFFM session, DeviceSpec place, long bytes, Arena arena, long visible) {
    Objects.requireNonNull(arena, "arena");
    try (OrtAllocatorFFM allocator = Objects.requireNonNull(session, "session").allocator(place)) {
      OrtValueRef owner = allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.UINT8, bytes));
      try {
        return Memory.view(owner.deviceAddress(), visible, arena, memory -> owner.close());
      } catch (RuntimeException e) {
        owner.close();
        throw e;
      }
    }
  }
}
