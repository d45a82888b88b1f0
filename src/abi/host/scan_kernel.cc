// The host's kernel for Scan. It iterates along the first axis of inputs and outputs; a helper of the plug-in
// transposes others.
#include <numeric>

#include "abi/host/control_kernels.h"

namespace retort::abi {
namespace {

using Integers = std::vector<int64_t>;

size_t axis_of(int64_t axis, size_t rank) {
  require(rank > 0 && axis >= -int64_t(rank) && axis < int64_t(rank), ErrorCode::invalid_argument,
          "Scan iterates along axis {} of a tensor of rank {}", axis, rank);
  return size_t(axis < 0 ? axis + int64_t(rank) : axis);
}

Shape without_first(const Shape& shape) { return Shape(std::span(shape.begin(), shape.end()).subspan(1)); }

class ScanKernel : public ControlKernel {
 public:
  ScanKernel(const OrtKernelInfo& info, OrtScanKernelHelper& helper)
      : ControlKernel(info),
        helper_(helper),
        scanned_(size_t(info.node.attributes.get_or<int64_t>("num_scan_inputs", 0))) {}
  ~ScanKernel() override {
    give_back(info_.logger.logger, callee(), "Release of its helper", helper_.Release, &helper_);
  }

  void run(ControlCall& call) const override {
    BodyRunner& bodies = call.bodies();
    const size_t taken = bodies.input_count(0), given = bodies.output_count(0);
    require(taken == call.inputs() && scanned_ >= 1 && scanned_ <= taken && given + scanned_ >= taken &&
                call.outputs() <= given,
            ErrorCode::invalid_graph,
            "Scan has {} inputs, {} of them scanned, and {} outputs, but its body has {} inputs and {} outputs",
            call.inputs(), scanned_, call.outputs(), taken, given);
    const size_t states = taken - scanned_;
    std::vector<Tensor> scans;
    for (size_t i = 0; i < scanned_; ++i) scans.push_back(axis_first(call, i, call.present(states + i)));
    const int64_t length = scans[0].shape()[0];
    for (size_t i = 1; i < scanned_; ++i) {
      require(scans[i].shape()[0] == length, ErrorCode::invalid_argument,
              "scan inputs 0 and {} have {} and {} elements along their scan axes", i, length, scans[i].shape()[0]);
    }
    std::vector<Stacked> stacked;
    for (size_t i = states; i < call.outputs(); ++i)
      stacked.push_back(begin(call, i, i - states, length, bodies.output_type(0, i)));
    std::vector<Value> in(taken);
    for (size_t i = 0; i < states; ++i) in[i] = call.present(i);
    for (int64_t t = 0; t < length && !call.cancelled(); ++t) {
      for (size_t i = 0; i < scanned_; ++i)
        in[states + i] = element(scans[i], place("scan_input_directions", i, t, length));
      step(call, in, stacked, states, t, length);
    }
    for (size_t i = 0; i < states && i < call.outputs(); ++i)
      length > 0 ? call.give(i, *in[i].tensor()) : call.copy_in(i, i);
    for (const Stacked& s : stacked) finish(call, s);
  }

 private:
  /// One output: its elements are concatenated in `all`, which is the output itself if the output's scan axis is the
  /// first.
  struct Stacked {
    size_t output = 0, axis = 0, index = 0;
    Tensor all;
    bool known = false;  ///< whether `all` exists
  };

  int64_t entry(std::string_view name, size_t i) const {
    const Integers* list = info_.node.attributes.get<Integers>(name);
    return list && i < list->size() ? (*list)[i] : 0;
  }
  int64_t place(std::string_view directions, size_t i, int64_t t, int64_t length) const {
    return entry(directions, i) ? length - 1 - t : t;
  }

  static Tensor element(const Tensor& all, int64_t at) {
    const Shape shape = without_first(all.shape());
    const size_t bytes = dtype_bytes(all.dtype(), element_count(shape));
    auto* data = static_cast<std::byte*>(const_cast<void*>(all.data()));
    return Tensor(all.dtype(), shape, data + size_t(at) * bytes, nullptr, all.space());
  }

  static Tensor memory(const ControlCall& call, DType dtype, const Shape& shape, const MemorySpace& space) {
    require(dtype != DType::string, ErrorCode::not_implemented,
            "Scan along another axis than the first does not support strings; leave such nodes to the CPU");
    const auto block = call.devices().allocate(space, dtype_bytes(dtype, element_count(shape)));
    return Tensor(dtype, shape, block.get(), block, space);
  }

  void transpose(const ControlCall& call, const std::vector<size_t>& permutation, const Tensor& from, Tensor to) const {
    const OrtValue input(from);
    OrtValue output(std::move(to));
    call_plugin(callee(), "Transpose", helper_.Transpose, &helper_, permutation.data(), permutation.size(), &input,
                call.stream(), &output);
  }

  Tensor axis_first(const ControlCall& call, size_t i, const Tensor& t) const {
    const size_t axis = axis_of(entry("scan_input_axes", i), t.shape().rank());
    if (axis == 0) return t;
    std::vector<size_t> permutation{axis};
    Shape shape{t.shape()[axis]};
    for (size_t d = 0; d < t.shape().rank(); ++d) {
      if (d == axis) continue;
      permutation.push_back(d);
      shape.push_back(t.shape()[d]);
    }
    const Tensor turned = memory(call, t.dtype(), shape, t.space());
    transpose(call, permutation, t, turned);
    return turned;
  }

  Stacked begin(ControlCall& call, size_t output, size_t index, int64_t length, const ValueType& type) const {
    Stacked s{.output = output, .axis = 0, .index = index, .all = {}, .known = false};
    if (!type.is_tensor() || !type.ranked) return s;
    Shape shape = type.shape;
    for (Dim& d : shape) {
      if (!is_known(d) && length > 0) return s;  // the shape of the first element is used
      d = is_known(d) ? d : 0;
    }
    make(call, s, length, type.dtype, shape);
    return s;
  }

  void make(ControlCall& call, Stacked& s, int64_t length, DType dtype, const Shape& element) const {
    s.known = true;
    s.axis = axis_of(entry("scan_output_axes", s.index), element.rank() + 1);
    Shape shape{length};
    for (const int64_t d : element) shape.push_back(d);
    if (call.wants(s.output))
      s.all = s.axis == 0 ? call.make(s.output, shape) : memory(call, dtype, shape, call.space(s.output));
  }

  // If an element's place is known, the body writes it there directly.
  void step(ControlCall& call, std::vector<Value>& in, std::vector<Stacked>& stacked, size_t states, int64_t t,
            int64_t length) const {
    std::vector<Value> out(call.bodies().output_count(0));
    std::vector<MemorySpace> spaces(out.size());
    for (size_t i = 0; i < states; ++i) spaces[i] = call.bodies().input_space(0, i);
    for (const Stacked& s : stacked) {
      spaces[s.output] = call.space(s.output);
      if (s.known && s.all) out[s.output] = element(s.all, place("scan_output_directions", s.index, t, length));
    }
    call.bodies().run(0, in, out, spaces);
    for (size_t i = 0; i < states; ++i) {
      require(out[i].tensor() != nullptr, ErrorCode::not_implemented, "state {} of a body is not a tensor", i);
      in[i] = std::move(out[i]);
    }
    for (Stacked& s : stacked) {
      if (s.known) continue;
      const Tensor* first = out[s.output].tensor();
      require(first != nullptr, ErrorCode::not_implemented, "scan output {} of a body is not a tensor", s.index);
      make(call, s, length, first->dtype(), first->shape());
      if (!s.all) continue;
      Tensor to = element(s.all, place("scan_output_directions", s.index, t, length));
      check_same_type(*first, to, s.output);
      call.copy(*first, to);
    }
  }

  void finish(ControlCall& call, const Stacked& s) const {
    if (!s.known || s.axis == 0 || !call.wants(s.output)) return;
    const size_t rank = s.all.shape().rank();
    std::vector<size_t> permutation(rank - 1);
    std::iota(permutation.begin(), permutation.end(), size_t(1));
    permutation.insert(permutation.begin() + ptrdiff_t(s.axis), 0);
    Shape shape;
    for (const size_t d : permutation) shape.push_back(s.all.shape()[d]);
    Tensor result = call.make(s.output, shape);
    check_same_type(s.all, result, s.output);
    if (result.count()) transpose(call, permutation, s.all, result);
  }

  OrtScanKernelHelper& helper_;
  const size_t scanned_;
};

}  // namespace

ControlKernel* new_scan_kernel(const OrtKernelInfo& info, OrtScanKernelHelper& helper) {
  require(info.since_version >= 9, ErrorCode::not_implemented,
          "node '{}' is a Scan of version {}; kernels exist from version 9 on", info.node.name, info.since_version);
  return new ScanKernel(info, helper);
}

}  // namespace retort::abi
