// Builds model files field by field, well-formed or not, and reads them back.
#pragma once
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "onnx/reader.h"
#include "onnx/schema.h"
#include "onnx/wire_writer.h"

namespace retort::onnx {

using Strings = std::vector<std::string>;

inline MessageWriter tensor_type(int64_t dtype, const std::vector<int64_t>& dims) {
  MessageWriter shape, tensor, type;
  for (int64_t d : dims) {
    MessageWriter dim;
    dim.integer(tag::dim::value, d);
    shape.message(tag::shape::dim, dim);
  }
  tensor.integer(tag::tensor_type::elem_type, dtype);
  tensor.message(tag::tensor_type::shape, shape);
  type.message(tag::type::tensor, tensor);
  return type;
}

inline MessageWriter info(const std::string& name, const MessageWriter& type = tensor_type(1, {2})) {
  MessageWriter m;
  m.bytes(tag::value_info::name, name);
  if (type.size()) m.message(tag::value_info::type, type);
  return m;
}

inline MessageWriter attribute_head(const std::string& name, AttributeKind kind) {
  MessageWriter m;
  m.bytes(tag::attribute::name, name);
  m.integer(tag::attribute::type, int64_t(kind));
  return m;
}

inline MessageWriter int_attribute(const std::string& name, int64_t value) {
  MessageWriter m = attribute_head(name, AttributeKind::i);
  m.integer(tag::attribute::i, value);
  return m;
}

inline MessageWriter graph_attribute(const std::string& name, const MessageWriter& graph) {
  MessageWriter m = attribute_head(name, AttributeKind::graph);
  m.message(tag::attribute::g, graph);
  return m;
}

inline MessageWriter node(const std::string& type, const Strings& inputs, const Strings& outputs,
                          const std::vector<MessageWriter>& attributes = {}, const std::string& domain = "") {
  MessageWriter m;
  for (const std::string& s : inputs) m.bytes(tag::node::input, s);
  for (const std::string& s : outputs) m.bytes(tag::node::output, s);
  m.bytes(tag::node::op_type, type);
  for (const MessageWriter& a : attributes) m.message(tag::node::attribute, a);
  m.text(tag::node::domain, domain);
  return m;
}

/// A float vector of shape [values].
inline MessageWriter float_tensor(const std::string& name, const std::vector<float>& values) {
  MessageWriter m;
  m.integer(tag::tensor::dims, int64_t(values.size()));
  m.integer(tag::tensor::data_type, 1);
  m.bytes(tag::tensor::name, name);
  m.bytes(tag::tensor::raw_data, {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
  return m;
}

/// The content of a GraphProto.
struct GraphSpec {
  std::vector<MessageWriter> nodes;
  std::vector<MessageWriter> inputs, outputs;
  std::vector<MessageWriter> initializers = {}, sparse = {}, infos = {};
  MessageWriter build() const {
    MessageWriter m;
    const auto all = [&](uint32_t field, const std::vector<MessageWriter>& list) {
      for (const MessageWriter& e : list) m.message(field, e);
    };
    all(tag::graph::node, nodes);
    all(tag::graph::initializer, initializers);
    all(tag::graph::sparse_initializer, sparse);
    all(tag::graph::input, inputs);
    all(tag::graph::output, outputs);
    all(tag::graph::value_info, infos);
    return m;
  }
};

inline MessageWriter opset(const std::string& domain, int64_t version) {
  MessageWriter m;
  m.text(tag::opset::domain, domain);
  m.integer(tag::opset::version, version);
  return m;
}

inline std::string model_bytes(const MessageWriter& graph, int64_t ir_version = 8,
                               const std::vector<MessageWriter>& functions = {}) {
  MessageWriter m;
  m.integer(tag::model::ir_version, ir_version);
  m.message(tag::model::opset_import, opset("", 17));
  m.message(tag::model::opset_import, opset("f", 1));
  for (const MessageWriter& f : functions) m.message(tag::model::functions, f);
  m.message(tag::model::graph, graph);
  return m.str();
}

inline std::string model_bytes(const GraphSpec& graph, int64_t ir_version = 8,
                               const std::vector<MessageWriter>& functions = {}) {
  return model_bytes(graph.build(), ir_version, functions);
}

inline std::shared_ptr<Model> read(const std::string& bytes, const ReadOptions& options = {}) {
  return read_model(std::as_bytes(std::span(bytes)), options);
}

/// Expects an error with this code whose message contains `text`.
template <typename F>
void expect_error(ErrorCode code, const std::string& text, F&& f) {
  try {
    f();
    ADD_FAILURE() << "no error, but expected one with: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(int(error.code()), int(code)) << error.message();
    EXPECT_NE(error.message().find(text), std::string::npos) << error.message() << "\nlacks: " << text;
  }
}

inline void expect_unreadable(const std::string& bytes, ErrorCode code, const std::string& text,
                              const ReadOptions& options = {}) {
  expect_error(code, text, [&] { read(bytes, options); });
}

inline const Tensor& constant_named(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.value_count(); ++i) {
    const GraphValue& v = graph.value(ValueId(i));
    if (v.name == name && v.is_constant()) return v.constant;
  }
  throw Error(ErrorCode::not_found, "no constant " + std::string(name));
}

/// A folder that is removed after the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "retort_onnx_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const {
    std::ifstream in(*this / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::filesystem::path path_;
};

}  // namespace retort::onnx
