package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import io.retort.onnxruntime.ffm.Memory;
import io.retort.onnxruntime.ffm.OrtCompileApi;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Objects;
import java.util.function.Function;

/**
 * Compiles a model ahead of time for the providers of session options. The result is again a model, in which the
 * providers' parts are compiled, so that sessions load it faster. Set one input, then call {@link #compile(Path)} or
 * {@link #compile()}. Not thread-safe.
 */
public final class ModelCompilation extends NativeObject {
  private static final int ERROR_IF_NO_NODES_COMPILED = 1;
  private static final int ERROR_IF_OUTPUT_FILE_EXISTS = 2;

  private static final class CompilationHandle extends Handle {
    final OrtCompileApi c;
    final SessionOptionsHandle options;
    /** Holds the bytes of the model until the library reads them in {@code compile}. */
    final Arena model = Arena.ofShared();

    CompilationHandle(OrtApiFFM api, OrtCompileApi c, MemorySegment address, Handle env, SessionOptionsHandle options) {
      super(api, ObjectKind.MODEL_COMPILATION, address, env, options);
      this.c = c;
      this.options = options;
    }

    @Override
    void free() {
      c.releaseModelCompilationOptions(address);
      model.close();
    }
  }

  private final OrtEnvironmentFFM env;

  private ModelCompilation(OrtEnvironmentFFM env, CompilationHandle handle) {
    super(handle);
    this.env = env;
  }

  /**
   * Creates a compilation with no input.
   *
   * @param env the environment
   * @param options options with the providers that compile; later changes to them have no effect
   * @return the compilation
   * @throws OrtException if the library is older than 1.22
   */
  public static ModelCompilation create(OrtEnvironmentFFM env, SessionOptions options) {
    OrtApiFFM api = env.api();
    api.require(22, "compiling a model");
    Handle used = env.use();
    try {
      SessionOptionsHandle with = (SessionOptionsHandle) options.use();
      try {
        api.same(with.api, "the SessionOptions object");
        OrtCompileApi c = new OrtCompileApi(api.c.getCompileApi(), api.apiVersion());
        MemorySegment made = api.pointer(out -> c.createModelCompilationOptionsFromSessionOptions(used.address, with.address, out));
        return new ModelCompilation(env, new CompilationHandle(api, c, made, used, with));
      } finally {
        with.release();
      }
    } finally {
      used.release();
    }
  }

  @Override
  String title() {
    return "compilation";
  }

  private ModelCompilation set(Function<CompilationHandle, MemorySegment> call) {
    CompilationHandle held = (CompilationHandle) enter();
    try {
      held.api.check(call.apply(held));
      return this;
    } finally {
      held.leave();
    }
  }

  /**
   * Sets the model to compile.
   *
   * @param model file of the model
   * @return this
   */
  public ModelCompilation setInput(Path model) {
    try (Arena arena = Arena.ofConfined()) {
      return set(h -> h.c.modelCompilationOptions_SetInputModelPath(h.address, OrtApiFFM.path(arena, model)));
    }
  }

  /**
   * Sets the model to compile.
   *
   * @param model content of the model file, which is copied
   * @return this
   */
  public ModelCompilation setInput(byte[] model) {
    Objects.requireNonNull(model, "model");
    return set(h -> h.c.modelCompilationOptions_SetInputModelFromBuffer(h.address, h.model.allocateFrom(ValueLayout.JAVA_BYTE, model), model.length));
  }

  /**
   * Writes the weights to a file beside the compiled model. Applies if the compiled model is written to a file.
   *
   * @param file file for the weights, in the folder of the compiled model
   * @param threshold weights of at most this many bytes stay in the model
   * @return this
   */
  public ModelCompilation setExternalInitializers(Path file, long threshold) {
    if (threshold < 0) throw OrtException.invalid("a threshold of " + threshold + " bytes: use 0 to write all weights beside the model");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = OrtApiFFM.text(arena, "file", file.toString());
      return set(h -> h.c.modelCompilationOptions_SetOutputModelExternalInitializersFile(h.address, path, threshold));
    }
  }

  /**
   * Sets where the compiled parts are stored.
   *
   * @param embed true to store them in the model, false (the default) to store them in files beside it
   * @return this
   */
  public ModelCompilation setEpContextEmbedMode(boolean embed) {
    return set(h -> h.c.modelCompilationOptions_SetEpContextEmbedMode(h.address, embed));
  }

  /**
   * Sets which situations are errors.
   *
   * @param nothingCompiled whether it is an error if no provider compiles a part of the model
   * @param fileExists whether it is an error if the output file already exists
   * @return this
   * @throws OrtException if the library is older than 1.23
   */
  public ModelCompilation setErrors(boolean nothingCompiled, boolean fileExists) {
    env.api().require(23, "flags of a compilation");
    return set(h -> h.c.modelCompilationOptions_SetFlags(h.address, (nothingCompiled ? ERROR_IF_NO_NODES_COMPILED : 0) | (fileExists ? ERROR_IF_OUTPUT_FILE_EXISTS : 0)));
  }

  /**
   * Sets which weights the compiled parts do not contain.
   *
   * @param mode the mode; compiling fails if the provider of a device does not support it
   * @return this
   * @throws OrtException if the library is older than 1.32
   */
  public ModelCompilation setWeightlessMode(WeightlessMode mode) {
    env.api().require(32, "the mode of models without weights");
    return set(h -> h.c.modelCompilationOptions_SetWeightlessMode(h.address, mode.value()));
  }

  /**
   * Compiles the model and writes it to a file.
   *
   * @param output the file to write
   * @throws OrtException if no input was set, the input cannot be read, or a provider fails
   */
  public void compile(Path output) {
    try (Arena arena = Arena.ofConfined()) {
      set(h -> {
        h.api.check(h.c.modelCompilationOptions_SetOutputModelPath(h.address, OrtApiFFM.path(arena, output)));
        return run(h);
      });
    }
  }

  /**
   * Compiles the model in memory.
   *
   * @return the compiled model
   * @throws OrtException as {@link #compile(Path)}
   */
  public byte[] compile() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS, 2);
      OrtApiFFM api = env.api();
      set(h -> {
        api.check(h.c.modelCompilationOptions_SetOutputModelBuffer(h.address, api.defaultAllocator, out, out.asSlice(8)));
        return run(h);
      });
      MemorySegment bytes = out.get(ValueLayout.ADDRESS, 0);
      try {
        return Memory.view(bytes, out.getAtIndex(ValueLayout.JAVA_LONG, 1)).toArray(ValueLayout.JAVA_BYTE);
      } finally {
        api.check(api.c.allocatorFree(api.defaultAllocator, bytes));
      }
    }
  }

  /**
   * Compiles while the arenas of initializers that belong to the program are kept open, because the library reads them.
   */
  private MemorySegment run(CompilationHandle h) {
    Handle used = env.use();
    try {
      return MemorySegment.ofAddress(KeptCalls.compileModel(h.c, used.address, h.address, ValueHandle.scopes(h.options.needs.values())));
    } catch (IllegalStateException | WrongThreadException e) {
      throw ValueHandle.refused(h.options.needs.values(), "an initializer of the SessionOptions", e);
    } finally {
      used.release();
    }
  }
}
