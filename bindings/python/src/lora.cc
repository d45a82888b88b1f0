#include "lora.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "adapter_file.h"
#include "rooms.h"
#include "text.h"
#include "value.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

using Path = std::filesystem::path;

// C.AdapterFormat: the contents of an adapter's file.
struct AdapterFormat {
  int32_t version = 0;
  int32_t model_version = 0;
  nb::dict parameters;  // name -> OrtValue
};

std::string read_file(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.is_open() || file.bad()) {
    throw Misuse(ORT_NO_SUCHFILE, "adapter '" + path.string() + "': " + std::strerror(errno));
  }
  return bytes;
}

void write_file(const Path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw Misuse(ORT_FAIL, "Failed to open file:\"" + path.string() + "\" for writing: " + std::strerror(errno));
  }
}

AdapterParameter parameter_of(const std::string& name, nb::handle object) {
  const OrtValue* value = unwrap(object, "AdapterFormat: parameter '" + name + "'");
  require_tensor(value, "AdapterFormat");
  if (!device_of(memory_of(value)).is_host()) {
    throw Misuse(ORT_INVALID_ARGUMENT, "AdapterFormat: parameter '" + name + "' is not in host memory; copy it first");
  }
  TensorForm form = form_of(value);
  if (form.element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    throw Misuse(ORT_INVALID_ARGUMENT, "AdapterFormat: parameter '" + name + "' has strings; adapters have numbers");
  }
  const size_t bytes = element_bytes(form.element, count_of(form.shape.data(), form.shape.size()));
  const auto* data = bytes ? static_cast<const char*>(data_of(value)) : "";
  return {name, proto_of_element(form.element), std::move(form.shape), {data, bytes}};
}

void export_adapter(const AdapterFormat& self, const Path& path) {
  AdapterContents contents;
  contents.version = self.version;
  contents.model_version = self.model_version;
  for (auto [name, value] : self.parameters) {
    contents.parameters.push_back(parameter_of(nb::cast<std::string>(name), value));
  }
  write_file(path, write_adapter(contents));
}

nb::object value_of(const AdapterParameter& parameter) {
  const Element element = element_of_proto(parameter.type);
  const auto& shape = parameter.shape;
  const size_t bytes = element_bytes(element, count_of(shape.data(), shape.size()));
  if (bytes != parameter.data.size() || element == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    throw Misuse(ORT_INVALID_ARGUMENT, "adapter: parameter '" + parameter.name + "' has " +
                                           std::to_string(parameter.data.size()) +
                                           " bytes of data, but its shape and "
                                           "type (" +
                                           element_name(element) + ") need " + std::to_string(bytes));
  }
  Owned<OrtValue> value = new_tensor(default_allocator(), element, shape.data(), shape.size());
  if (bytes) {
    std::memcpy(data_of(value.get()), parameter.data.data(), bytes);
  }
  return wrap(std::move(value));
}

AdapterFormat read_adapter(const Path& path) {
  const std::string bytes = read_file(path);
  const AdapterContents contents = parse_adapter(bytes);
  AdapterFormat format;
  format.version = contents.version;
  format.model_version = contents.model_version;
  for (const AdapterParameter& parameter : contents.parameters) {
    format.parameters[parameter.name.c_str()] = value_of(parameter);
  }
  return format;
}

}  // namespace

void LoraAdapter::load(const std::string& path) {
  OrtLoraAdapter* adapter = nullptr;
  if (OrtStatus* status = api().CreateLoraAdapter(c_text(path), nullptr, &adapter)) {
    const std::string message = api().GetErrorMessage(status);
    const OrtErrorCode code = api().GetErrorCode(status);
    api().ReleaseStatus(status);
    throw Misuse(code, message);
  }
  handle_.reset(adapter);
}

const OrtLoraAdapter* LoraAdapter::get() const {
  if (!handle_) {
    throw Misuse(ORT_INVALID_ARGUMENT, "LoraAdapter: nothing is loaded; call Load(path) first");
  }
  return handle_.get();
}

void bind_lora(nb::module_& m) {
  nb::class_<LoraAdapter>(m, "LoraAdapter", "Parameters that replace inputs of a model during a run.")
      .def(nb::init<>())
      .def(
          "Load", [](LoraAdapter& self, const Path& path) { self.load(path.string()); }, nb::arg("path"),
          nb::lock_self(), "Reads the adapter from a file.");
  nb::class_<AdapterFormat>(m, "AdapterFormat", "The contents of an adapter's file.")
      .def(nb::init<>())
      .def_prop_ro(
          "format_version", [](const AdapterFormat&) { return AdapterContents{}.format; },
          "The version of the file format.")
      .def_rw("adapter_version", &AdapterFormat::version, "The version of the adapter.")
      .def_rw("model_version", &AdapterFormat::model_version, "The version of the model that it was made for.")
      .def_rw("parameters", &AdapterFormat::parameters, "A dict: name -> OrtValue.")
      .def("export_adapter", &export_adapter, nb::arg("path"), "Writes the file.")
      .def_static("read_adapter", &read_adapter, nb::arg("path"), "Reads a file.");
}

}  // namespace retort::python
