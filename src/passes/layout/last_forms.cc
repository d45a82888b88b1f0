#include "passes/layout/last_forms.h"

#include <algorithm>
#include <numeric>

#include "memory/host.h"

namespace retort::last_forms {
namespace {

// Maps `axes` to their indices when channels are last.
std::vector<int64_t> when_last(std::vector<int64_t> axes, size_t rank) {
  for (int64_t& a : axes) a = axis_when_last(int64_t(normalize_axis(a, rank)), rank);
  return axes;
}

std::vector<int64_t> first_axes(size_t count) {
  std::vector<int64_t> axes(count);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

void remap_axis(LastForm& form, const Node& n, size_t rank, int64_t otherwise) {
  const int64_t axis = n.attributes.get_or<int64_t>("axis", otherwise);
  form.spec.attributes.set("axis", axis_when_last(int64_t(normalize_axis(axis, rank)), rank));
}

// Sets the axes in input `slot`; without that input, they are the first `count` axes.
void set_axes_input(LastForm& form, const Graph& g, const Node& n, size_t slot, size_t count, size_t rank) {
  const ValueId given = n.input(slot);
  const auto axes = given == ValueId::none ? first_axes(count) : *known_integers(g, given);
  form.constants.emplace_back(slot, int64_tensor(when_last(axes, rank)));
  form.spec.inputs.resize(std::max(form.spec.inputs.size(), slot + 1), ValueId::none);
}

// The same codes as signed ones, each 128 less.
Tensor signed_codes(const Tensor& codes) {
  Tensor result = new_constant(DType::i8, codes.shape());
  const auto* from = static_cast<const uint8_t*>(codes.data());
  std::transform(from, from + codes.count(), result.mutable_data<int8_t>(), [](uint8_t c) { return int8_t(c - 128); });
  return result;
}

}  // namespace

void own_form(LastForm& form, const Graph&, const Node&, size_t) {
  form.spec.domain = "retort";
  form.spec.attributes.erase("storage_order");
}

// In InstanceNormalization, each channel is a group.
void own_groups(LastForm& form, const Graph& g, const Node& n, size_t) {
  form.spec.domain = "retort";
  form.spec.attributes.erase("stash_type");
  if (n.type == "InstanceNormalization") form.spec.attributes.set("num_groups", (*shape_of(g, n.inputs[0]))[1]);
  form.spec.type = "GroupNormalization";
}

void own_form_of_codes(LastForm& form, const Graph& g, const Node& n, size_t rank) {
  own_form(form, g, n, rank);
  form.spec.type = "NhwcQLinearConv";
  for (const size_t slot : {kW, kWZero}) {
    const Tensor& codes = *g.constant(n.inputs[slot]);
    if (codes.dtype() == DType::u8) form.constants.emplace_back(slot, signed_codes(codes));
  }
}

void own_form_of_integers(LastForm& form, const Graph& g, const Node& n, size_t rank) {
  own_form(form, g, n, rank);
  form.spec.type = "NhwcConvInteger";
  const Tensor& codes = *g.constant(n.inputs[kFilters]);
  if (codes.dtype() == DType::i8) return;
  const bool has_zero = n.input(kFilterZero) != ValueId::none;
  const Tensor zero = has_zero ? *g.constant(n.inputs[kFilterZero]) : Tensor::of<uint8_t>({}, {0});
  form.spec.inputs.resize(kFilterZero + 1, ValueId::none);
  form.constants.emplace_back(kFilters, signed_codes(codes));
  form.constants.emplace_back(kFilterZero, signed_codes(zero));
}

void own_transposed(LastForm& form, const Graph& g, const Node& n, size_t rank) {
  own_form(form, g, n, rank);
  form.spec.attributes.erase("auto_pad");
  form.spec.attributes.erase("kernel_shape");
}

void along_last_axis(LastForm& form, const Graph&, const Node& n, size_t rank) { remap_axis(form, n, rank, -1); }
void along_first_axis(LastForm& form, const Graph&, const Node& n, size_t rank) { remap_axis(form, n, rank, 0); }

void reduced(LastForm& form, const Graph& g, const Node& n, size_t rank) { set_axes_input(form, g, n, 1, rank, rank); }

void sliced(LastForm& form, const Graph& g, const Node& n, size_t rank) {
  // Without axes, the number of starts is known.
  const size_t count = n.input(3) == ValueId::none ? size_t((*shape_of(g, n.inputs[1]))[0]) : 0;
  set_axes_input(form, g, n, 3, count, rank);
}

void padded(LastForm& form, const Graph& g, const Node& n, size_t rank) { set_axes_input(form, g, n, 3, rank, rank); }

void resized(LastForm& form, const Graph&, const Node& n, size_t rank) {
  const auto axes = ints_attribute(n, "axes");
  form.spec.attributes.set("axes", when_last(axes.empty() ? first_axes(rank) : axes, rank));
}

void unchanged(LastForm&, const Graph&, const Node&, size_t) {}

void same_operator(LastForm& form, const Graph&, const Node& n, size_t) { form.spec.domain = n.domain; }

}  // namespace retort::last_forms
