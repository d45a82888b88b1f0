package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.KeptCalls;
import io.retort.onnxruntime.ffm.Memory;
import io.retort.onnxruntime.ffm.OrtCompileApi;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.function.Function;

/**
 * Compiles a model for the providers of session options, ahead of its use: what comes out is a model again, with the providers' parts compiled,
 * which sessions load faster. One input is set, then {@link #compile(Path)} or {@link #compile()} is called. For one thread at a time.
 */
public final class ModelCompilation extends NativeObject {
  private static final int ERROR_IF_NO_NODES_COMPILED = 1;
  private static final int ERROR_IF_OUTPUT_FILE_EXISTS = 2;

  private static final class CompilationHandle extends Handle {
    final OrtCompileApi c;
    final SessionOptionsHandle options;
    /** Bytes of the model, which the library reads when it compiles. */
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
   * A compilation with nothing set.
   *
   * @param env the environment
   * @param options say which providers compile; changes that are made to them later have no effect
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
   * Says which model is compiled.
   *
   * @param model its file
   * @return this
   */
  public ModelCompilation setInput(Path model) {
    try (Arena arena = Arena.ofConfined()) {
      return set(h -> h.c.modelCompilationOptions_SetInputModelPath(h.address, OrtApiFFM.path(arena, model)));
    }
  }

  /**
   * Says which model is compiled.
   *
   * @param model its bytes, which are copied
   * @return this
   */
  public ModelCompilation setInput(byte[] model) {
    return set(h -> h.c.modelCompilationOptions_SetInputModelFromBuffer(h.address, h.model.allocateFrom(ValueLayout.JAVA_BYTE, model), model.length));
  }

  /**
   * Has weights written beside the model, which is written to a file.
   *
   * @param file the file for weights, in the folder of the model
   * @param threshold bytes of weights that stay in the model, at most
   * @return this
   */
  public ModelCompilation setExternalInitializers(Path file, long threshold) {
    if (threshold < 0) throw OrtException.invalid("a threshold of " + threshold + " bytes: give 0 to have all weights written beside the model");
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment path = OrtApiFFM.text(arena, "file", file.toString());
      return set(h -> h.c.modelCompilationOptions_SetOutputModelExternalInitializersFile(h.address, path, threshold));
    }
  }

  /**
   * Says where what providers compiled is kept.
   *
   * @param embed in the model (true) or in files beside it (false), which is how a library begins
   * @return this
   */
  public ModelCompilation setEpContextEmbedMode(boolean embed) {
    return set(h -> h.c.modelCompilationOptions_SetEpContextEmbedMode(h.address, embed));
  }

  /**
   * Says what is an error.
   *
   * @param nothingCompiled whether it is one that no provider compiled a part of the model
   * @param fileExists whether it is one that the file of the compiled model is there already
   * @return this
   * @throws OrtException if the library is older than 1.23
   */
  public ModelCompilation setErrors(boolean nothingCompiled, boolean fileExists) {
    env.api().require(23, "flags of a compilation");
    return set(h -> h.c.modelCompilationOptions_SetFlags(h.address, (nothingCompiled ? ERROR_IF_NO_NODES_COMPILED : 0) | (fileExists ? ERROR_IF_OUTPUT_FILE_EXISTS : 0)));
  }

  /**
   * Compiles the model.
   *
   * @param output file that the compiled model is written to
   * @throws OrtException if no input was set, it cannot be read, or a provider fails
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
   * Compiles the model.
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

  /** Initializers that the program lends are read: their arenas stay open meanwhile. */
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
