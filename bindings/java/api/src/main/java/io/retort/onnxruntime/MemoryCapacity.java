package io.retort.onnxruntime;

/**
 * How much memory a device has, in bytes, as its provider says.
 *
 * @param total all of it
 * @param available what can still be allocated
 */
public record MemoryCapacity(long total, long available) {}
