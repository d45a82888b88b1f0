#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <tuple>

#include "base/error.h"
#include "ir/describe.h"
#include "memory/host.h"
#include "memory/mapping.h"
#include "ops/external.h"
#include "plan/in_step.h"
#include "plan/plan.h"

namespace retort {
namespace {

// Bounds the weights that are in memory in both forms while threads pack them.
class Transit {
 public:
  explicit Transit(size_t limit) : limit_(limit) {}
  // Waits until `bytes` more stay within the limit, or are alone.
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

class Builder {
 public:
  Builder(Graph& graph, const PlanOptions& options, bool is_body)
      : graph_(graph),
        options_(options),
        is_body_(is_body),
        plan_(std::make_shared<Plan>()),
        number_(options.cache ? options.cache->next_plan() : 0) {}

  std::shared_ptr<const Plan> build() {
    plan_->captures = graph_.captures;
    const auto spaces = options_.body_spaces.find(&graph_);
    if (!is_body_) plan_->input_spaces = options_.input_spaces;
    if (!is_body_) plan_->placed_outputs = options_.placed_outputs;
    if (is_body_ && spaces != options_.body_spaces.end()) plan_->input_spaces = spaces->second;
    for (ValueId in : graph_.inputs) plan_->inputs.push_back(slot(in, Home::input));
    for (NodeId id : graph_.order()) add_step(graph_.node(id));
    for (ValueId out : graph_.outputs) plan_->outputs.push_back(slot(out, Home::none));
    for (size_t i = 0; i < plan_->steps.size(); ++i) share_memory(i);
    give_homes();
    find_last_uses();
    prepare_steps();
    share_late_outputs(*plan_);
    find_unread();
    plan_->caches = find_caches(*plan_, readers_);
    keep_constants();
    trim_heap();
    return plan_;
  }

 private:
  SlotIndex slot(ValueId id, Home home) {
    if (id == ValueId::none) return kNoSlot;
    const auto [it, fresh] = slots_.emplace(id, SlotIndex(plan_->values.size()));
    if (fresh) {
      const GraphValue& v = graph_.value(id);
      ids_.push_back(id);
      plan_->values.push_back(
          {.name = v.name, .type = v.type, .home = home, .root = it->second, .constant = v.constant});
      if (v.is_constant()) plan_->values.back().home = Home::constant;
    }
    return it->second;
  }

  void add_step(Node& node) {
    Step s;
    s.op = node.op;
    s.params = node.params;
    s.node = node.id;
    s.name = describe(graph_, node);
    s.label = label(graph_, node);
    const ExternalOp* external = external_op(node);
    s.provider = external ? external->provider() : kCpuProvider;
    s.captures = node.captures;
    for (ValueId in : node.inputs) s.inputs.push_back(slot(in, Home::none));
    for (ValueId out : node.outputs) s.outputs.push_back(slot(out, Home::none));
    const auto is_boxed = [&](SlotIndex v) {
      using Kind = ValueType::Kind;
      return v != kNoSlot && value(v).type.kind != Kind::tensor && value(v).type.kind != Kind::unknown;
    };
    s.late =
        s.op->has(kDynamicOutput) || s.op->has(kBoxed) || std::any_of(s.outputs.begin(), s.outputs.end(), is_boxed);
    for (Body& b : node.bodies) {
      s.bodies.push_back(Builder(*b.graph, options_, true).build());
      s.body_names.push_back(b.attribute);
    }
    plan_->steps.push_back(std::move(s));
  }

  PlanValue& value(SlotIndex i) { return plan_->values[i]; }

  // A view shares the memory of its input unless that would make a graph output share memory that is not the plan's to
  // give: an input, a constant, or another output. Boxed values never share.
  void share_memory(size_t index) {
    Step& s = plan_->steps[index];
    if (!s.op->has(kView) || s.inputs.empty() || s.inputs[0] == kNoSlot || s.outputs[0] == kNoSlot) return;
    const SlotIndex root = value(s.inputs[0]).root, out = s.outputs[0];
    if (!value(root).type.is_tensor() || value(root).type.dtype == DType::string) return;
    if (is_output(out)) {
      const bool taken = value(root).home == Home::input || value(root).home == Home::constant || claimed_.count(root);
      if (taken || is_output(root)) return;
      claimed_.insert({root, out});
    }
    value(out).root = root;
    s.view = true;
  }

  bool is_output(SlotIndex i) const {
    return std::find(plan_->outputs.begin(), plan_->outputs.end(), i) != plan_->outputs.end();
  }

  void give_homes() {
    for (const Step& s : plan_->steps) {
      if (s.view) continue;
      for (SlotIndex out : s.outputs) {
        if (out == kNoSlot) continue;
        PlanValue& v = value(out);
        const bool boxed = s.late || v.type.dtype == DType::string || (v.type.kind != ValueType::Kind::tensor);
        v.home = boxed ? Home::boxed : Home::arena;
      }
    }
    for (SlotIndex out : plan_->outputs) {
      PlanValue& root = value(value(out).root);
      if (root.home == Home::arena) root.home = Home::output;
    }
    for (PlanValue& v : plan_->values) v.home = value(v.root).home;
  }

  void find_last_uses() {
    for (size_t i = 0; i < plan_->steps.size(); ++i) {
      for (const auto* list : {&plan_->steps[i].inputs, &plan_->steps[i].outputs}) {
        for (SlotIndex v : *list)
          if (v != kNoSlot) value(value(v).root).last_use = uint32_t(i);
      }
    }
    for (SlotIndex out : plan_->outputs) value(value(out).root).last_use = uint32_t(plan_->steps.size());
  }

  void find_unread() {
    std::vector<char> read(plan_->values.size(), false);
    for (const Step& s : plan_->steps) {
      for (size_t i = 0; i + s.captures < s.inputs.size(); ++i) {
        if (s.inputs[i] != kNoSlot) read[value(s.inputs[i]).root] = true;
      }
    }
    for (const SlotIndex out : plan_->outputs) read[value(out).root] = true;
    for (const SlotIndex in : plan_->inputs) plan_->unread.push_back(in == kNoSlot || !read[value(in).root]);
  }

  DType step_dtype(const Step& s) const {
    std::vector<Slot> slots(s.inputs.size() + s.outputs.size());
    std::vector<Slot*> in, out;
    size_t next = 0;
    const auto add = [&](SlotIndex v, std::vector<Slot*>& list) {
      Slot& slot = slots[next++];
      if (v != kNoSlot) slot.type = plan_->values[v].type;
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

  // How many steps, and the caller, read the memory of a value.
  std::vector<uint32_t> count_readers() {
    std::vector<uint32_t> readers(plan_->values.size(), 0);
    for (const Step& s : plan_->steps) {
      for (SlotIndex v : s.inputs) {
        if (v != kNoSlot) ++readers[value(v).root];
      }
    }
    for (SlotIndex out : plan_->outputs) ++readers[value(out).root];
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

  // What takes most memory in passing first: the whole weight where a pass made it, a piece where it comes from the file.
  // Then the largest, so that no thread is left alone with one at the end. Small ones of a file as they lie there, because
  // reading one brings its neighbours into memory, which should not be done with yet.
  std::tuple<size_t, size_t, const void*> packing_order(const Step& s) {
    constexpr size_t kPiece = size_t(1) << 20;
    const Tensor* weight = largest_weight(s);
    if (!weight) return {SIZE_MAX, 0, nullptr};
    const size_t bytes = weight->bytes();
    const bool in_file = file_range(weight->owner(), weight->data(), bytes).has_value();
    if (in_file && bytes < kPiece) return {SIZE_MAX, 0, weight->data()};
    return {SIZE_MAX - (in_file ? kPiece : bytes), SIZE_MAX - bytes, weight->data()};
  }

  void prepare_steps() {
    std::vector<Step*> steps;
    for (Step& s : plan_->steps) {
      if (!s.view) choose_kernel(s);
      const bool wanted = options_.prepack || s.op->has(kInternal);  // internal operators have no other form
      if (s.op->prepare && wanted) steps.push_back(&s);
    }
    readers_ = count_readers();
    release_mappings();
    std::stable_sort(steps.begin(), steps.end(),
                     [&](const Step* a, const Step* b) { return packing_order(*a) < packing_order(*b); });
    std::vector<size_t> bytes;
    for (const Step* s : steps) {
      const Tensor* weight = largest_weight(*s);
      bytes.push_back(weight ? weight->bytes() : 0);
    }
    in_passing_ = std::accumulate(bytes.begin(), bytes.end(), size_t(0)) / kInPassing;
    expect_packed(steps);
    Transit transit(in_passing_);
    std::vector<std::exception_ptr> errors(steps.size());
    options_.parallel.for_each(steps.size(), [&](size_t i, int) {
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
    require(!options_.parallel.cancelled(), ErrorCode::model_load_canceled,
            "loading was cancelled; call SessionOptionsSetLoadCancellationFlag with false to load again");
  }

  // Packed weights take about what the plain ones do.
  void expect_packed(std::span<Step* const> steps) {
    std::set<const void*> seen;
    size_t bytes = 0;
    for (const Step* s : steps) {
      const Tensor* weight = largest_weight(*s);
      if (weight && seen.insert(weight->data()).second) bytes += weight->bytes();
    }
    memory_.expect(bytes);
  }

  // What reading the graph and the passes brought into memory comes back piece by piece, as it is packed.
  void release_mappings() {
    const void* last = nullptr;
    for (const PlanValue& v : plan_->values) {
      const void* owner = v.constant.owner().get();
      if (owner && owner != last) release_mapping(v.constant);
      last = owner;
    }
  }

  void keep_constants() {
    for (PlanValue& v : plan_->values) {
      if (!v.constant.data()) continue;  // none, or packed and dropped
      const size_t bytes = v.constant.bytes();
      try {
        v.constant = kept(v.constant);
      } catch (Error& e) {
        e.add_context(cat("weight '{}' of shape {}", v.name, to_string(v.constant.shape())));
        throw;
      }
      plan_->constant_bytes += bytes;
    }
  }

  // What runs read in place of the constant: aligned elements, and the same memory as in other sessions.
  Tensor kept(const Tensor& constant) {
    const size_t bytes = constant.bytes();
    const auto range = file_range(constant.owner(), constant.data(), bytes);
    const auto in = [&](std::shared_ptr<void> memory) {
      void* data = memory.get();
      return Tensor(constant.dtype(), constant.shape(), data, std::move(memory));
    };
    SharedBlocks* const shared = options_.shared;
    if (!range) {
      Tensor own = is_aligned(constant.dtype(), constant.data()) ? constant : move_from_file(constant);
      const bool lent = !own.owner() || own.dtype() == DType::string;
      return !shared || lent ? own : in(shared->unify({own.owner(), const_cast<void*>(own.data())}, bytes));
    }
    std::shared_ptr<void> same = shared ? shared->find(*range) : nullptr;
    if (same && is_aligned(constant.dtype(), same.get())) return in(std::move(same));
    Tensor own = copied(constant, in);
    if (shared) shared->keep(*range, {own.owner(), const_cast<void*>(own.data())});
    return own;
  }

  // Constants of a file that it does not align are copied, small ones always: reading one where it lies brings up to
  // 2 MiB of the file into memory.
  template <typename In>
  Tensor copied(const Tensor& constant, const In& in) {
    constexpr size_t kSmall = size_t(64) << 10;
    if (constant.bytes() < kSmall) {
      std::shared_ptr<void> copy = small_.allocate(constant.bytes());
      std::memcpy(copy.get(), constant.data(), constant.bytes());
      release_mapping(constant);
      return in(std::move(copy));
    }
    return is_aligned(constant.dtype(), constant.data()) ? constant : move_from_file(constant);
  }

  // On any thread of the pool.
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
    }
    const PackedStore store{&memory_, options_.shared, options_.cache, number_, uint32_t(&s - plan_->steps.data())};
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

  // Nobody reads the constant again: a tensor without data keeps its type.
  void drop(SlotIndex index) {
    Tensor& constant = value(index).constant;
    release_pages(constant);
    const size_t bytes = constant.bytes();
    const bool in_heap = !file_range(constant.owner(), constant.data(), bytes);
    constant = Tensor(constant.dtype(), constant.shape(), nullptr, nullptr);
    graph_.value(ids_[index]).constant = constant;
    if (in_heap && (freed_ += bytes) > in_passing_ / 4) {
      trim_heap();
      freed_ = 0;
    }
  }

  Graph& graph_;
  const PlanOptions& options_;
  const bool is_body_;
  std::shared_ptr<Plan> plan_;
  const uint32_t number_;  // among the plans of the session
  std::map<ValueId, SlotIndex> slots_;
  std::vector<ValueId> ids_;       // by slot
  std::vector<uint32_t> readers_;  // of the memory of each root; drops to 0 when all have packed what they need
  // Of the weights, 1 / kInPassing may be in memory twice: less makes threads wait for each other (ADR 0005).
  static constexpr size_t kInPassing = 8;
  size_t in_passing_ = 0;  // bytes
  size_t freed_ = 0;       // of the heap, since it was last trimmed
  std::mutex mutex_;       // guards constants, readers_ and freed_ while steps are prepared in parallel
  BlockPool memory_;       // of packed weights
  BlockPool small_;        // of small constants: one that another model shares keeps no block of weights
  std::map<SlotIndex, SlotIndex> claimed_;  // root → the output that took its memory
};

}  // namespace

std::shared_ptr<const Plan> build_plan(Graph& graph, const PlanOptions& options) {
  return Builder(graph, options, false).build();
}

}  // namespace retort
