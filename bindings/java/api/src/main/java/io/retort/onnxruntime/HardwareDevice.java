package io.retort.onnxruntime;

import java.util.Map;

/**
 * A device of the machine.
 *
 * @param type its kind
 * @param vendorId PCI id of its vendor
 * @param vendor name of its vendor
 * @param deviceId PCI id of the device
 * @param metadata what else is known
 */
public record HardwareDevice(DeviceType type, int vendorId, String vendor, int deviceId, Map<String, String> metadata) {
  /** Copies the entries. */
  public HardwareDevice {
    metadata = Map.copyOf(metadata);
  }
}
