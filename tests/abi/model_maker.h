// Builds ONNX models in a scene: the bytes of a ModelProto, for CreateSessionFromArray.
#pragma once
#include <concepts>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models.h"

namespace scenes {

/// A protobuf message, field by field.
class Message {
 public:
  Message& number(int field, uint64_t value) { return tag(field, 0).varint(value); }
  Message& text(int field, std::string_view bytes) {
    tag(field, 2).varint(bytes.size());
    bytes_ += bytes;
    return *this;
  }
  Message& message(int field, const Message& inner) { return text(field, inner.bytes_); }
  Message& real(int field, float value) {
    tag(field, 5);
    char raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    bytes_.append(raw, sizeof value);
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  Message& tag(int field, int wire) { return varint(uint64_t(field) << 3 | uint64_t(wire)); }
  Message& varint(uint64_t value) {
    for (; value > 127; value >>= 7) bytes_ += char(value | 128);
    bytes_ += char(value);
    return *this;
  }
  std::string bytes_;
};

/// An extent: a number, or a name.
struct Extent {
  Extent(int64_t n) : value(n) {}           // NOLINT(google-explicit-constructor)
  Extent(const char* text) : name(text) {}  // NOLINT(google-explicit-constructor)
  int64_t value = 0;
  std::string name;
};
using Extents = std::vector<Extent>;

/// Types of values; the numbers of element types are the same in ONNX and in the C interface.
inline Message elements(int type, const Extents& dims) {
  Message shape, tensor;
  for (const Extent& d : dims) {
    shape.message(1, d.name.empty() ? Message().number(1, uint64_t(d.value)) : Message().text(2, d.name));
  }
  return tensor.number(1, uint64_t(type)).message(2, shape);
}
inline Message tensor_type(int type, const Extents& dims) { return Message().message(1, elements(type, dims)); }
inline Message tensor_type(int type) { return Message().message(1, Message().number(1, uint64_t(type))); }
inline Message sparse_type(int type, const Extents& dims) { return Message().message(8, elements(type, dims)); }
inline Message sequence_of(const Message& of) { return Message().message(4, Message().message(1, of)); }
inline Message optional_of(const Message& of) { return Message().message(9, Message().message(1, of)); }

template <std::integral T>
Message attribute(std::string_view name, T value) {
  return Message().text(1, name).number(3, uint64_t(int64_t(value))).number(20, 2);
}
inline Message attribute(std::string_view name, const char* value) {
  return Message().text(1, name).text(4, value).number(20, 3);
}
inline Message attribute(std::string_view name, const Message& type_proto) {
  return Message().text(1, name).message(14, type_proto).number(20, 13);
}
inline Message body(std::string_view name, const Message& graph) {
  return Message().text(1, name).message(6, graph).number(20, 5);
}

/// A graph, and the model around it.
class Maker {
 public:
  explicit Maker(int opset = 17) { import("", opset); }
  Maker& import(std::string_view domain, int version) {
    imports_.push_back(Message().text(1, domain).number(2, uint64_t(version)));
    return *this;
  }
  Maker& input(std::string_view name, const Message& type) { return port(11, name, type); }
  Maker& output(std::string_view name, const Message& type) { return port(12, name, type); }
  Maker& floats_in(std::string_view name, const Extents& dims) { return input(name, tensor_type(1, dims)); }
  Maker& floats_out(std::string_view name, const Extents& dims) { return output(name, tensor_type(1, dims)); }
  Maker& node(std::string_view type, const std::vector<std::string>& in, const std::vector<std::string>& out,
              const std::vector<Message>& attributes = {}, std::string_view domain = "") {
    Message n;
    for (const std::string& name : in) n.text(1, name);
    for (const std::string& name : out) n.text(2, name);
    n.text(4, type);
    for (const Message& a : attributes) n.message(5, a);
    graph_.message(1, n.text(7, domain));
    return *this;
  }
  template <typename T>
  Maker& initializer(std::string_view name, int type, const std::vector<int64_t>& dims, const std::vector<T>& data) {
    Message t;
    for (const int64_t d : dims) t.number(1, uint64_t(d));
    t.number(2, uint64_t(type)).text(8, name);
    graph_.message(5, t.text(9, {reinterpret_cast<const char*>(data.data()), data.size() * sizeof(T)}));
    return *this;
  }
  Maker& floats(std::string_view name, const std::vector<int64_t>& dims, const std::vector<float>& data) {
    return initializer(name, 1, dims, data);
  }
  Maker& integers(std::string_view name, const std::vector<int64_t>& dims, const std::vector<int64_t>& data) {
    return initializer(name, 7, dims, data);
  }
  Maker& sparse_initializer(const Message& sparse) {
    graph_.message(15, sparse);
    return *this;
  }
  Maker& metadata(std::string_view key, std::string_view value) {
    metadata_.push_back(Message().text(1, key).text(2, value));
    return *this;
  }
  Maker& version(int64_t version) {
    version_ = version;
    return *this;
  }
  /// The graph alone, for a body.
  Message graph() const { return Message(graph_).text(2, "made"); }
  std::string bytes() const {
    Message model;
    model.number(1, 10).message(7, graph());
    if (version_) model.number(5, uint64_t(*version_));
    for (const Message& m : imports_) model.message(8, m);
    for (const Message& m : metadata_) model.message(14, m);
    return model.bytes();
  }
  OrtSession* open(Scene& s, const OrtSessionOptions* options = nullptr) const {
    const std::string made = bytes();
    OrtSessionOptions* own = options ? nullptr : s.options();
    OrtSession* session = nullptr;
    s.call("CreateSessionFromArray",
           s.api.CreateSessionFromArray(s.env(), made.data(), made.size(), options ? options : own, &session));
    s.api.ReleaseSessionOptions(own);
    return session;
  }

 private:
  Maker& port(int field, std::string_view name, const Message& type) {
    graph_.message(field, Message().text(1, name).message(2, type));
    return *this;
  }
  Message graph_;
  std::vector<Message> imports_, metadata_;
  std::optional<int64_t> version_;
};

}  // namespace scenes
