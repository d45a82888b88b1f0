find_package(fmt REQUIRED)  # headers only: fmt_impl.cc holds the compiled part, because Debian's static library is missing
find_package(Threads REQUIRED)
get_target_property(fmt_include fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(retort_base SYSTEM PUBLIC ${fmt_include})
target_link_libraries(retort_base PUBLIC Threads::Threads)
set_source_files_properties(${dir}/fmt_impl.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)  # it compiles fmt's functions itself
