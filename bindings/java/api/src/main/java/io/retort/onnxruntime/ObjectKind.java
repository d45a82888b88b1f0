package io.retort.onnxruntime;

/** Kinds of native objects, as {@link LiveObjects} counts them. */
public enum ObjectKind {
  /** Environments. */
  ENVIRONMENT,
  /** Options of sessions. */
  SESSION_OPTIONS,
  /** Sessions, those that another binding owns included. */
  SESSION,
  /** Options of runs. */
  RUN_OPTIONS,
  /** I/O bindings. */
  IO_BINDING,
  /** Values; several references to one count once. */
  VALUE,
  /** Allocators that a session made. */
  ALLOCATOR,
  /** Streams. */
  SYNC_STREAM,
  /** Adapters. */
  LORA_ADAPTER,
  /** Compilations of models. */
  MODEL_COMPILATION
}
