// Tensors and the other things that a value can be: sequences, maps, optionals, sparse tensors.
#pragma once
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/grown_rows.h"
#include "tensor/memory_space.h"
#include "tensor/shape.h"

namespace retort {

/// Type, shape and place of dense elements in row-major order. Sub-byte types are packed as the ONNX spec says (first
/// element in the low bits); strings are std::string objects. Copies share the memory through `owner`. Not thread-safe
/// for writing.
class Tensor {
 public:
  Tensor() = default;
  /// Host memory of its own, 64-byte aligned, uninitialised (strings are empty). Throws on overflow or lack of memory.
  Tensor(DType dtype, Shape shape);
  /// Somebody else's memory; `owner` (may be null) keeps it alive.
  Tensor(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner, MemorySpace space = {});
  /// A cache [B, H, rows, D] in a block with room for more.
  Tensor(DType dtype, Shape shape, std::shared_ptr<GrownRows> rows);

  /// A scalar or vector of its own: for constants and tests.
  template <typename T>
  static Tensor of(Shape shape, const std::vector<T>& values) {
    Tensor t(dtype_of<T>, std::move(shape));
    for (size_t i = 0; i < values.size(); ++i) t.mutable_data<T>()[i] = values[i];
    return t;
  }

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  size_t count() const { return count_; }
  size_t bytes() const { return dtype_bytes(dtype_, count_); }
  const MemorySpace& space() const { return space_; }
  const void* data() const { return grown_ ? grown_->dense() : data_; }
  void* mutable_data() { return grown_ ? grown_->dense() : data_; }
  template <typename T>
  const T* data() const {
    return static_cast<const T*>(data());
  }
  template <typename T>
  T* mutable_data() {
    return static_cast<T*>(mutable_data());
  }
  /// Element `i`, wherever it lies: also where the data is not aligned.
  template <typename T>
  T at(size_t i) const {
    T value;
    std::memcpy(&value, static_cast<const char*>(data()) + i * sizeof(T), sizeof(T));
    return value;
  }
  const std::shared_ptr<void>& owner() const { return owner_; }
  /// Where a cache lies whose elements nobody has asked for; null for any other tensor.
  const GrownRows* grown() const { return grown_ && !grown_->is_dense() ? grown_ : nullptr; }
  explicit operator bool() const { return dtype_ != DType::undefined; }

  /// The same memory under another shape of equal element count.
  Tensor reshaped(Shape shape) const;

 private:
  DType dtype_ = DType::undefined;
  size_t count_ = 0;
  Shape shape_;
  void* data_ = nullptr;
  GrownRows* grown_ = nullptr;  ///< what `owner_` holds, if data() is to come from there
  MemorySpace space_;
  std::shared_ptr<void> owner_;
};

/// True when the data lies at a multiple of the element size (at most 8). Constants of a graph may lie at any byte: a
/// model file does not align them, and those that are packed need no copy.
bool is_aligned(DType dtype, const void* data);
/// `tensor` itself when it is aligned, else a copy of it in memory of its own.
Tensor aligned(const Tensor& tensor);

/// Bytes of host memory aligned to 64, freed by the pointer's deleter. Throws ErrorCode::fail when there is none.
std::shared_ptr<void> allocate_host(size_t bytes);

class Value;

struct Sequence {
  DType dtype = DType::undefined;  ///< element type when the elements are tensors
  std::vector<Value> items;
};
struct Map {
  Tensor keys, values;  ///< both of rank 1 and equal length
};
struct Optional {
  std::shared_ptr<Value> value;  ///< null: none
};
/// COO: indices [nnz] (linear) or [nnz, rank]; CSR and block-sparse carry two index tensors.
struct SparseTensor {
  enum class Format : uint8_t { coo, csr, block } format = Format::coo;
  Shape dense_shape;
  Tensor values, indices, inner_indices;
};

/// What an OrtValue holds. std::monostate: nothing yet.
class Value {
 public:
  using Storage = std::variant<std::monostate, Tensor, Sequence, Map, Optional, SparseTensor>;
  Value() = default;
  template <typename T>
  requires std::is_constructible_v<Storage, T&&> Value(T&& v)
      : storage_(std::forward<T>(v)) {}  // NOLINT: implicit by design

  template <typename T>
  const T* get() const {
    return std::get_if<T>(&storage_);
  }
  template <typename T>
  T* get() {
    return std::get_if<T>(&storage_);
  }
  bool empty() const { return std::holds_alternative<std::monostate>(storage_); }
  const Tensor* tensor() const { return get<Tensor>(); }
  const Storage& storage() const { return storage_; }

 private:
  Storage storage_;
};

}  // namespace retort
