# Stand-ins for NVIDIA's libraries that run on the processor, and their own test: software/README.md.
set(software ${CMAKE_SOURCE_DIR}/tests/cuda/software)
set(software_includes ${CMAKE_SOURCE_DIR}/providers/cuda ${CMAKE_SOURCE_DIR}/providers ${CMAKE_SOURCE_DIR}/include/retort)
set(software_folder ${CMAKE_BINARY_DIR}/software_cuda)

# retort_software_cuda(TARGET SONAME SOURCES...)
function(retort_software_cuda target soname)
  list(TRANSFORM ARGN PREPEND ${software}/ OUTPUT_VARIABLE sources)
  add_library(${target} SHARED ${sources})
  target_include_directories(${target} PRIVATE ${software} ${software_includes})
  target_compile_options(${target} PRIVATE -fvisibility=hidden)
  string(REGEX REPLACE "^lib(.*)\\.so\\.([0-9]+)$" "\\1" name ${soname})
  string(REGEX REPLACE "^lib(.*)\\.so\\.([0-9]+)$" "\\2" version ${soname})
  # The file itself has the name by which it is opened.
  set_target_properties(${target} PROPERTIES PREFIX "lib" OUTPUT_NAME ${name} SUFFIX ".so.${version}" NO_SONAME ON
                        UNITY_BUILD OFF LIBRARY_OUTPUT_DIRECTORY ${software_folder} BUILD_RPATH "$ORIGIN"
                        DISABLE_PRECOMPILE_HEADERS ON)
  target_link_options(${target} PRIVATE -Wl,-soname,${soname} -Wl,-z,nodelete)
  target_link_libraries(${target} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
endfunction()

find_package(Threads REQUIRED)
retort_software_cuda(software_cuda libcuda.so.1 memory.cc queue.cc streams.cc capture.cc fibers.cc stacks.cc warp.cc module.cc
                     device.cc exports_device.cc exports_work.cc)
retort_software_cuda(software_nvrtc libnvrtc.so.13 nvrtc.cc nvrtc_text.cc texts.cc)
retort_software_cuda(software_cublaslt libcublasLt.so.13 cublaslt.cc)
retort_software_cuda(software_cudnn libcudnn.so.9 cudnn.cc cudnn_graph.cc cudnn_attention.cc)
target_link_libraries(software_cublaslt PRIVATE software_cuda)
target_link_libraries(software_cudnn PRIVATE software_cuda)
set_source_files_properties(${software}/texts.cc PROPERTIES COMPILE_DEFINITIONS SOFTWARE_FOLDER="${software}"
  OBJECT_DEPENDS "${software}/kernel_abi.h;${software}/shim.cuh;${software}/shim_math.cuh;${software}/shim_tail.cuh")

add_executable(software_cuda_test ${software}/self_test.cc)
target_include_directories(software_cuda_test PRIVATE ${software} ${software_includes})
target_link_libraries(software_cuda_test PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(software_cuda_test software_cuda software_nvrtc software_cublaslt software_cudnn)
add_test(NAME software_cuda COMMAND software_cuda_test ${software_folder} ${CMAKE_SOURCE_DIR}/providers/cuda/kernels)

# The provider's core without an engine, on the stand-ins: core/.
if(TARGET retort_cuda)
  file(GLOB cuda_core_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/core/*.cc)
  add_executable(cuda_core_test ${cuda_core_tests} $<TARGET_OBJECTS:retort_cuda>)
  target_include_directories(cuda_core_test PRIVATE ${CMAKE_SOURCE_DIR}/providers ${CMAKE_SOURCE_DIR}/include/retort)
  target_link_libraries(cuda_core_test PRIVATE GTest::gtest_main Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(cuda_core_test PRIVATE $<$<CONFIG:Release>:-O0>)
  retort_together(cuda_core_test)
  add_dependencies(cuda_core_test software_cuda software_nvrtc)
  add_test(NAME cuda_core COMMAND cuda_core_test --gtest_brief=1)
  set_tests_properties(cuda_core PROPERTIES ENVIRONMENT RETORT_CUDA_LIBRARIES=${software_folder})
endif()

# The older calls for CUDA: with a device, without a driver, and with a library that has no plug-in beside it: calls/.
if(TARGET retort_cuda)
  file(GLOB cuda_calls_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/cuda/calls/*.cc)
  add_executable(cuda_calls_test ${cuda_calls_tests})
  target_include_directories(cuda_calls_test PRIVATE ${CMAKE_SOURCE_DIR}/include/retort)
  target_link_libraries(cuda_calls_test PRIVATE GTest::gtest Threads::Threads ${CMAKE_DL_LIBS})
  target_compile_options(cuda_calls_test PRIVATE $<$<CONFIG:Release>:-O0>)
  retort_together(cuda_calls_test)
  add_dependencies(cuda_calls_test retort_cuda retort_shared software_cuda software_nvrtc software_cublaslt software_cudnn)
  set(alone ${CMAKE_BINARY_DIR}/without_cuda/libretort.so.1)
  add_custom_command(OUTPUT ${alone} DEPENDS retort_shared
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/without_cuda
    COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:retort_shared> ${alone})
  target_sources(cuda_calls_test PRIVATE ${alone})
  set(digits ${CMAKE_SOURCE_DIR}/examples/digits/digits.onnx)
  if(NOT RETORT_SANITIZE)  # the software CUDA switches stacks, which sanitizers do not follow
    add_test(NAME cuda_calls COMMAND cuda_calls_test $<TARGET_FILE:retort_shared> ${digits} --gtest_brief=1 --gtest_filter=Present.*:Options.*)
    set_tests_properties(cuda_calls PROPERTIES ENVIRONMENT RETORT_CUDA_LIBRARIES=${software_folder})
  endif()
  add_test(NAME cuda_calls_no_driver COMMAND cuda_calls_test $<TARGET_FILE:retort_shared> ${digits} --gtest_brief=1 --gtest_filter=NoDriver.*:Options.*)
  add_test(NAME cuda_calls_no_plugin COMMAND cuda_calls_test ${alone} ${digits} --gtest_brief=1 --gtest_filter=NoPlugin.*:Options.*)
  set_tests_properties(cuda_calls_no_driver cuda_calls_no_plugin PROPERTIES ENVIRONMENT "RETORT_CUDA_LIBRARIES=;CUDA_VISIBLE_DEVICES=")
endif()
