// com.microsoft.ConvTransposeWithDynamicPads: a ConvTranspose whose pads are an input. If they are not constant, the
// result is computed without padding, and the pads are cut off.
#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

using Ints = std::vector<int64_t>;

Ints checked_pads(const Tensor& pads) {
  const Ints list(pads.data<int64_t>(), pads.data<int64_t>() + pads.count());
  for (const int64_t pad : list)
    require(pad >= 0, ErrorCode::invalid_argument, "pads are {}, expected 0 or more", to_string(list));
  return list;
}

// Cuts the pads off: a Pad with -begin and -end of each spatial axis, whose number may be unknown.
ValueId cut_pads(Rewriter& r, ValueId whole, ValueId pads) {
  const ValueId less = r.add({.type = "Neg", .inputs = {pads}}), count = r.add({.type = "Shape", .inputs = {pads}});
  const ValueId middle = r.add({.type = "Div", .inputs = {count, r.constant(Ints{2})}});
  const ValueId begins = r.add({.type = "Slice", .inputs = {less, r.constant(Ints{0}), middle}});
  const ValueId ends = r.add({.type = "Slice", .inputs = {less, middle, count}});
  const ValueId none = r.constant(Ints{0, 0});
  const ValueId all =
      r.add({.type = "Concat", .inputs = {none, begins, none, ends}, .attributes = {{"axis", int64_t(0)}}});
  return r.add({.type = "Pad", .inputs = {whole, all}});
}

void check_count(Rewriter& r) {
  const ValueType &x = r.type(0), &pads = r.type(2);
  require(!x.ranked || !pads.is_static() || (pads.rank() == 1 && pads.shape[0] + 4 == int64_t(2 * x.rank())),
          ErrorCode::invalid_argument, "Pads has shape {} for X of rank {}, expected two for each spatial axis",
          to_string(pads.shape), x.rank());
}

void apply_dynamic_pads(Rewriter& r) {
  require(r.has(2), ErrorCode::invalid_argument, "the input Pads is missing");
  check_count(r);
  Attributes attributes = r.attributes();
  const bool own = attributes.get_or<std::string>("auto_pad", "NOTSET").starts_with("SAME");
  if (!own) attributes.erase("auto_pad");  // VALID has pads, too
  std::vector<ValueId> inputs = {r.input(0), r.input(1)};
  if (r.has(3)) inputs.push_back(r.input(3));
  const Tensor* known = r.constant_input(2);
  if (known && !own) attributes.set("pads", checked_pads(*known));
  ValueId y = r.add({.type = "ConvTranspose", .inputs = inputs, .attributes = attributes});
  if (!known && !own) y = cut_pads(r, y, r.input(2));
  r.replace_output(0, y);
  r.remove();
}

constexpr LiftRule kDynamicPadsRules[] = {
    {"ConvTransposeWithDynamicPads", kAlways, apply_dynamic_pads, "com.microsoft"}};

}  // namespace

extern const LiftRules lift_conv_transpose_with_dynamic_pads;
constinit const LiftRules lift_conv_transpose_with_dynamic_pads{kDynamicPadsRules};

}  // namespace retort
