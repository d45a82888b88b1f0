package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.BiFunction;

/**
 * A LoRA adapter: values for inputs of a model that was made for adapters, from a file in the format of ONNX Runtime
 * ({@code .onnx_adapter}). {@link RunOptions#addActiveLoraAdapter} applies it to runs. It may be closed while run
 * options still use it. Thread-safe.
 */
public final class LoraAdapter extends NativeObject {
  private static final class AdapterHandle extends Handle {
    AdapterHandle(OrtApiFFM api, MemorySegment address, Handle env) {
      super(api, ObjectKind.LORA_ADAPTER, address, env);
    }

    @Override
    void free() {
      api.c.releaseLoraAdapter(address);
    }
  }

  private LoraAdapter(OrtApiFFM api, MemorySegment address, Handle env) {
    super(new AdapterHandle(api, address, env));
  }

  /**
   * Loads an adapter from a file.
   *
   * @param env the environment
   * @param file file of the adapter
   * @return the adapter
   * @throws OrtException if the file is not an adapter, or the library is older than 1.20
   */
  public static LoraAdapter create(OrtEnvironmentFFM env, Path file) {
    Objects.requireNonNull(file, "file");
    return make(env, (arena, out) -> env.api().c.createLoraAdapter(OrtApiFFM.path(arena, file), MemorySegment.NULL, out));
  }

  /**
   * Loads an adapter from bytes.
   *
   * @param env the environment
   * @param adapter the content of an adapter file, which is copied. Not all libraries check it completely: ONNX Runtime
   * may crash if the content is truncated
   * @return the adapter
   * @throws OrtException if the bytes are not an adapter, or the library is older than 1.20
   */
  public static LoraAdapter create(OrtEnvironmentFFM env, byte[] adapter) {
    Objects.requireNonNull(adapter, "adapter");
    return make(env, (arena, out) -> env.api().c.createLoraAdapterFromArray(arena.allocateFrom(ValueLayout.JAVA_BYTE, adapter), adapter.length, MemorySegment.NULL, out));
  }

  private static LoraAdapter make(OrtEnvironmentFFM env, BiFunction<Arena, MemorySegment, MemorySegment> call) {
    OrtApiFFM api = Objects.requireNonNull(env, "env").api();
    api.require(20, "adapters");
    Handle used = env.use();
    try (Arena arena = Arena.ofConfined()) {
      return new LoraAdapter(api, api.pointer(arena, out -> call.apply(arena, out)), used);
    } finally {
      used.release();
    }
  }

  @Override
  String title() {
    return "adapter";
  }
}
