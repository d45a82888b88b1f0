// Tensors and the other kinds of values: sequences, maps, optionals, sparse tensors.
#pragma once
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"
#include "tensor/grown_rows.h"
#include "tensor/items.h"
#include "tensor/memory_space.h"
#include "tensor/shape.h"

namespace retort {

/// Type, shape and address of dense elements in row-major order. Sub-byte types are packed as the ONNX spec says (first
/// element in the low bits); strings are std::string objects. Copies share the memory through `owner`. Not thread-safe
/// for writing.
class Tensor {
 public:
  Tensor() = default;
  /// Allocates host memory, 64-byte aligned and uninitialised (strings are empty). Throws on overflow or if the
  /// allocation fails.
  Tensor(DType dtype, Shape shape);
  /// Uses existing memory; `owner` (may be null) keeps it alive.
  Tensor(DType dtype, Shape shape, void* data, std::shared_ptr<void> owner, MemorySpace space = {});
  /// A cache [B, H, rows, D] in a block with room for more rows.
  Tensor(DType dtype, Shape shape, std::shared_ptr<GrownRows> rows);

  /// A scalar or vector that owns its memory: for constants and tests.
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
  /// Element `i`; the data need not be aligned.
  template <typename T>
  T at(size_t i) const {
    T value;
    std::memcpy(&value, static_cast<const char*>(data()) + i * sizeof(T), sizeof(T));
    return value;
  }
  const std::shared_ptr<void>& owner() const { return owner_; }
  /// The block of a cache whose elements have not been requested; null for any other tensor.
  const GrownRows* grown() const { return grown_ && !grown_->is_dense() ? grown_ : nullptr; }
  explicit operator bool() const { return dtype_ != DType::undefined; }

  /// The same memory with another shape of equal element count.
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

/// Whether the address is a multiple of the element size (at most 8). Constants of a graph may have any address: a
/// model file does not align them, and those that are packed need no copy.
bool is_aligned(DType dtype, const void* data);
/// `tensor` itself if it is aligned, otherwise an aligned copy.
Tensor aligned(const Tensor& tensor);

/// `bytes` bytes of host memory aligned to 64, freed by the pointer's deleter. Throws ErrorCode::fail if the allocation
/// fails.
std::shared_ptr<void> allocate_host(size_t bytes);

class Value;

struct Sequence {
  DType dtype = DType::undefined;  ///< element type if the elements are tensors
  Items items;
};
struct Map {
  Tensor keys, values;  ///< both of rank 1 and equal length
};
struct Optional {
  std::shared_ptr<Value> value;  ///< null: no value
};
/// COO: indices [nnz] (linear) or [nnz, rank]; CSR and block-sparse have two index tensors.
struct SparseTensor {
  enum class Format : uint8_t { coo, csr, block } format = Format::coo;
  Shape dense_shape;
  Tensor values, indices, inner_indices;
};

/// The content of an OrtValue. std::monostate: nothing yet.
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
