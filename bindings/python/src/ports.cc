#include "ports.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "rooms.h"
#include "text.h"

namespace nb = nanobind;

namespace retort::python {
namespace {

struct Questions {
  decltype(OrtApi::SessionGetInputCount) count;
  decltype(OrtApi::SessionGetInputName) name;
  decltype(OrtApi::SessionGetInputTypeInfo) type;
  const char* what;
};

Questions questions_of(Ports::Of which) {
  const OrtApi& a = api();
  switch (which) {
    case Ports::Of::kInputs:
      return {a.SessionGetInputCount, a.SessionGetInputName, a.SessionGetInputTypeInfo, "input '"};
    case Ports::Of::kOutputs:
      return {a.SessionGetOutputCount, a.SessionGetOutputName, a.SessionGetOutputTypeInfo, "output '"};
    default:
      return {a.SessionGetOverridableInitializerCount, a.SessionGetOverridableInitializerName,
              a.SessionGetOverridableInitializerTypeInfo, "input '"};
  }
}

bool same_text(PyObject* text, const std::string& name) noexcept {
  Py_ssize_t length = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text, &length);
  if (!bytes) {
    PyErr_Clear();
    return false;
  }
  return static_cast<size_t>(length) == name.size() && std::memcmp(bytes, name.data(), name.size()) == 0;
}

}  // namespace

Ports::Ports(const OrtSession* session, Of which) {
  const Questions ask = questions_of(which);
  OrtAllocator* allocator = default_allocator();
  size_t count = 0;
  check(ask.count(session, &count));
  ports_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    char* name = nullptr;
    check(ask.name(session, i, allocator, &name));
    Port port;
    port.name = take_text(allocator, name);
    port.what = ask.what + port.name + "'";
    port.key = nb::steal(PyUnicode_InternFromString(port.name.c_str()));
    port.type = type_of(made<OrtTypeInfo>(ask.type, session, i).get());
    ports_.push_back(std::move(port));
  }
  for (const Port& port : ports_) {
    names_.push_back(port.name.c_str());
  }
}

int Ports::find(PyObject* name, size_t hint) const {
  const size_t count = ports_.size();
  for (size_t step = 0, i = hint; step < count; ++step, ++i) {
    if (i >= count) {
      i = 0;
    }
    if (ports_[i].key.ptr() == name) {
      return static_cast<int>(i);
    }
  }
  if (!PyUnicode_Check(name)) {
    return -1;
  }
  for (size_t i = 0; i < count; ++i) {
    if (same_text(name, ports_[i].name)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string Ports::list() const {
  std::string text;
  for (const Port& port : ports_) {
    text.append(text.empty() ? "'" : ", '").append(port.name).append("'");
  }
  return text;
}

nb::list NodeArg::shape() const {
  nb::list extents;
  for (size_t i = 0; i < type.shape.size(); ++i) {
    const bool named = i < type.symbols.size() && !type.symbols[i].empty();
    if (type.shape[i] >= 0) {
      extents.append(type.shape[i]);
    } else if (named) {
      extents.append(type.symbols[i]);
    } else {
      extents.append(nb::none());
    }
  }
  return extents;
}

nb::object NodeArg::text() const {
  return nb::str("NodeArg(name='{}', type='{}', shape={})").format(name, type.text(), shape());
}

std::vector<NodeArg> node_args(const Ports& ports) {
  std::vector<NodeArg> result;
  for (const Port& port : ports) {
    result.push_back({port.name, port.type});
  }
  return result;
}

namespace {

struct FreeMetadata {
  void operator()(OrtModelMetadata* m) const noexcept { api().ReleaseModelMetadata(m); }
};

Pairs custom_metadata(const OrtModelMetadata* metadata) {
  OrtAllocator* allocator = default_allocator();
  char** keys = nullptr;
  int64_t count = 0;
  check(api().ModelMetadataGetCustomMetadataMapKeys(metadata, allocator, &keys, &count));
  Pairs result;
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = take_text(allocator, keys[i]);
    char* value = nullptr;
    check(api().ModelMetadataLookupCustomMetadataMap(metadata, allocator, c_text(key), &value));
    result[key] = take_text(allocator, value);
  }
  if (keys) {
    allocator->Free(allocator, keys);
  }
  return result;
}

}  // namespace

ModelMetadata metadata_of(const OrtSession* session) {
  OrtModelMetadata* handle = nullptr;
  check(api().SessionGetModelMetadata(session, &handle));
  const std::unique_ptr<OrtModelMetadata, FreeMetadata> owned(handle);
  OrtAllocator* allocator = default_allocator();
  const auto text = [&](auto function) {
    char* value = nullptr;
    check(function(handle, allocator, &value));
    return take_text(allocator, value);
  };
  ModelMetadata result;
  result.producer_name = text(api().ModelMetadataGetProducerName);
  result.graph_name = text(api().ModelMetadataGetGraphName);
  result.domain = text(api().ModelMetadataGetDomain);
  result.description = text(api().ModelMetadataGetDescription);
  result.graph_description = text(api().ModelMetadataGetGraphDescription);
  check(api().ModelMetadataGetVersion(handle, &result.version));
  result.custom = custom_metadata(handle);
  return result;
}

void bind_ports(nb::module_& m) {
  nb::class_<NodeArg>(m, "NodeArg", nb::is_weak_referenceable(),
                      "Name, type and shape of an input or output of a model.")
      .def_ro("name", &NodeArg::name, "The name.")
      .def_prop_ro(
          "type", [](const NodeArg& a) { return a.type.text(); }, "The type, for example tensor(float).")
      .def_prop_ro(
          "shape", &NodeArg::shape,
          "The extents of a tensor: numbers, names of free extents, None for free extents without name. [] for "
          "other types, and for tensors of unknown rank.")
      .def("__str__", &NodeArg::text)
      .def("__repr__", &NodeArg::text);
  nb::class_<ModelMetadata>(m, "ModelMetadata", nb::is_weak_referenceable(), "What the file of a model tells about it.")
      .def_rw("producer_name", &ModelMetadata::producer_name, "The program that wrote the model.")
      .def_rw("graph_name", &ModelMetadata::graph_name, "Name of the graph.")
      .def_rw("domain", &ModelMetadata::domain, "Domain of the model, for example org.example.")
      .def_rw("description", &ModelMetadata::description, "Description of the model.")
      .def_rw("graph_description", &ModelMetadata::graph_description, "Description of the graph.")
      .def_rw("version", &ModelMetadata::version, "Version of the model; 9223372036854775807 if the file has none.")
      .def_rw("custom_metadata_map", &ModelMetadata::custom, "Further texts by key: a copy.");
}

}  // namespace retort::python
