// QLinearMatMul and QLinearConv: the exact integer product, its scale, and QuantizeLinear of that.
#include "lift/rewriter.h"

namespace retort {
namespace {

ValueId to_float(Rewriter& r, ValueId v) {
  return r.add({.type = "Cast", .inputs = {v}, .attributes = {{"to", int64_t(DType::f32)}}});
}

// `product` in place of the node: times both scales, in the codes of the last two inputs.
void finish(Rewriter& r, ValueId product, ValueId a_scale, ValueId b_scale) {
  const ValueId scale = r.add({.type = "Mul", .inputs = {to_float(r, a_scale), to_float(r, b_scale)}});
  const ValueId real = r.add({.type = "Mul", .inputs = {to_float(r, product), scale}});
  r.replace_output(0, r.add({.type = "QuantizeLinear", .inputs = {real, to_float(r, r.input(6)), r.input(7)}}));
  r.remove();
}

void matmul(Rewriter& r) {
  for (size_t i = 0; i < 8; ++i) r.type(i);  // all are there
  const ValueId product = r.add({.type = "MatMulInteger", .inputs = {r.input(0), r.input(3), r.input(2), r.input(5)}});
  ValueId a_scale = r.input(1);
  if (r.type(1).ranked && r.type(1).rank() == 1 && r.type(1).shape[0] != 1)  // one for each row
    a_scale = r.add({.type = "Unsqueeze", .inputs = {a_scale, r.constant(std::vector<int64_t>{1})}});
  finish(r, product, a_scale, r.input(4));
}

void conv(Rewriter& r) {
  for (size_t i = 0; i < 8; ++i) r.type(i);
  std::vector<int64_t> per_channel(r.rank(0, "the scale of each channel") - 1, 1);
  per_channel[0] = -1;
  const auto by_channel = [&](ValueId v) { return r.add({.type = "Reshape", .inputs = {v, r.constant(per_channel)}}); };
  ValueId product = r.add({.type = "ConvInteger",
                           .inputs = {r.input(0), r.input(3), r.input(2), r.input(5)},
                           .attributes = r.attributes()});
  if (r.has(8)) product = r.add({.type = "Add", .inputs = {product, by_channel(r.input(8))}});
  finish(r, product, r.input(1), by_channel(r.input(4)));
}

constexpr LiftRule kQlinearRules[] = {{"QLinearMatMul", kAlways, matmul}, {"QLinearConv", kAlways, conv}};

}  // namespace

extern const LiftRules lift_qlinear;
constinit const LiftRules lift_qlinear{kQlinearRules};

}  // namespace retort
