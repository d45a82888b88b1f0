package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import java.lang.foreign.MemorySegment;
import java.util.Map;
import java.util.Optional;

/**
 * A device together with the execution provider that drives it. It belongs to its environment. When the library of its
 * provider is unregistered, the device can no longer be used, but its properties can still be read. Thread-safe.
 */
public final class EpDevice {
  final MemorySegment address;
  private final String epName;
  private final String epVendor;
  private final Map<String, String> metadata;
  private final Map<String, String> options;
  private final HardwareDevice hardware;
  private final DeviceSpec memory;
  private final DeviceSpec pinned;

  EpDevice(OrtApiFFM api, MemorySegment address) {
    this.address = address;
    epName = Memory.string(api.c.epDevice_EpName(address));
    epVendor = Memory.string(api.c.epDevice_EpVendor(address));
    metadata = Map.copyOf(api.keyValues(api.c.epDevice_EpMetadata(address)));
    options = Map.copyOf(api.keyValues(api.c.epDevice_EpOptions(address)));
    hardware = hardware(api, api.c.epDevice_Device(address));
    memory = memory(api, MemoryKind.DEFAULT);
    pinned = memory(api, MemoryKind.HOST_ACCESSIBLE);
  }

  private DeviceSpec memory(OrtApiFFM api, MemoryKind kind) {
    if (api.apiVersion() < 23) return null;
    MemorySegment info = api.c.epDevice_MemoryInfo(address, kind.value());
    return info.address() == 0 ? null : api.providerDevice(info);
  }

  private static HardwareDevice hardware(OrtApiFFM api, MemorySegment device) {
    DeviceType type = switch (api.c.hardwareDevice_Type(device)) {
      case 1 -> DeviceType.GPU;
      case 2 -> DeviceType.NPU;
      default -> DeviceType.CPU;
    };
    return new HardwareDevice(type, api.c.hardwareDevice_VendorId(device), Memory.string(api.c.hardwareDevice_Vendor(device)), api.c.hardwareDevice_DeviceId(device),
        api.keyValues(api.c.hardwareDevice_Metadata(device)));
  }

  /** {@return the name of the provider, such as {@code CPUExecutionProvider}} */
  public String epName() {
    return epName;
  }

  /** {@return the vendor of the provider} */
  public String epVendor() {
    return epVendor;
  }

  /** {@return the metadata that the provider reports} */
  public Map<String, String> metadata() {
    return metadata;
  }

  /** {@return the options that the provider uses by default} */
  public Map<String, String> options() {
    return options;
  }

  /** {@return the hardware} */
  public HardwareDevice hardware() {
    return hardware;
  }

  /**
   * {@return the place of tensors in the device's memory of a kind; empty if the device has no such memory. The
   * processor has none: its memory is {@link DeviceSpec#CPU}}
   *
   * @param kind kind of the memory
   */
  public Optional<DeviceSpec> memory(MemoryKind kind) {
    return Optional.ofNullable(kind == MemoryKind.DEFAULT ? memory : pinned);
  }

  /** Returns the provider and the device, for messages. */
  @Override
  public String toString() {
    return epName + " on " + hardware.type() + " of " + hardware.vendor();
  }
}
