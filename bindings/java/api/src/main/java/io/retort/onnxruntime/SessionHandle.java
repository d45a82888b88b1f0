package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiFunction;
import java.util.function.BooleanSupplier;

/** An OrtSession, and what it calls and reads. */
final class SessionHandle extends Handle {
  /** The environment, held. */
  final Handle env;
  private final SessionOptionsHandle.Needs needs;
  private final BooleanSupplier closedByOwner;
  /** Devices that the session was found to drive. */
  private final Set<DeviceSpec> driven = ConcurrentHashMap.newKeySet();

  /** A session that this object owns. */
  SessionHandle(OrtApiFFM api, MemorySegment address, SessionOptionsHandle.Needs needs, Handle env) {
    super(api, ObjectKind.SESSION, address, env);
    this.env = env;
    this.needs = needs;
    closedByOwner = null;
  }

  /** A session that another binding owns. */
  SessionHandle(OrtApiFFM api, MemorySegment address, BooleanSupplier closedByOwner, Handle env) {
    super(api, ObjectKind.SESSION, address, env);
    this.env = env;
    needs = null;
    this.closedByOwner = closedByOwner;
  }

  /** Refuses to use a session that its owner closed. */
  void there() {
    if (closedByOwner != null && closedByOwner.getAsBoolean())
      throw new IllegalStateException("the ai.onnxruntime.OrtSession that this session shares is closed: keep it open as long as it is used here");
  }

  /** Values of the program that runs read besides inputs: initializers. */
  List<ValueHandle> lent() {
    return needs == null ? List.of() : needs.values();
  }

  /** Values of a run, and those. */
  List<ValueHandle> withLent(Collection<ValueHandle> values) {
    List<ValueHandle> all = new ArrayList<>(values);
    all.addAll(lent());
    return all;
  }

  /** Adds such a value before the session is used; takes over one hold of it. */
  void lend(ValueHandle value) {
    needs.values().add(value);
  }

  /**
   * Refuses a tensor of a device that nobody here drives: official ONNX Runtime takes its address for one of the host where all
   * providers of the session compute there.
   */
  void requireDrives(String what, ValueHandle value) {
    if (value.type() == ValueType.TENSOR && !value.device().isHostAccessible()) requireDrives(what + " lies", value.device());
  }

  /** The same for a place where a run is to make an output: official ONNX Runtime makes it elsewhere, and says nothing. */
  void requireDrives(String what, DeviceSpec device) {
    Objects.requireNonNull(device, "device");
    if (device.type() == DeviceType.CPU && device.memory() == MemoryKind.DEFAULT || driven.contains(device)) return;
    if (!drives(device))
      throw OrtException.invalid(what + " on " + device + ", which no provider of the session drives: add its provider to the options of the session, or take memory of the host");
    driven.add(device);
  }

  /** Asks the session, not the environment, which has allocators for devices of all providers. */
  private boolean drives(DeviceSpec device) {
    try {
      api.c.releaseAllocator(newAllocator(device));
      return true;
    } catch (OrtException none) {
      return api.apiVersion() >= 23 && isPlace(device);
    }
  }

  /** An allocator that the session makes, of a provider of its own; the caller releases it. */
  MemorySegment newAllocator(DeviceSpec device) {
    return api.pointer(out -> api.c.createAllocator(address, api.memoryInfo(device), out));
  }

  /** Whether an input or an output is there, with any alignment. */
  private boolean isPlace(DeviceSpec device) {
    return isPlace(device, api.number(out -> api.c.sessionGetInputCount(address, out)), (array, n) -> api.c.sessionGetMemoryInfoForInputs(address, array, n))
        || isPlace(device, api.number(out -> api.c.sessionGetOutputCount(address, out)), (array, n) -> api.c.sessionGetMemoryInfoForOutputs(address, array, n));
  }

  private boolean isPlace(DeviceSpec device, long count, BiFunction<MemorySegment, Long, MemorySegment> fill) {
    if (count == 0) return false;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, count);
      api.check(fill.apply(array, count));
      return OrtApiFFM.pointers(array, count).stream().map(api::device)
          .anyMatch(place -> place.type() == device.type() && place.vendorId() == device.vendorId() && place.deviceId() == device.deviceId());
    }
  }

  /** The error of a run that the linker refused for one of these. */
  RuntimeException refused(RuntimeException cause) {
    return ValueHandle.refused(lent(), "the model of the session, or an initializer of it,", cause);
  }

  @Override
  void free() {
    if (closedByOwner != null) return;
    api.c.releaseSession(address);
    if (needs != null) needs.release();
  }
}
