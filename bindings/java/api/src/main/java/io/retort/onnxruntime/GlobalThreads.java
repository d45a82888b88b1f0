package io.retort.onnxruntime;

import java.lang.foreign.MemorySegment;

/**
 * Threads that all sessions with {@link SessionOptions#disablePerSessionThreads()} share instead of having their own.
 *
 * @param intraOp number of threads that compute an operator, including the caller's; 0 for one per core
 * @param interOp number of branches that run at the same time under {@link ExecutionMode#PARALLEL}; 0 to let the
 * library choose
 * @param spinning whether idle threads poll for work for a while before they sleep, which is faster but uses the
 * processor
 * @param denormalsAreZero whether the threads treat denormal numbers, with which processors are slow, as zero
 */
public record GlobalThreads(int intraOp, int interOp, boolean spinning, boolean denormalsAreZero) {
  /**
   * Checks the numbers of threads.
   *
   * @throws OrtException if a number is negative
   */
  public GlobalThreads {
    if (intraOp < 0) throw OrtException.invalid(intraOp + " threads for an operator: use 0 to let the library choose, or 1 for the caller's thread alone");
    if (interOp < 0) throw OrtException.invalid(interOp + " threads for branches: use 0 to let the library choose");
  }

  /** Creates an OrtThreadingOptions; the caller releases it. */
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
