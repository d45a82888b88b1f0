package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import io.retort.onnxruntime.ffm.OrtApi;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;

/**
 * Native I/O bindings that a program handles by pointers. Remembers what the C interface does not: the session of each
 * binding, and the allocators of its tensors. Thread-safe, but one binding is for one thread at a time.
 */
final class RawBindings {
  private static final class Binding {
    final MemorySegment session;
    /** The allocators of tensors that are bound to outputs, to be released after the binding. */
    final List<MemorySegment> allocators = new ArrayList<>();

    Binding(MemorySegment session) {
      this.session = session;
    }
  }

  private final OrtApi c;
  private final MemorySegment defaultAllocator;
  private final Consumer<MemorySegment> check;
  private final Map<Long, Binding> bindings = new ConcurrentHashMap<>();

  /**
   * @param check throws the error of a status
   */
  RawBindings(OrtApi c, MemorySegment defaultAllocator, Consumer<MemorySegment> check) {
    this.c = c;
    this.defaultAllocator = defaultAllocator;
    this.check = check;
  }

  private MemorySegment pointer(Arena arena, UnaryOperator<MemorySegment> call) {
    MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
    check.accept(call.apply(out));
    return out.get(ValueLayout.ADDRESS, 0);
  }

  MemorySegment create(MemorySegment session) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment binding = pointer(arena, out -> c.createIoBinding(session, out));
      bindings.put(binding.address(), new Binding(session));
      LiveObjects.born(ObjectKind.IO_BINDING);
      return binding;
    }
  }

  /** Creates a binding that is released when an arena is closed, unless the program has released it before. */
  MemorySegment create(MemorySegment session, Arena arena) {
    MemorySegment made = create(session);
    Binding known = of(made);
    try {
      return Memory.view(made, 0, arena, binding -> release(binding, known));
    } catch (RuntimeException e) {
      release(made, known);
      throw e;
    }
  }

  private Binding of(MemorySegment binding) {
    Binding known = bindings.get(binding.address());
    if (known == null) throw OrtException.invalid("no binding has the address " + binding.address() + ": use a pointer that createOrtIoBinding returned and that was not released");
    return known;
  }

  void bindInput(MemorySegment binding, MemorySegment name, MemorySegment value, MemorySegment place) {
    of(binding);
    if (place.address() != 0) requirePlace(name, value, place);
    check.accept(c.bindInput(binding, name, value));
  }

  private void requirePlace(MemorySegment name, MemorySegment value, MemorySegment place) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment found = pointer(arena, out -> c.getTensorMemoryInfo(value, out));
      MemorySegment differ = arena.allocate(ValueLayout.JAVA_INT);
      check.accept(c.compareMemoryInfo(found, place, differ));
      if (differ.get(ValueLayout.JAVA_INT, 0) != 0)
        throw OrtException.invalid("the value for input '" + name.getString(0) + "' is not in the memory that was given: give the OrtMemoryInfo of its place, or NULL");
    }
  }

  void bindOutput(MemorySegment binding, MemorySegment name, MemoryDescriptor what, MemorySegment place) {
    Binding known = of(binding);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment allocator = pointer(arena, out -> c.createAllocator(known.session, place, out));
      try {
        MemorySegment extents = arena.allocateFrom(ValueLayout.JAVA_LONG, what.shape());
        MemorySegment value = pointer(arena, out -> c.createTensorAsOrtValue(allocator, extents, what.shape().length, what.typeOfNewTensor(), out));
        try {
          check.accept(c.bindOutput(binding, name, value));
        } finally {
          c.releaseValue(value);  // the binding has a reference of its own
        }
      } catch (RuntimeException e) {
        c.releaseAllocator(allocator);
        throw e;
      }
      known.allocators.add(allocator);
    }
  }

  void run(MemorySegment binding) {
    check.accept(c.runWithBinding(of(binding).session, MemorySegment.NULL, binding));
  }

  long outputs(MemorySegment binding, MemorySegment to) {
    of(binding);
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment count = arena.allocate(ValueLayout.JAVA_LONG);
      MemorySegment array = pointer(arena, out -> c.getBoundOutputValues(binding, defaultAllocator, out, count));
      long n = count.get(ValueLayout.JAVA_LONG, 0);
      if (n == 0) return 0;
      try {
        MemorySegment values = Memory.view(array, n * ValueLayout.ADDRESS.byteSize());
        if (to.byteSize() < values.byteSize()) {
          for (long i = 0; i < n; ++i) c.releaseValue(values.getAtIndex(ValueLayout.ADDRESS, i));
          throw OrtException.invalid("the array has " + to.byteSize() + " bytes, " + n + " pointers take " + values.byteSize() + ": use a longer one");
        }
        for (long i = 0; i < n; ++i) {
          to.setAtIndex(ValueLayout.ADDRESS, i, values.getAtIndex(ValueLayout.ADDRESS, i));
          LiveObjects.born(ObjectKind.VALUE);
        }
        return n;
      } finally {
        check.accept(c.allocatorFree(defaultAllocator, array));
      }
    }
  }

  void releaseValue(MemorySegment value) {
    c.releaseValue(value);
    LiveObjects.gone(ObjectKind.VALUE);
  }

  void release(MemorySegment binding) {
    release(binding, of(binding));
  }

  /** Releases a binding, unless that was done before: its address may then be that of another one. */
  private void release(MemorySegment binding, Binding known) {
    if (!bindings.remove(binding.address(), known)) return;
    c.releaseIoBinding(binding);
    known.allocators.forEach(c::releaseAllocator);
    LiveObjects.gone(ObjectKind.IO_BINDING);
  }
}
