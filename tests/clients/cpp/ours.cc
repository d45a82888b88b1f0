// Uses what the installed headers have beyond the official ones of Debian.
//
//   ours DATA
#include <cstdio>
#include <utility>

#include "client.h"

Ort::Env& env() {
  static Ort::Env one(ORT_LOGGING_LEVEL_FATAL, "client");
  return one;
}

// documents.cc
void page_io_binding();
void page_before();
void page_tensors();
void page_bound();
// custom.cc
void lite_function();
void lite_texts();
void lite_variadic();
void lite_class();
void operator_with_statuses();
// numbers.cc
void halves();
void brain_floats();
void bytes();
// providers.cc
void schemas();
void events();
void kernel_definitions();
void assignment();
void hardware();
void compiled();
void pairs();
void statuses();
// objects.cc
void sparse_by_rows();
void sparse_by_places_and_blocks();
void containers();
void texts_of_tensors();
void allocators();
void threads_of_a_program();
void options_by_entries();
void records();
void copies();
// kernels.cc
void kernel_of_many_inputs();
void model_in_parts();
void model_on_top();
void model_that_is_written();
// settings.cc
void every_setting();
void custom_op_entries();
void absent_providers();
void environment();
void types_of_values();
void sessions_tell();
// plugged.cc
void plugged();

namespace Ort {
int used_names();  // written by names.py
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_data = argv[1];
  const std::pair<const char*, void (*)()> tests[] = {{"pageIoBinding", page_io_binding},
                                                      {"pageBefore", page_before},
                                                      {"pageTensors", page_tensors},
                                                      {"pageBound", page_bound},
                                                      {"liteFunction", lite_function},
                                                      {"liteTexts", lite_texts},
                                                      {"liteVariadic", lite_variadic},
                                                      {"liteClass", lite_class},
                                                      {"operatorWithStatuses", operator_with_statuses},
                                                      {"halves", halves},
                                                      {"brainFloats", brain_floats},
                                                      {"bytes", bytes},
                                                      {"schemas", schemas},
                                                      {"events", events},
                                                      {"kernelDefinitions", kernel_definitions},
                                                      {"assignment", assignment},
                                                      {"hardware", hardware},
                                                      {"compiled", compiled},
                                                      {"pairs", pairs},
                                                      {"statuses", statuses},
                                                      {"sparseByRows", sparse_by_rows},
                                                      {"sparseByPlacesAndBlocks", sparse_by_places_and_blocks},
                                                      {"containers", containers},
                                                      {"textsOfTensors", texts_of_tensors},
                                                      {"allocators", allocators},
                                                      {"threadsOfAProgram", threads_of_a_program},
                                                      {"optionsByEntries", options_by_entries},
                                                      {"records", records},
                                                      {"copies", copies},
                                                      {"kernelOfManyInputs", kernel_of_many_inputs},
                                                      {"modelInParts", model_in_parts},
                                                      {"modelOnTop", model_on_top},
                                                      {"modelThatIsWritten", model_that_is_written},
                                                      {"everySetting", every_setting},
                                                      {"customOpEntries", custom_op_entries},
                                                      {"absentProviders", absent_providers},
                                                      {"environment", environment},
                                                      {"typesOfValues", types_of_values},
                                                      {"sessionsTell", sessions_tell},
                                                      {"plugged", plugged}};
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
  std::printf("engine %s, %d names of headers\n%d passed, %d failed\n", Ort::GetVersionString().c_str(),
              Ort::used_names(), passed, failed);
}
