// Matrix products by cuBLASLt. A plan of a product is found once: the algorithm, and its workspace.
#pragma once
#include <atomic>
#include <compare>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "common/graph.h"
#include "device.h"

namespace providers::cuda {

enum class ProductActivation : int { none, relu, gelu_tanh };

/// What the products of float8 are multiplied by: float32 numbers in device memory.
enum class ProductScales : int {
  none,
  one,  ///< a number for A and one for B
  each  ///< a number for each row of A and one for each column of B
};

/// A number of elements for each matrix.
struct Steps {
  int64_t a = 0, b = 0, c = 0, d = 0;
  auto key() const { return std::make_tuple(a, b, c, d); }
};

/// D = activation(alpha · A · B + beta · C + bias), for matrices in row-major order: A is m × k, B k × n, C and D m × n,
/// and the bias has n elements of D's type, which are added to each row. Strides and leading dimensions count elements.
/// A product of float8 (compute capability 8.9 or newer) has transposed_b alone, and rows of A, B and D that are whole
/// multiples of 16 bytes; one of A and B at most is float8e5m2. A bias has 16 bits.
struct Product {
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;    ///< of A and B
  ONNXTensorElementDataType type_b = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  ///< of B, if it is another float8
  ONNXTensorElementDataType out = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;     ///< of C and D; int32 for int8
  ONNXTensorElementDataType wide =
      ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;  ///< of C and the bias, if D is float8e4m3fn
  bool tf32 = false;                            ///< float32 may be rounded to 10 bits of mantissa
  int64_t m = 0, n = 0, k = 0;
  bool transposed_a = false;  ///< A is stored as k × m
  bool transposed_b = false;  ///< B is stored as n × k
  Steps lead;                 ///< from a stored row to the next; 0: rows are adjacent
  int64_t batch = 1;
  Steps stride;               ///< from a matrix to the next; 0: all products use one
  float alpha = 1, beta = 0;  ///< beta 0: there is no C. int8: alpha 1, beta 0
  bool bias = false;
  int64_t stride_bias = 0;  ///< from the bias of a product of the batch to the next
  ProductActivation activation = ProductActivation::none;
  ProductScales scales = ProductScales::none;

  auto key() const {
    return std::make_tuple(
        std::make_tuple(int(type), int(type_b), int(out), int(wide), tf32, m, n, k, transposed_a, transposed_b, batch),
        lead.key(), stride.key(), std::make_tuple(alpha, beta, bias, stride_bias, int(activation), int(scales)));
  }
  bool operator<(const Product& other) const { return key() < other.key(); }
  double operations() const { return 2.0 * double(m) * double(n) * double(k) * double(batch); }
};

struct ProductAddresses {
  Address a = 0, b = 0, c = 0, d = 0, bias = 0;
  Address workspace = 0;               ///< ProductPlan::workspace bytes
  Address scales_a = 0, scales_b = 0;  ///< if the product has scales; 0: 1
  Address scale_d = 0;                 ///< of a D that is float8: a float32 by which results are multiplied last
};

/// How a product is made. Immutable for its users; thread-safe.
struct ProductPlan {
  Product product;
  size_t workspace = 0;  ///< bytes
  struct State;
  std::shared_ptr<State> state;
};

/// cuBLASLt on one device. Thread-safe.
class Products {
 public:
  explicit Products(Device& device);
  ~Products();

  /// The plan of a product, none of whose extents is 0; null if cuBLASLt has no algorithm for it (a smaller epilogue may
  /// help). Throws Error for other failures.
  /// A large product is tried with several algorithms on the device, and the fastest is kept. This waits for the device,
  /// so no plan may be made while this thread captures a stream.
  std::shared_ptr<const ProductPlan> plan(const Product& product);
  /// Submits the product. Addresses that are aligned to less than 16 bytes use another, slower algorithm.
  void submit(const ProductPlan& plan, CUstream stream, const ProductAddresses& addresses);
  /// Whether algorithms are tried; yes unless it is switched off. Without it the first proposal is taken.
  void measure(bool enabled) { measures_ = enabled; }

 private:
  std::shared_ptr<ProductPlan> make(const Product& product);

  Device& device_;
  void* handle_ = nullptr;
  std::atomic<bool> measures_{true};
  std::mutex mutex_;  // of plans_
  std::map<Product, std::shared_ptr<const ProductPlan>> plans_;
};

}  // namespace providers::cuda
