// Uses the official C++ interface as programs do.
//
//   client DATA
#include "client.h"

#include <cstdio>
#include <utility>

Ort::Env& env() {
  static Ort::Env one(ORT_LOGGING_LEVEL_FATAL, "client");
  return one;
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_data = argv[1];
  const std::pair<const char*, void (*)()> tests[] = {{"boundRun", bound_run},
                                                      {"unknownShape", unknown_shape},
                                                      {"bindingResults", binding_results},
                                                      {"bindingErrors", binding_errors},
                                                      {"runAsync", run_async},
                                                      {"customAllocator", custom_allocator},
                                                      {"memory", memory},
                                                      {"devices", devices},
                                                      {"metadata", metadata},
                                                      {"ports", ports},
                                                      {"values", values},
                                                      {"strings", strings},
                                                      {"options", options},
                                                      {"initializers", initializers},
                                                      {"adapters", adapters},
                                                      {"terminated", terminated},
                                                      {"modelEditor", model_editor},
                                                      {"customOperator", custom_operator},
                                                      {"prepackedWeights", prepacked_weights}};
  int passed = 0, failed = 0;
  for (const auto& [name, test] : tests) {
    try {
      test();
      ++passed;
    } catch (const std::exception& e) {
      std::printf("FAIL %s: %s\n", name, e.what());
      ++failed;
    }
  }
  std::printf("engine %s, headers of API %d\n%d passed, %d failed\n", Ort::GetVersionString().c_str(), ORT_API_VERSION,
              passed, failed);
}
