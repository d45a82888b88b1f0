// Options of the oneDNN provider of official builds.
#pragma once

struct OrtDnnlProviderOptions {
  int use_arena;          // 0 or 1
  void* threadpool_args;  // what the provider's own thread pool is made from, or null
};
