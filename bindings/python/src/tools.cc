// What Retort can do beyond the C interface of ONNX Runtime (retort_tools.h). Results are those texts of JSON.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "engine.h"
#include "gil_lock.h"
#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using Options = std::vector<std::pair<std::string, std::string>>;

std::string describe_model(const std::string& path, const Options& options) {
  const auto describe =
      reinterpret_cast<RetortDescribeModel>(get_retort_function("RetortDescribeModel", "describe_model()"));
  std::vector<const char*> keys, values;
  for (const auto& [key, value] : options) {
    keys.push_back(c_text(key));
    values.push_back(c_text(value));
  }
  OrtAllocator* allocator = default_allocator();
  char* json = nullptr;
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = describe(c_text(path), keys.data(), values.data(), keys.size(), allocator, &json);
  }
  check(status);
  return take_text(allocator, json);
}

std::string list_operators() {
  const auto list =
      reinterpret_cast<RetortListOperators>(get_retort_function("RetortListOperators", "list_operators()"));
  OrtAllocator* allocator = default_allocator();
  char* json = nullptr;
  check(list(allocator, &json));
  return take_text(allocator, json);
}

void write_model(const std::string& from, const std::string& to, const std::string& format, const std::string& external,
                 size_t threshold) {
  const auto write = reinterpret_cast<RetortWriteModel>(get_retort_function("RetortWriteModel", "write_model()"));
  OrtStatus* status = nullptr;
  {
    const WithoutGil release;
    status = write(c_text(from), c_text(to), c_text(format), c_text(external), threshold);
  }
  check(status);
}

}  // namespace

void bind_tools(nb::module_& m) {
  m.def("describe_model", &describe_model, nb::arg("model"), nb::arg("options") = Options(),
        "Describes a model and the graph that runs, as JSON; options are pairs of texts.");
  m.def("list_operators", &list_operators, "The operators that the engine has, as JSON.");
  m.def("write_model", &write_model, nb::arg("source"), nb::arg("target"), nb::arg("format") = "",
        nb::arg("external") = "", nb::arg("threshold") = 1024,
        "Writes a model in the format ONNX or ORT; weights of `threshold` bytes and more into the file `external`.");
}

}  // namespace retort::python
