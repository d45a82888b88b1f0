// Chooses the kernels of steps and packs their weights, on all threads of the session (ADR 0005).
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/loading.h"
#include "memory/host.h"
#include "memory/mapping.h"
#include "plan/build.h"
#include "plan/in_step.h"

namespace retort {
namespace {

// Limits how many bytes of weights are in memory in both forms while threads pack them.
class Transit {
 public:
  explicit Transit(size_t limit) : limit_(limit) {}
  // Waits until `bytes` more stay within the limit, or until nothing else is being packed.
  void enter(size_t bytes) {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return inside_ == 0 || inside_ + bytes <= limit_; });
    inside_ += bytes;
  }
  void leave(size_t bytes) {
    const std::lock_guard lock(mutex_);
    inside_ -= bytes;
    left_.notify_all();
  }

 private:
  const size_t limit_;
  size_t inside_ = 0;
  std::mutex mutex_;
  std::condition_variable left_;
};

class Packer {
 public:
  Packer(Plan& plan, PlannedGraph graph, const PlanOptions& options, uint32_t number)
      : plan_(plan), graph_(graph), options_(options), number_(number) {}

  std::vector<uint32_t> prepare_all() {
    std::vector<Step*> steps;
    for (Step& s : plan_.steps) {
      check_loading();
      if (!s.view) choose_kernel(s);
      const bool wanted = options_.prepack || s.op->has(kInternal);  // internal operators have no other form
      if (s.op->prepare && wanted) steps.push_back(&s);
    }
    readers_ = count_readers();
    release_mappings();
    std::stable_sort(steps.begin(), steps.end(),
                     [&](const Step* a, const Step* b) { return packing_order(*a) < packing_order(*b); });
    expect_packed(steps);
    pack(steps);
    return std::move(readers_);
  }

 private:
  PlanValue& value(SlotIndex i) { return plan_.values[i]; }

  DType step_dtype(const Step& s) const {
    std::vector<Slot> slots(s.inputs.size() + s.outputs.size());
    std::vector<Slot*> in, out;
    size_t next = 0;
    const auto add = [&](SlotIndex v, std::vector<Slot*>& list) {
      Slot& slot = slots[next++];
      if (v != kNoSlot) slot.type = plan_.values[v].type;
      list.push_back(v == kNoSlot ? nullptr : &slot);
    };
    for (SlotIndex v : s.inputs) add(v, in);
    for (SlotIndex v : s.outputs) add(v, out);
    return dispatch_type(*s.op, in, out);
  }

  void choose_kernel(Step& s) {
    s.dtype = step_dtype(s);
    s.kernel = find_kernel(*s.op, s.dtype);
    if (!s.kernel.fn && !s.kernel.carried) {
      fail(ErrorCode::not_implemented, "{}: no kernel for element type {}; cast the input to a supported type", s.name,
           dtype_name(s.dtype));
    }
  }

  // Counts the readers of each value's memory: steps, and the caller.
  std::vector<uint32_t> count_readers() {
    std::vector<uint32_t> readers(plan_.values.size(), 0);
    for (const Step& s : plan_.steps) {
      for (SlotIndex v : s.inputs) {
        if (v != kNoSlot) ++readers[value(v).root];
      }
    }
    for (SlotIndex out : plan_.outputs) ++readers[value(out).root];
    return readers;
  }

  const Tensor* largest_weight(const Step& s) {
    const Tensor* largest = nullptr;
    for (SlotIndex v : s.inputs) {
      if (v == kNoSlot || !value(v).constant) continue;
      if (!largest || value(v).constant.bytes() > largest->bytes()) largest = &value(v).constant;
    }
    return largest;
  }

  // Sorts by the memory that packing needs temporarily, most first: the whole weight if a pass made it, one piece if it
  // is in the file. Then the largest weight comes first, so that no thread has to pack one alone at the end. Small
  // weights of a file come in file order, because reading one brings its neighbours into memory, and those should not
  // be packed and released yet.
  std::tuple<size_t, size_t, const void*> packing_order(const Step& s) {
    constexpr size_t kPiece = size_t(1) << 20;
    const Tensor* weight = largest_weight(s);
    if (!weight) return {SIZE_MAX, 0, nullptr};
    const size_t bytes = weight->bytes();
    const bool in_file = file_range(weight->owner(), weight->data(), bytes).has_value();
    if (in_file && bytes < kPiece) return {SIZE_MAX, 0, weight->data()};
    return {SIZE_MAX - (in_file ? kPiece : bytes), SIZE_MAX - bytes, weight->data()};
  }

  // Prepares the steps on all threads, in this order.
  void pack(std::span<Step* const> steps) {
    std::vector<size_t> bytes;
    for (const Step* s : steps) {
      const Tensor* weight = largest_weight(*s);
      bytes.push_back(weight ? weight->bytes() : 0);
    }
    in_passing_ = std::accumulate(bytes.begin(), bytes.end(), size_t(0)) / kInPassing;
    Transit transit(in_passing_);
    std::vector<std::exception_ptr> errors(steps.size());
    const std::atomic<bool>* const cancel = loading_cancel();
    options_.parallel.for_each_in_order(steps.size(), [&](size_t i, int) {
      const LoadingThread loading(cancel);
      transit.enter(bytes[i]);
      try {
        prepare(*steps[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
      transit.leave(bytes[i]);
    });
    for (const std::exception_ptr& e : errors) {
      if (e) std::rethrow_exception(e);
    }
    check_loading(options_.parallel);
  }

  // Packed weights take about as many bytes as the plain ones.
  void expect_packed(std::span<Step* const> steps) {
    std::set<const void*> seen;
    size_t bytes = 0;
    for (const Step* s : steps) {
      const Tensor* weight = largest_weight(*s);
      if (weight && seen.insert(weight->data()).second) bytes += weight->bytes();
    }
    memory_.expect(bytes);
  }

  // Releases the pages that reading the graph and the passes have brought into memory; packing reads them again piece
  // by piece.
  void release_mappings() {
    const void* last = nullptr;
    for (const PlanValue& v : plan_.values) {
      const void* owner = v.constant.owner().get();
      if (owner && owner != last) release_mapping(v.constant);
      last = owner;
    }
  }

  // May be called on any thread of the pool.
  void prepare(Step& s) {
    std::vector<const ValueType*> types;
    std::vector<Tensor> held;  // another step may drop the constants meanwhile
    std::vector<const Tensor*> constants;
    {
      const std::lock_guard lock(mutex_);
      for (SlotIndex v : s.inputs) held.push_back(v == kNoSlot ? Tensor() : value(v).constant);
    }
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      types.push_back(s.inputs[i] == kNoSlot ? nullptr : &value(s.inputs[i]).type);
      constants.push_back(held[i] ? &held[i] : nullptr);
      if (held[i]) fetch_pages(held[i]);
    }
    const PackedStore store{&memory_, options_.shared, options_.cache, number_, uint32_t(&s - plan_.steps.data())};
    PrepareContext context(types, constants, options_.parallel, options_.kernels, store);
    std::vector<const ValueType*> made;
    for (SlotIndex v : s.outputs) made.push_back(v == kNoSlot ? nullptr : &value(v).type);
    context.set_outputs(made);
    in_step(s, [&] { s.state = s.op->prepare(s.params.get(), context); });
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < s.inputs.size(); ++i) {
      if (constants[i] && context.released(i) && --readers_[value(s.inputs[i]).root] == 0) drop(s.inputs[i]);
    }
  }

  // Drops a constant that nothing reads any more; the tensor without data keeps its type.
  void drop(SlotIndex index) {
    Tensor& constant = value(index).constant;
    release_pages(constant);
    const size_t bytes = constant.bytes();
    const bool in_heap = !file_range(constant.owner(), constant.data(), bytes);
    constant = Tensor(constant.dtype(), constant.shape(), nullptr, nullptr);
    graph_.graph.value(graph_.ids[index]).constant = constant;
    if (in_heap && (freed_ += bytes) > in_passing_ / 4) {
      trim_heap();
      freed_ = 0;
    }
  }

  Plan& plan_;
  const PlannedGraph graph_;
  const PlanOptions& options_;
  const uint32_t number_;          // the number of this plan in the session
  std::vector<uint32_t> readers_;  // readers of the memory of each root; 0 when every step has packed what it needs
  // At most 1 / kInPassing of the weights may be in memory twice; a smaller limit makes threads wait for each other
  // (ADR 0005).
  static constexpr size_t kInPassing = 8;
  size_t in_passing_ = 0;  // bytes
  size_t freed_ = 0;       // bytes of the heap freed since it was last trimmed
  std::mutex mutex_;       // guards constants, readers_ and freed_ while steps are prepared in parallel
  BlockPool memory_;       // for packed weights
};

}  // namespace

std::vector<uint32_t> prepare_steps(Plan& plan, PlannedGraph graph, const PlanOptions& options, uint32_t number) {
  return Packer(plan, graph, options, number).prepare_all();
}

}  // namespace retort
