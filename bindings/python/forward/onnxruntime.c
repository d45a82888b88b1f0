// The library capi/libonnxruntime.so of the package onnxruntime, for programs and packages that open it or are linked to
// it (onnxruntime-genai, programs in C and Rust). The official wheel has a second copy of the engine there; this one has
// the engine that Python's sessions use, libretort.so.1 of the folder above, and each function calls the one of that name
// there. The folder is that of the file itself: programs may open it through a symbolic link.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct OrtApiBase OrtApiBase;
typedef struct OrtStatus OrtStatus;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef void Function(void);

#define EXPORTED __attribute__((visibility("default")))

static void* engine;
static char path[PATH_MAX + sizeof "/../libretort.so.1"];

// When the library is loaded, since the path may be relative to the folder that the process works in.
__attribute__((constructor)) static void open_engine(void) {
  Dl_info here;
  if (!dladdr(&engine, &here) || !realpath(here.dli_fname, path)) return;
  strcpy(strrchr(path, '/'), "/../libretort.so.1");
  engine = dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static Function* function(const char* name) {
  union {
    void* address;
    Function* function;
  } found = {engine ? dlsym(engine, name) : NULL};
  if (found.address) return found.function;
  if (!engine) dlopen(path, RTLD_NOW | RTLD_LOCAL);  // for the reason
  const char* reason = dlerror();
  fprintf(stderr, "libonnxruntime.so has no engine: %s; leave the file in the folder of the Python package onnxruntime\n",
          reason ? reason : "its own folder was not found");
  abort();
}

EXPORTED const OrtApiBase* OrtGetApiBase(void) {
  return ((const OrtApiBase* (*)(void))function("OrtGetApiBase"))();
}

EXPORTED OrtStatus* OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions* options, int use_arena) {
  Function* const append = function("OrtSessionOptionsAppendExecutionProvider_CPU");
  return ((OrtStatus* (*)(OrtSessionOptions*, int))append)(options, use_arena);
}

EXPORTED OrtStatus* OrtSessionOptionsAppendExecutionProvider_CUDA(OrtSessionOptions* options, int device) {
  Function* const append = function("OrtSessionOptionsAppendExecutionProvider_CUDA");
  return ((OrtStatus* (*)(OrtSessionOptions*, int))append)(options, device);
}
