// Execution plans of cuDNN, and the handles by which they are submitted.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dnn.h"

namespace providers::cuda::dnn {

/// The handles of one device. Thread-safe.
class Handles {
 public:
  Handles() = default;
  ~Handles();
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

 private:
  friend class Loan;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<Handle> idle_;
  size_t made_ = 0;
};

/// A handle that no other thread uses, while this object lives.
class Loan {
 public:
  /// Makes no handle while the stream is captured, since that allocates: waits for another thread's instead.
  Loan(Handles& owner, CUstream stream);
  ~Loan() { back(); }
  Loan(const Loan&) = delete;
  Loan& operator=(const Loan&) = delete;
  Handle handle() const { return handle_; }

 private:
  void back();
  Handles& owner_;
  Handle handle_ = nullptr;
};

/// A tensor that the host gives by its value. It must live as long as plans that use it.
struct ByValue {
  int64_t id;
  const void* at;
};

/// An execution plan. Thread-safe.
class Plan {
 public:
  /// `graph`: what must live as long as the plan. `ids`: the tensors whose addresses `run` gets, in this order.
  Plan(Handles& owner, Handle handle, std::shared_ptr<const void> graph, Descriptor configuration,
       std::vector<int64_t> ids, std::vector<ByValue> values = {});
  size_t workspace() const { return workspace_; }
  /// Submits to the stream. Neither waits nor allocates device memory. `who`: for messages.
  void run(CUstream stream, const std::vector<Address>& at, Address workspace, const std::string& who) const;

 private:
  Descriptor pack(const std::vector<Address>& at, Address workspace) const;

  Handles& owner_;
  std::shared_ptr<const void> graph_;
  Descriptor configuration_, plan_;
  std::vector<int64_t> ids_;
  std::vector<ByValue> values_;
  size_t workspace_ = 0;
  // cuDNN does not promise that a plan may be executed by two threads at once.
  mutable std::mutex mutex_;
  mutable std::vector<Address> last_;
  mutable std::unique_ptr<Descriptor> last_pack_;
};

}  // namespace providers::cuda::dnn
