# Compiler options of every target. x86-64-v2 is the oldest processor that Retort runs on; kernels choose wider
# instructions at run time.
add_compile_options(-Wall -Wextra -Werror -Wno-psabi -Wno-missing-field-initializers)
# g++ 12 warns of overlaps and overflows in std::string that do not exist (GCC bug 105651).
add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-gnu-unique>)
# Without this, g++ collects garbage from 128 MB on, which takes 6 to 10 % of the time of a file and frees little.
add_compile_options($<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=500000>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_options(-march=x86-64-v2)
endif()
# Every operation rounds once, as written: results must not depend on which operations the compiler contracts.
add_compile_options(-ffp-contract=off)
# Highway: three instruction levels are enough on x86-64 (x86-64-v2, AVX2+FMA, AVX-512). Other processors have the level
# that the compiler always assumes: NEON on AArch64, whose vectors have a known size. The third macro keeps Highway from
# compiling each function for more levels, because constructors that the compiler generates would not be compiled for
# them.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  add_compile_definitions(HWY_DISABLE_PCLMUL_AES "HWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_AVX3_DL)")
else()
  add_compile_definitions(HWY_COMPILE_ONLY_STATIC "HWY_DISABLED_TARGETS=(HWY_SVE|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128)"
                          TOOLCHAIN_MISS_SYS_AUXV_H)
endif()
add_compile_definitions($<$<BOOL:${RETORT_VERIFY}>:RETORT_VERIFY>)
if(RETORT_SANITIZE)
  add_compile_options(-fsanitize=${RETORT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  add_compile_options(-Wno-array-bounds)  # GCC 12 warns of concatenated strings in the code that sanitizers instrument
  # AddressSanitizer reports accesses by null pointers itself. Without the second check, compiling takes a quarter less
  # time; the preset ubsan keeps it.
  if(RETORT_SANITIZE MATCHES "address")
    add_compile_options(-fno-sanitize=null)
  endif()
  add_link_options(-fsanitize=${RETORT_SANITIZE})
endif()
add_compile_options($<$<CONFIG:Release>:-ffunction-sections> $<$<CONFIG:Release>:-fdata-sections>)
if(RETORT_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  add_compile_options(-fpch-preprocess)  # without it ccache does not handle files that use the precompiled header
endif()
