// What a compiled kernel and the library that runs it share. This text also precedes every kernel, so it
// includes nothing.
#pragma once

/// Functions that a kernel calls. They act on the thread of the block that runs at the moment.
struct SoftwareRuntime {
  void (*sync_threads)();
  /// The barrier with a predicate; the number of threads for which it is not 0.
  int (*sync_count)(int predicate);
  /// Meets the lanes of `mask`. The last one to come calls `complete` with the request of each lane, by lane.
  void (*meet)(unsigned mask, void* request, void (*complete)(void** requests, unsigned mask));
  /// Lets the other threads of the block run.
  void (*yield)();
  /// kind 0: f16, 1: bf16, 2: tf32
  void (*multiply)(int kind, float* d, const unsigned* a, const unsigned* b);
  void (*load_matrices)(unsigned* r, const void* row, int transposed);
  void (*copy_async)(void* shared, const void* global, int bytes);
  void (*commit_copies)();
  void (*wait_copies)(int pending);
  void (*fail)(const char* why);
  unsigned long long (*clock)();
};

struct SoftwareParameter {
  unsigned size;
  int kind;  ///< 0: a number, 1: an address, 2: a struct, which may have addresses inside
};

/// A kernel: "software_kernel_" and its name.
struct SoftwareKernel {
  void (*call)(void* const* arguments);
  const SoftwareParameter* parameters;
  int parameter_count;
  int most_threads;  ///< of a block; 0: not restricted
};

struct SoftwareIndex {
  unsigned x, y, z;
};

/// "software_module": the variables of a module that the library sets before and while it runs.
struct SoftwareModule {
  const SoftwareRuntime** runtime;
  SoftwareIndex *thread, *block, *block_size, *grid_size;
  unsigned char** dynamic_shared;
};
