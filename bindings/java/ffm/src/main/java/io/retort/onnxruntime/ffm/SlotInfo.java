package io.retort.onnxruntime.ffm;

import java.lang.foreign.FunctionDescriptor;
import java.lang.invoke.MethodHandle;
import java.util.function.Supplier;

/**
 * A slot of a table: one function of the C interface.
 *
 * @param index number of the slot in the table
 * @param offset offset of the slot in bytes
 * @param since version that added it
 * @param name name of the function in C
 * @param method name of the method in Java
 * @param descriptor types of the function
 * @param handle returns the handle that calls the function; the first parameter of the handle is the address of the
 * function
 * @param critical whether the call skips the change of the thread's state ({@code Linker.Option.critical})
 */
public record SlotInfo(int index, long offset, int since, String name, String method, FunctionDescriptor descriptor, Supplier<MethodHandle> handle, boolean critical) {}
