// Tests of the official C++ interface: each throws on an error.
#pragma once
#include <onnxruntime_cxx_api.h>

#include <stdexcept>
#include <string>
#include <vector>

using Floats = std::vector<float>;

inline std::string g_data;
Ort::Env& env();

inline std::string model(const char* name) { return g_data + "/" + name; }

inline void expect(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

/// Checks that the call fails with this code.
template <typename Call>
void expect_error(OrtErrorCode code, const std::string& what, const Call& call) {
  try {
    call();
  } catch (const Ort::Exception& e) {
    return expect(e.GetOrtErrorCode() == code,
                  what + ": code " + std::to_string(int(e.GetOrtErrorCode())) + ", " + e.what());
  }
  throw std::runtime_error(what + ": no error");
}

inline Ort::Value tensor(Floats& data, const std::vector<int64_t>& shape) {
  static const Ort::MemoryInfo host = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  return Ort::Value::CreateTensor<float>(host, data.data(), data.size(), shape.data(), shape.size());
}

template <typename T>
std::vector<T> elements(const Ort::Value& value) {
  const T* data = value.GetTensorData<T>();
  return {data, data + value.GetTensorTypeAndShapeInfo().GetElementCount()};
}

// binding.cc
void bound_run();
void unknown_shape();
void binding_results();
void binding_errors();
void run_async();
void custom_allocator();
void memory();
void devices();
// model.cc
void metadata();
void ports();
void values();
void strings();
void options();
void initializers();
void adapters();
void terminated();
void model_editor();
void custom_operator();
void prepacked_weights();
