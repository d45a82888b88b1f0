// Operation graphs of cuDNN's backend interface, and their meaning in plain loops.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "numbers.h"

namespace software_cuda::dnn {

enum Status { kOk = 0, kBadParameter = 2000, kUnsupported = 3000, kFailed = 5000 };
enum Kind {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kConfiguration = 3,
  kHeuristics = 4,
  kPlan = 5,
  kForward = 10,
  kBackwardData = 12,
  kPointwiseOperation = 13,
  kGraph = 15,
  kPack = 16,
  kTensor = 17,
  kMatmul = 18,
  kMatmulOperation = 19,
  kReduction = 21,
  kReductionOperation = 22
};

struct Data;

/// What an attribute of a descriptor was set to.
struct Value {
  int type = -1;
  std::vector<int64_t> integers;  // also of enumerations, booleans and addresses
  std::vector<double> reals;
  std::vector<std::shared_ptr<const Data>> descriptors;
};

/// What a descriptor has. Those that refer to it keep it.
struct Data {
  int kind = -1;
  bool final = false;
  std::map<int, Value> attributes;

  const Value* find(int name) const;
  int64_t integer(int name, int64_t otherwise) const;
  double real(int name, double otherwise) const;
  std::vector<int64_t> integers(int name) const;
  /// null without one
  const Data* descriptor(int name) const;
};

/// A failure, with its status and reason.
struct Refusal {
  int status;
  std::string why;
};

struct Tensor {
  explicit Tensor(const Data& d);
  int64_t id;
  bool within;    // virtual: it has no memory
  bool by_value;  // one number in memory of the host
  Number type;
  std::vector<int64_t> dims, strides;
  int64_t count() const;
};

/// The descriptor of an attribute; throws Refusal without one.
const Data& need(const Data& d, int name);

/// Throws Refusal if an operation's tensors do not fit.
void examine(const Data& operation);

/// Where the tensors of a graph are, by number.
using Places = std::map<int64_t, void*>;
/// Where a tensor is, virtual ones included.
using Finder = std::function<void*(const Tensor&)>;

// cudnn_attention.cc: products of matrices, reductions, and graphs of both.
void examine_product(const Data& operation);
void examine_reduction(const Data& operation);
void compute_product(const Data& operation, const Finder& at);
void compute_reduction(const Data& operation, const Finder& at);
/// Throws Refusal if a graph with products of matrices is not an attention that an engine supports.
void examine_attention(const Data& graph);

/// Computes an operation graph. `between`: room for virtual tensors.
void compute(const Data& graph, const Places& places);

}  // namespace software_cuda::dnn
