// Attention by cuDNN: execution plans by problem.
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "dnn_plan.h"
#include "plan.h"
#include "recent.h"

namespace providers::cuda {

/// Which keys a query sees.
enum class DnnMask {
  none,
  top,    ///< query i: keys 0 … i
  bottom  ///< the last query: all keys, each one before: one less
};

/// softmax(scale * Q * K^T) * V for cuDNN. Element (b, h, s, i) lies at b * strides[0] + h * strides[1] + s * strides[2]
/// + i; `heads` is a multiple of `kv_heads`.
struct AttentionProblem {
  Type type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16;
  int64_t batch = 0, heads = 0, kv_heads = 0, rows = 0, keys = 0, size = 0, v_size = 0;
  std::array<int64_t, 3> q{}, k{}, v{}, y{};  ///< strides in elements
  float scale = 1;
  DnnMask mask = DnnMask::none;
  bool lengths = false;  ///< entries of the batch have their own numbers of queries and keys

  std::string key() const;
};

struct AttentionPointers {
  Address q = 0, k = 0, v = 0, y = 0;
  Address row_counts = 0, key_counts = 0;  ///< [batch] int32, if the problem has lengths
  Address workspace = 0;
};

/// The way to run a problem. Thread-safe.
class AttentionPlan {
 public:
  AttentionPlan(dnn::Handles& handles, const AttentionProblem& problem, std::shared_ptr<const void> graph,
                dnn::Descriptor configuration, dnn::Handle handle, std::vector<dnn::ByValue> values);
  size_t workspace() const { return plan_.workspace(); }
  /// Submits to the stream. Neither waits nor allocates device memory.
  void run(CUstream stream, const AttentionPointers& at) const;

 private:
  friend class Attentions;
  dnn::Plan plan_;
  const bool lengths_;
  std::string engine_;
};

/// cuDNN's attention on one device. Thread-safe.
class Attentions {
 public:
  Attentions(Device& device, dnn::Handles& handles);
  /// The plan for a problem, kept in the process; null if no engine of cuDNN supports it.
  std::shared_ptr<const AttentionPlan> plan(const AttentionProblem& problem);

 private:
  std::shared_ptr<const AttentionPlan> make(const AttentionProblem& problem);

  Device& device_;
  dnn::Handles& handles_;
  std::mutex planning_;  // one thread plans at a time
  Recent<AttentionPlan> plans_{500};
};

}  // namespace providers::cuda
