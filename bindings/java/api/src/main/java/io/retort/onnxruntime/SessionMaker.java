package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;

/** Creates native sessions from files, bytes and memory. The caller owns a reference to the handle that is returned. */
final class SessionMaker {
  private interface Call {
    long make(MemorySegment env, MemorySegment options, MemorySegment[] kept, MemorySegment out);
  }

  private SessionMaker() {}

  static SessionHandle ofFile(OrtEnvironmentFFM env, Path model, SessionOptions options) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = OrtApiFFM.path(arena, model);
      return make(env, options, (e, o, kept, out) -> KeptCalls.createSession(env.api().c, e, path, o, out, kept));
    }
  }

  static SessionHandle ofBytes(OrtEnvironmentFFM env, byte[] model, SessionOptions options) {
    Objects.requireNonNull(model, "model");
    if (options != null && options.readsModelInPlace()) return ofMemory(env, Arena.ofAuto().allocateFrom(ValueLayout.JAVA_BYTE, model), options);
    try (Arena arena = Arena.ofConfined()) {
      return ofMemory(env, arena.allocateFrom(ValueLayout.JAVA_BYTE, model), options);
    }
  }

  static SessionHandle ofMemory(OrtEnvironmentFFM env, MemorySegment model, SessionOptions options) {
    if (!model.isNative()) return ofBytes(env, model.toArray(ValueLayout.JAVA_BYTE), options);
    if (!model.scope().isAlive()) throw new IllegalStateException("the arena of the model is closed");
    if (!model.isAccessibleBy(Thread.currentThread())) throw OrtException.invalid("the model is in a confined arena of another thread: allocate it in Arena.ofShared()");
    // Read the options before the session is created, because another thread may close them.
    boolean inPlace = options != null && options.readsModelInPlace();
    SessionHandle session = make(env, options, (e, o, kept, out) -> KeptCalls.createSession(env.api().c, e, model, model.byteSize(), o, out, kept));
    if (!inPlace) return session;
    try {
      // The memory of the model, as a tensor of bytes that the session reads: runs keep its arena open.
      session.lend(ValueMaker.wrap(env.api(), model, new MemoryDescriptor(OnnxTensorElementType.UINT8, model.byteSize()), DeviceSpec.CPU));
      return session;
    } catch (RuntimeException e) {
      session.release();
      throw e;
    }
  }

  private static SessionHandle make(OrtEnvironmentFFM env, SessionOptions options, Call call) {
    OrtApiFFM api = env.api();
    Handle used = env.use();
    try {
      SessionOptionsHandle with = options == null ? null : (SessionOptionsHandle) options.use();
      try (Arena arena = Arena.ofConfined()) {
        if (with != null) api.same(with.api, "the SessionOptions object");
        MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
        api.check(made(call, used, with, out));
        MemorySegment session = out.get(ValueLayout.ADDRESS, 0);
        return new SessionHandle(api, session, with == null ? null : with.needs.copy(), used);
      } finally {
        if (with != null) with.release();
      }
    } finally {
      used.release();
    }
  }

  /**
   * Creates the native session. The library reads initializers that are in memory of the program, so their arenas stay
   * open during the call.
   */
  private static long made(Call call, Handle env, SessionOptionsHandle options, MemorySegment out) {
    if (options == null) return call.make(env.address, MemorySegment.NULL, ValueHandle.scopes(List.of()), out);
    List<ValueHandle> lent = options.needs.values();
    try {
      return call.make(env.address, options.address, ValueHandle.scopes(lent), out);
    } catch (IllegalStateException | WrongThreadException e) {
      throw ValueHandle.refused(lent, "an initializer of the SessionOptions", e);
    }
  }
}
