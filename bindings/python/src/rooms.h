// What each room adds to the module. The order of the calls in module.cc matters: a class comes before the functions
// that name it in their signatures.
#pragma once

#include <nanobind/nanobind.h>

namespace retort::python {

void bind_errors(nanobind::module_& m);
void bind_engine(nanobind::module_& m);
void bind_numpy(nanobind::module_& m);
void bind_memory(nanobind::module_& m);
void bind_arena(nanobind::module_& m);
void bind_vector(nanobind::module_& m);
void bind_sparse(nanobind::module_& m);
void bind_value(nanobind::module_& m);
void bind_lora(nanobind::module_& m);
void bind_environment(nanobind::module_& m);
void bind_devices(nanobind::module_& m);
void bind_options(nanobind::module_& m);
void bind_session(nanobind::module_& m);
void bind_binding(nanobind::module_& m);
void bind_compiler(nanobind::module_& m);
void bind_packages(nanobind::module_& m);
void bind_tools(nanobind::module_& m);

}  // namespace retort::python
