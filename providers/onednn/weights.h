// Constants of a part, in the layouts that primitives need.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "common/graph.h"
#include "dnnl.hpp"

namespace onednn {

using providers::Dims;
using Desc = dnnl::memory::desc;
using DataType = dnnl::memory::data_type;

const dnnl::engine& engine();
/// Row-major; a scalar has one dimension of size 1.
Desc plain(const Dims& dims, DataType type);
/// Returns undef for types that the library does not have.
DataType data_type(ONNXTensorElementDataType type);

/// Memory of the provider, aligned for vectors.
using Bytes = std::shared_ptr<char>;
Bytes allocate(size_t bytes);

/// A constant tensor. Layouts are made on first use and kept; once there is one, the model's layout is freed when
/// nothing uses it any more. Thread-safe.
class Weights {
 public:
  explicit Weights(const providers::TensorView& tensor);
  Weights(const Dims& dims, const std::vector<float>& values);

  const Dims& dims() const { return dims_; }
  DataType type() const { return type_; }
  /// Its memory in this layout. `view` describes the model's tensor: the dimensions of `form`, with the strides in the
  /// model's layout.
  Bytes in(const Desc& form, const Desc& view);
  Bytes in(const Desc& form) { return in(form, plain(form.dims(), type_)); }
  /// In the model's layout. `values` as float32, `integers` of int64 and int32.
  std::vector<float> values();
  const std::vector<int64_t>& integers() const { return integers_; }

 private:
  struct Form {
    Desc desc, view;
    Bytes memory;
  };
  Bytes source();

  Dims dims_;
  DataType type_ = DataType::undef;
  std::vector<int64_t> integers_;
  std::mutex mutex_;
  Bytes raw_;
  std::vector<Form> forms_;
};

}  // namespace onednn
