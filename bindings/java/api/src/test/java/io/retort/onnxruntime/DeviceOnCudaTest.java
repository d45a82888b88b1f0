package io.retort.onnxruntime;

import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** The same tests with the CUDA provider, whose library {@code RETORT_CUDA} names. The GPU may be simulated. */
class DeviceOnCudaTest extends DeviceTest {
  @Override
  String library() {
    String library = System.getenv("RETORT_CUDA");
    Assumptions.assumeTrue(library != null, "no CUDA: RETORT_CUDA is not set to libretort_cuda.so");
    return library;
  }

  @Override
  String provider() {
    return "CUDAExecutionProvider";
  }

  @Override
  List<MemoryKind> measured() {
    return List.of(MemoryKind.DEFAULT);
  }
}
