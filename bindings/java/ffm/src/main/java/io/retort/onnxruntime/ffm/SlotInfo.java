package io.retort.onnxruntime.ffm;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;

/**
 * A function of a table.
 *
 * @param index place in the table
 * @param offset the same in bytes
 * @param since version that added it
 * @param name name in C
 * @param method name of the method in Java
 * @param descriptor its types
 * @param handle makes the handle that calls it; the first parameter of the handle is the function's address
 * @param critical whether it is called without a change of the thread's state
 */
public record SlotInfo(int index, long offset, int since, String name, String method, FunctionDescriptor descriptor, Supplier<MethodHandle> handle, boolean critical) {}
