#include "ops/recurrent/common/recurrent.h"

#include "base/checked.h"
#include "kernels/gemm/gemm.h"

namespace retort::ops {
namespace {

size_t padded(size_t k, size_t n) { return round_up(kernels::gemm_packed_bytes(k, n), 64); }

}  // namespace

void RecurrentAttributes::check(std::span<const char* const> defaults) const {
  require(direction == "forward" || direction == "reverse" || direction == "bidirectional", ErrorCode::invalid_argument,
          "direction \"{}\" is not one of forward, reverse, bidirectional", direction);
  require(layout == 0 || layout == 1, ErrorCode::invalid_argument, "layout is {}, expected 0 or 1", layout);
  require(!clip || *clip > 0, ErrorCode::invalid_argument, "clip is {}, expected a positive number", clip.value_or(0));
  const size_t count = activations.size();
  // The schema's default for RNN has two functions even for one direction, and ONNX Runtime writes it to saved models.
  bool two_defaults = count == 2 * defaults.size();
  for (size_t i = 0; two_defaults && i < count; ++i) two_defaults = activations[i] == defaults[i % defaults.size()];
  require(count == 0 || count == directions() * defaults.size() || two_defaults, ErrorCode::invalid_argument,
          "{} activations for direction {}, expected {}", count, direction, directions() * defaults.size());
  functions(defaults);
}

CellFunctions RecurrentAttributes::functions(std::span<const char* const> defaults) const {
  std::array<std::string_view, std::tuple_size_v<CellFunctions>> names;
  const size_t count = directions() * defaults.size();
  for (size_t i = 0; i < count; ++i)
    names.at(i) = activations.empty() ? std::string_view(defaults[i % defaults.size()]) : activations[i];
  return cell_functions(std::span(names).first(count), activation_alpha, activation_beta);
}

void RecurrentAttributes::infer(InferContext& c, size_t gates, bool cell) const {
  const size_t outputs = cell ? 3 : 2;
  for (size_t i = 0; i < outputs; ++i)
    if (c.wants(i)) c.set(i, c.dtype(kX));
  const Shape &x = c.shape(kX), &r = c.shape(kR);
  require(x.rank() == 3 && r.rank() == 3, ErrorCode::invalid_argument, "X has shape {} and R {}, expected rank 3",
          c.dims().text(x), c.dims().text(r));
  const Dim d = Dim(directions()), hidden = r[2], steps = x[layout ? 1 : 0], batch = x[layout ? 0 : 1];
  require(!hidden_size || may_equal(hidden, *hidden_size), ErrorCode::invalid_argument,
          "hidden_size is {} but R has shape {}", hidden_size.value_or(0), c.dims().text(r));
  const Dim width = c.dims().mul(hidden, Dim(gates));
  expect_shape_if_given(c, kW, "W", {d, width, x[2]});
  expect_shape_if_given(c, kR, "R", {d, width, hidden});
  expect_shape_if_given(c, kB, "B", {d, c.dims().mul(width, 2)});
  expect_shape_if_given(c, kLengths, "sequence_lens", {batch});
  const Shape state = layout ? Shape{batch, d, hidden} : Shape{d, batch, hidden};
  expect_shape_if_given(c, kInitialH, "initial_h", state);
  if (cell) expect_shape_if_given(c, kInitialC, "initial_c", state);
  if (cell) expect_shape_if_given(c, kPeepholes, "P", {d, c.dims().mul(hidden, 3)});
  if (c.wants(0)) c.set(0, c.dtype(kX), layout ? Shape{batch, steps, d, hidden} : Shape{steps, d, batch, hidden});
  for (size_t i = 1; i < outputs; ++i)
    if (c.wants(i)) c.set(i, c.dtype(kX), state);
}

RecurrentShape RecurrentAttributes::shape(const RunContext& c, size_t gates) const {
  const Shape& x = c.shape(kX);
  return {.steps = size_t(x[layout ? 1 : 0]),
          .batch = size_t(x[layout ? 0 : 1]),
          .input = size_t(x[2]),
          .hidden = size_t(c.shape(kR)[2]),
          .directions = directions(),
          .gates = gates,
          .batch_major = layout != 0};
}

std::unique_ptr<State> RecurrentAttributes::pack(PrepareContext& c, size_t gates, std::span<const size_t> parts) const {
  const Tensor *w = c.unaligned_constant(kW), *r = c.unaligned_constant(kR);
  if (!w || !r || w->dtype() != DType::f32) return nullptr;
  const RecurrentShape s{
      .input = size_t(w->shape()[2]), .hidden = size_t(r->shape()[2]), .directions = directions(), .gates = gates};
  auto packed = std::make_unique<PackedRecurrent>();
  packed->owner = c.packed(packed_bytes(s, parts), [&](void* to) {
    pack_recurrent(s, parts, w->data<float>(), r->data<float>(), to, c.parallel());
  });
  packed->set(s, parts, packed->owner.get());
  c.release(kW);
  c.release(kR);
  return packed;
}

const int32_t* sequence_lengths(const RunContext& c, const RecurrentShape& s) {
  if (!c.has(RecurrentAttributes::kLengths)) return nullptr;
  const auto lengths = c.input<int32_t>(RecurrentAttributes::kLengths);
  bool full = true;
  for (const int32_t n : lengths) {
    require(n >= 0 && size_t(n) <= s.steps, ErrorCode::invalid_argument, "sequence_lens holds {}, expected 0 to {}", n,
            s.steps);
    full &= size_t(n) == s.steps;
  }
  return full ? nullptr : lengths.data();
}

size_t packed_bytes(const RecurrentShape& s, std::span<const size_t> parts) {
  size_t bytes = padded(s.input, s.width());
  for (const size_t gates : parts) bytes = checked_add(bytes, padded(s.hidden, gates * s.hidden), "packed weights");
  return checked_mul(bytes, s.directions, "packed weights");
}

void PackedRecurrent::set(const RecurrentShape& s, std::span<const size_t> parts, const void* memory) {
  const char* at = static_cast<const char*>(memory);
  const auto next = [&at](size_t k, size_t n) {
    const float* matrix = reinterpret_cast<const float*>(at);
    at += padded(k, n);
    return matrix;
  };
  for (size_t d = 0; d < s.directions; ++d) {
    directions[d].w = next(s.input, s.width());
    for (size_t p = 0; p < parts.size(); ++p) directions[d].r[p] = next(s.hidden, parts[p] * s.hidden);
  }
}

void pack_recurrent(const RecurrentShape& s, std::span<const size_t> parts, const float* w, const float* r,
                    void* memory, const Parallel& run) {
  char* at = static_cast<char*>(memory);
  const auto pack = [&](const char*& from, size_t k, size_t n) {
    kernels::gemm_pack_b(reinterpret_cast<const float*>(from), 1, k, k, n, {at, kernels::PackedType::f32, &run});
    from += k * n * sizeof(float);
    at += padded(k, n);
  };
  const char *w_at = reinterpret_cast<const char*>(w), *r_at = reinterpret_cast<const char*>(r);
  for (size_t d = 0; d < s.directions; ++d) {
    pack(w_at, s.input, s.width());
    for (const size_t gates : parts) pack(r_at, s.hidden, gates * s.hidden);
  }
}

}  // namespace retort::ops
