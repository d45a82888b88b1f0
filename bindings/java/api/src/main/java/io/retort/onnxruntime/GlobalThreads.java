package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;

/**
 * Threads that sessions with {@link SessionOptions#disablePerSessionThreads()} share, in place of threads of their own.
 *
 * @param intraOp how many compute an operator, the caller's included; 0 for as many as there are cores
 * @param interOp how many branches run at the same time under {@link ExecutionMode#PARALLEL}; 0 for the library's choice
 * @param spinning whether threads without work look for it a while before they sleep: faster, at the cost of the processor
 * @param denormalsAreZero whether the threads take numbers near zero (denormals), with which processors are slow, for zero
 */
public record GlobalThreads(int intraOp, int interOp, boolean spinning, boolean denormalsAreZero) {
  /**
   * Checks the numbers.
   *
   * @throws OrtException if one is negative
   */
  public GlobalThreads {
    if (intraOp < 0) throw OrtException.invalid(intraOp + " threads for an operator: give 0 for the library's choice, 1 for none besides the caller's");
    if (interOp < 0) throw OrtException.invalid(interOp + " threads for branches: give 0 for the library's choice");
  }

  /** OrtThreadingOptions, which the caller releases. */
  MemorySegment create(OrtApiFFM api) {
    MemorySegment made = api.pointer(api.c::createThreadingOptions);
    try {
      api.check(api.c.setGlobalIntraOpNumThreads(made, intraOp));
      api.check(api.c.setGlobalInterOpNumThreads(made, interOp));
      api.check(api.c.setGlobalSpinControl(made, spinning ? 1 : 0));
      if (denormalsAreZero) api.check(api.c.setGlobalDenormalAsZero(made));
      return made;
    } catch (RuntimeException e) {
      api.c.releaseThreadingOptions(made);
      throw e;
    }
  }
}
