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
 *   binding.bindInput("image", image, new long[] {1, 1, 8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);                  // read in place
 *   binding.bindOutput("probabilities", probabilities, new long[] {1, 10}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);  // written in place
 *   binding.run();
 * }
 * }
 *
 * <h2>Lifetimes</h2>
 * Everything that belongs to the library is a {@link io.retort.onnxruntime.NativeObject}: close it. Objects may be
 * closed in any order, at any time and from any thread. If another object or a running call still needs an object, it
 * is released when they are done. Using a closed object throws {@link java.lang.IllegalStateException}; so does reading
 * a view of memory that was freed, and a run with a value whose arena is closed. An arena cannot be closed while a run
 * uses a segment of it. The garbage collector releases objects that the program forgets to close. {@link
 * io.retort.onnxruntime.LiveObjects} counts live objects.
 *
 * <h2>Errors</h2>
 * Mistakes, and errors of the library, throw an {@link io.retort.onnxruntime.OrtException} with a code. Its message
 * says what is wrong, what is expected and what to do. If the library is too old for a function, the exception has the
 * code {@link io.retort.onnxruntime.OrtErrorCode#NOT_IMPLEMENTED}.
 *
 * <h2>Threads</h2>
 * All objects may be used by several threads at once, except bindings and the options of sessions. Values for runs in
 * other threads must be in shared arenas.
 */
package io.retort.onnxruntime;
