package io.retort.onnxruntime;

/** Kinds of native objects, as {@link LiveObjects} counts them. */
public enum ObjectKind {
  /** Environments. */
  ENVIRONMENT,
  /** Options of sessions. */
  SESSION_OPTIONS,
  /** Sessions, including those that the official Java package owns. */
  SESSION,
  /** Options of runs. */
  RUN_OPTIONS,
  /** I/O bindings. */
  IO_BINDING,
  /** Values. Several references to one value count once. */
  VALUE,
  /** Allocators that sessions created. */
  ALLOCATOR,
  /** Streams. */
  SYNC_STREAM,
  /** Adapters. */
  LORA_ADAPTER,
  /** Compilations of models. */
  MODEL_COMPILATION
}
