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

/** Owns an OrtSession, with the functions that it calls and the memory that it reads. */
final class SessionHandle extends Handle {
  /** The environment, to which the handle holds a reference. */
  final Handle env;
  private final SessionOptionsHandle.Needs needs;
  private final BooleanSupplier closedByOwner;
  /** Places on devices for which a provider of the session was found. */
  private final Set<DeviceSpec> driven = ConcurrentHashMap.newKeySet();

  /** Creates the handle of a session that it owns. */
  SessionHandle(OrtApiFFM api, MemorySegment address, SessionOptionsHandle.Needs needs, Handle env) {
    super(api, ObjectKind.SESSION, address, env);
    this.env = env;
    this.needs = needs;
    closedByOwner = null;
  }

  /** Creates the handle of a session that the official Java package owns. */
  SessionHandle(OrtApiFFM api, MemorySegment address, BooleanSupplier closedByOwner, Handle env) {
    super(api, ObjectKind.SESSION, address, env);
    this.env = env;
    needs = null;
    this.closedByOwner = closedByOwner;
  }

  /** Throws if the owner has closed the session. */
  void there() {
    if (closedByOwner != null && closedByOwner.getAsBoolean())
      throw new IllegalStateException("the ai.onnxruntime.OrtSession that this session shares is closed: keep it open as long as it is used here");
  }

  /**
   * Returns the values in memory of the program that all runs read: initializers, and the bytes of a model that is used
   * in place.
   */
  List<ValueHandle> lent() {
    return needs == null ? List.of() : needs.values();
  }

  /** Returns values of a run together with those of {@link #lent()}. */
  List<ValueHandle> withLent(Collection<ValueHandle> values) {
    List<ValueHandle> all = new ArrayList<>(values);
    all.addAll(lent());
    return all;
  }

  /** Adds a value to {@link #lent()}, before the session is first used; takes over one reference to it. */
  void lend(ValueHandle value) {
    needs.values().add(value);
  }

  /**
   * Throws if a tensor is on a device for which the session has no provider. If all providers of the session compute on
   * the host, official ONNX Runtime would use the device address as a host address.
   */
  void requireDrives(String what, ValueHandle value) {
    if (value.type() == ValueType.TENSOR && !value.device().isHostAccessible()) requireDrives(what + " is", value.device());
  }

  /**
   * As above, for a place in which a run is to allocate an output. Official ONNX Runtime would allocate it elsewhere
   * without an error.
   */
  void requireDrives(String what, DeviceSpec device) {
    Objects.requireNonNull(device, "device");
    if (device.type() == DeviceType.CPU && device.memory() == MemoryKind.DEFAULT || driven.contains(device)) return;
    if (!drives(device))
      throw OrtException.invalid(what + " on " + device + ", which no provider of the session drives: add its provider to the options of the session, or use host memory");
    driven.add(device);
  }

  /** Asks the session. The environment would not do: it has allocators for the devices of all providers. */
  private boolean drives(DeviceSpec device) {
    try {
      api.c.releaseAllocator(newAllocator(device));
      return true;
    } catch (OrtException none) {
      return api.apiVersion() >= 23 && isPlace(device);
    }
  }

  /** Creates an allocator of one of the session's providers; the caller releases it. */
  MemorySegment newAllocator(DeviceSpec device) {
    return api.pointer(out -> api.c.createAllocator(address, api.memoryInfo(device), out));
  }

  /** Returns whether an input or an output is on this device; the alignment is ignored. */
  private boolean isPlace(DeviceSpec device) {
    return isPlace(device, api.number(out -> api.c.sessionGetInputCount(address, out)), (array, n) -> api.c.sessionGetMemoryInfoForInputs(address, array, n))
        || isPlace(device, api.number(out -> api.c.sessionGetOutputCount(address, out)), (array, n) -> api.c.sessionGetMemoryInfoForOutputs(address, array, n));
  }

  private boolean isPlace(DeviceSpec device, long count, BiFunction<MemorySegment, Long, MemorySegment> fill) {
    if (count == 0) return false;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment array = arena.allocate(ValueLayout.ADDRESS, count);
      api.check(fill.apply(array, count));
      return OrtApiFFM.pointers(array, count).stream().map(api::device).anyMatch(device::sameDevice);
    }
  }

  /** Returns the exception for a run that the linker refused because of a value of {@link #lent()}. */
  RuntimeException refused(RuntimeException cause) {
    return ValueHandle.refused(lent(), "the model of the session, or one of its initializers,", cause);
  }

  @Override
  void free() {
    if (closedByOwner != null) return;
    api.c.releaseSession(address);
    if (needs != null) needs.release();
  }
}
