find_path(RETORT_FMT fmt/core.h REQUIRED)  # headers only: fmt_impl.cc holds the compiled part, because Debian's static library is missing
find_package(Threads REQUIRED)
target_include_directories(retort_base SYSTEM PUBLIC ${RETORT_FMT})
target_link_libraries(retort_base PUBLIC Threads::Threads)
set_source_files_properties(${dir}/fmt_impl.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # it compiles fmt's functions itself
