# Measurements, for make bench, bench-frugal, bench-presets and bench-kernels.
if(NOT RETORT_TESTS OR RETORT_SANITIZE)
  return()
endif()

# Measurements through the C interface, on any engine.
foreach(program IN ITEMS frugal/frugal frugal/idle_cpu frugal/call_overhead presets/presets zoo/decode_growing)
  get_filename_component(name ${program} NAME)
  add_executable(${name} ${CMAKE_SOURCE_DIR}/bench/${program}.cc)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/bench)
  target_link_libraries(${name} PRIVATE ${CMAKE_DL_LIBS})
endforeach()

add_executable(binding_bench ${CMAKE_SOURCE_DIR}/bench/binding/binding.cc)
target_include_directories(binding_bench PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/examples/providers/loopback)
target_link_libraries(binding_bench PRIVATE ${CMAKE_DL_LIBS})

# A language model, with the decoder of the example.
find_package(nlohmann_json REQUIRED)
add_executable(llm_worker ${CMAKE_SOURCE_DIR}/bench/llm/worker.cc ${CMAKE_SOURCE_DIR}/examples/chat/decoder.cc)
target_include_directories(llm_worker PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/examples/chat)
target_compile_definitions(llm_worker PRIVATE RETORT_API_DLOPEN)
target_link_libraries(llm_worker PRIVATE nlohmann_json::nlohmann_json ${CMAKE_DL_LIBS})
retort_together(llm_worker)
find_package(ICU COMPONENTS i18n uc)
if(ICU_FOUND)
  add_executable(llm_tokenize ${CMAKE_SOURCE_DIR}/bench/llm/tokenize.cc ${CMAKE_SOURCE_DIR}/examples/chat/tokenizer.cc)
  target_include_directories(llm_tokenize PRIVATE ${CMAKE_SOURCE_DIR}/examples/chat)
  target_link_libraries(llm_tokenize PRIVATE nlohmann_json::nlohmann_json ICU::i18n ICU::uc)
  retort_together(llm_tokenize)
endif()

# Measurements of kernels, compared with the limits of the processor.
add_custom_target(kernel_benches)
set(kernel_benches gemm_bench conv_bench vec_bench)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
  list(APPEND kernel_benches codes_bench)
endif()
foreach(name IN LISTS kernel_benches)
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/kernels/${name}.cc)
  target_link_libraries(${name} PRIVATE retort_kernels)
  add_dependencies(kernel_benches ${name})
endforeach()
