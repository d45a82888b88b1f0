// Builds models in ORT format, valid or broken.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "ort_format/read.h"
#include "ort_generated.h"

namespace retort::ort_format {

using Builder = flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
using Strings = std::vector<std::string>;

/// The schema declares a list of strings as a list of numbers; the bytes are the same.
inline Offset<flatbuffers::Vector<uint32_t>> strings(Builder& b, const Strings& all) {
  return Offset<flatbuffers::Vector<uint32_t>>(b.CreateVectorOfStrings(all).o);
}

inline Offset<fbs::TypeInfo> tensor_type(Builder& b, int element, const std::vector<int64_t>& dims) {
  std::vector<Offset<fbs::Dimension>> all;
  for (int64_t d : dims) all.push_back(fbs::CreateDimension(b, fbs::CreateDimensionValue(b, 1, d)));
  const auto shape = fbs::CreateShape(b, b.CreateVector(all));
  return fbs::CreateTypeInfo(b, fbs::AnyType_TensorType, fbs::CreateTensorType(b, element, shape).Union());
}

inline Offset<fbs::ValueInfo> value(Builder& b, const std::string& name, Offset<fbs::TypeInfo> type) {
  return fbs::CreateValueInfoDirect(b, name.c_str(), type);
}

/// A vector of floats.
inline Offset<fbs::Tensor> floats(Builder& b, const std::string& name, const std::vector<float>& values) {
  const std::vector<int64_t> dims{int64_t(values.size())};
  b.ForceVectorAlignment(values.size() * sizeof(float), 1, 16);
  const auto raw = b.CreateVector(reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(float));
  return fbs::CreateTensor(b, b.CreateString(name), b.CreateVector(dims), 1, raw);
}

inline Offset<fbs::Node> node(Builder& b, const std::string& type, const Strings& inputs, const Strings& outputs,
                              const std::vector<Offset<fbs::Attribute>>& attributes = {}, int version = 0) {
  return fbs::CreateNode(b, 0, 0, version, 0, b.CreateString(type), 0, strings(b, inputs), strings(b, outputs),
                         b.CreateVector(attributes));
}

/// The contents of a graph.
struct GraphSpec {
  std::vector<Offset<fbs::Node>> nodes;
  Strings inputs, outputs;
  std::vector<Offset<fbs::ValueInfo>> values;
  std::vector<Offset<fbs::Tensor>> initializers;
  std::vector<Offset<fbs::SparseTensor>> sparse;
  Offset<fbs::Graph> build(Builder& b) const {
    return fbs::CreateGraph(b, b.CreateVector(initializers), b.CreateVector(values), b.CreateVector(nodes), 0, 0,
                            strings(b, inputs), strings(b, outputs), b.CreateVector(sparse));
  }
};

/// The bytes of a model. They begin at a multiple of 16 as long as the string lives.
inline std::string finish(Builder& b, Offset<fbs::Graph> graph, const std::string& version = "6") {
  const std::vector<Offset<fbs::OperatorSet>> opsets{fbs::CreateOperatorSetDirect(b, "", 17)};
  const std::vector<Offset<fbs::Entry>> metadata{fbs::CreateEntryDirect(b, "key", "value")};
  const auto model =
      fbs::CreateModelDirect(b, 8, &opsets, "producer", "1.2", "domain", 3, "doc", graph, "graph doc", &metadata);
  fbs::FinishInferenceSessionBuffer(b, fbs::CreateInferenceSessionDirect(b, version.c_str(), model));
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

inline std::shared_ptr<Model> load(const std::string& bytes, const ReadOptions& options = {}) {
  return load_model(std::as_bytes(std::span(bytes)), options);
}

/// The message of the error that reading throws.
inline std::string error_of(const std::string& bytes, ErrorCode code) {
  try {
    load(bytes, {});
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.message();
    return error.message();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace retort::ort_format
