/**
 * I/O binding of ONNX models over the Foreign Function and Memory API, on Retort and on official ONNX Runtime.
 *
 * {@snippet :
 * try (Arena arena = Arena.ofConfined();
 *     OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
 *     OrtSessionFFM session = OrtSessionFFM.create(env, Path.of("digits.onnx"), null);
 *     OrtIoBindingFFM binding = session.createBinding()) {
 *   MemorySegment image = arena.allocate(4 * 64, 64);
 *   MemorySegment probabilities = arena.allocate(4 * 10, 64);
 *   binding.bindInput("image", image, new long[] {1, 1, 8, 8}, ElementType.FLOAT, DeviceSpec.CPU);                  // read where it lies
 *   binding.bindOutput("probabilities", probabilities, new long[] {1, 10}, ElementType.FLOAT, DeviceSpec.CPU);  // written where it is bound
 *   binding.run();
 * }
 * }
 *
 * <h2>Lifetimes</h2>
 * Everything that belongs to the library is a {@link io.retort.onnxruntime.NativeObject}: close it. Closing is safe in any
 * order, at any time and from any thread: an object that something else or a running call still needs is released when that
 * ends. A closed object throws {@link java.lang.IllegalStateException}; so does a view of memory that is gone, and a run with a
 * value whose arena is closed. An arena cannot be closed while a run uses a segment of it. A forgotten object is released when
 * the garbage collector finds it. {@link io.retort.onnxruntime.LiveObjects} counts live objects.
 *
 * <h2>Errors</h2>
 * Mistakes and errors of the library throw an {@link io.retort.onnxruntime.OrtException} with a code; its message says what is,
 * what is wanted and what to do. A function that the library is too old for throws {@link io.retort.onnxruntime.OrtErrorCode#NOT_IMPLEMENTED}.
 *
 * <h2>Threads</h2>
 * Everything may be used by several threads at once, except a binding and the options of a session. Values of runs in other
 * threads lie in shared arenas.
 */
package io.retort.onnxruntime;
