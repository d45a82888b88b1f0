package io.retort.onnxruntime;

import java.util.Map;

/**
 * A device of the machine.
 *
 * @param type type of the device
 * @param vendorId PCI id of the vendor
 * @param vendor name of the vendor
 * @param deviceId PCI id of the device
 * @param metadata further properties
 */
public record HardwareDevice(DeviceType type, int vendorId, String vendor, int deviceId, Map<String, String> metadata) {
  /** Copies the metadata. */
  public HardwareDevice {
    metadata = Map.copyOf(metadata);
  }
}
