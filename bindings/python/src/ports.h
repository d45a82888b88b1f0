// Inputs and outputs of a session's model, and its metadata.
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "engine.h"
#include "pairs.h"
#include "types.h"

namespace retort::python {

struct Port {
  nanobind::object key;  // the name, interned: names in programs are mostly the same object
  std::string name;
  std::string what;  // "input 'x'", for messages
  Type type;

  // An input that a run cannot omit.
  bool required() const noexcept { return type.kind != ONNX_TYPE_OPTIONAL; }
};

// The inputs, the outputs, or the initializers that a run may replace.
class Ports {
 public:
  enum class Of { kInputs, kOutputs, kInitializers };

  Ports() = default;
  Ports(const OrtSession* session, Of which);

  size_t size() const noexcept { return ports_.size(); }
  const Port& operator[](size_t index) const noexcept { return ports_[index]; }
  std::vector<Port>::const_iterator begin() const noexcept { return ports_.begin(); }
  std::vector<Port>::const_iterator end() const noexcept { return ports_.end(); }

  // Where the port of this name is, or -1. Looks at `hint` first.
  int find(PyObject* name, size_t hint) const;
  // The names, for functions of the engine. They live as long as this object.
  const std::vector<const char*>& names() const noexcept { return names_; }
  // "'x', 'y'", for messages.
  std::string list() const;

 private:
  std::vector<Port> ports_;
  std::vector<const char*> names_;
};

// C.NodeArg: name, type and shape of an input or output.
struct NodeArg {
  std::string name;
  Type type;

  nanobind::list shape() const;
  nanobind::object text() const;
};
std::vector<NodeArg> node_args(const Ports& ports);

// C.ModelMetadata: a copy, which programs may change.
struct ModelMetadata {
  std::string producer_name;
  std::string graph_name;
  std::string domain;
  std::string description;
  std::string graph_description;
  int64_t version = 0;
  Pairs custom;
};
ModelMetadata metadata_of(const OrtSession* session);

}  // namespace retort::python
