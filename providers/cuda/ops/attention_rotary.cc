// RotaryEmbedding of ai.onnx and of com.microsoft: rotates pairs of elements of each head by the angle of its position.
#include <algorithm>

#include "heads.h"

namespace providers::cuda {
namespace {

/// The two domains order their inputs differently.
struct Inputs {
  size_t cos, sin, positions;
};

class Rotary : public Op {
 public:
  Rotary(const Node& node, const Inputs& in)
      : in_(in),
        microsoft_(!node.domain.empty() && node.domain != "ai.onnx"),
        interleaved_(node.integer("interleaved", 0) != 0),
        heads_(node.integer("num_heads", 0)),
        turned_(node.integer("rotary_embedding_dim", 0)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), y = e.out(0, x.type, x.dims);
    const Dims& d = x.dims;
    if (d.size() != 3 && d.size() != 4) e.fail("input 0 is expected to have 3 or 4 axes");
    const bool packed = d.size() == 3;
    Turn t;
    t.cos = e.in(in_.cos);
    t.sin = e.in(in_.sin);
    t.batch = d[0];
    t.rows = d[packed ? 1 : 2];
    t.interleaved = interleaved_;
    MovedHeads& m = t.q;
    m.heads = packed ? packed_count(e, d[2], t.cos) : d[1];
    if (m.heads <= 0 || (packed && d[2] % m.heads))
      e.fail(text("there are ", d[2], " elements in ", m.heads, " heads"));
    m.size = packed ? d[2] / m.heads : d[3];
    m.rotates = true;
    const HeadStrides strides = packed ? packed_heads(t.rows, m.heads, m.size) : split_heads(t.rows, m.heads, m.size);
    m.from = {x, strides};
    m.to = {y, strides};
    check_caches(e, t);
    if (e.has(in_.positions)) t.positions = positions(e, t);
    if (x.count() == 0) return;
    // Without positions, there is a row of the caches for each row of each entry of the batch.
    if (!e.has(in_.positions)) t.positions = ramp(e, t.batch * t.rows, t.batch, t.rows);
    turn_heads(e, t);
  }

 private:
  int64_t packed_count(const Emitter& e, int64_t width, const Operand& cos) const {
    if (heads_ > 0) return heads_;
    if (!microsoft_ || cos.rank() != 2 || cos.dims[1] <= 0) e.fail("an input of 3 axes needs num_heads");
    return std::max<int64_t>(width / (2 * cos.dims[1]), 1);
  }
  void check_caches(const Emitter& e, const Turn& t) const {
    const int64_t turned = turned_ ? turned_ : t.q.size;
    const bool has_rank = microsoft_ ? t.cos.rank() == 2 : t.cos.rank() >= 2;
    if (!has_rank || t.cos.dims != t.sin.dims || t.cos.dims.back() != turned / 2 || turned > t.q.size)
      e.fail(text("the caches have shapes ", shape_text(t.cos.dims), " and ", shape_text(t.sin.dims), " for ", turned,
                  " of ", t.q.size, " elements, expected half as many"));
    if (!microsoft_ && !e.has(in_.positions) && turned > 0 && int64_t(t.cos.count()) != t.batch * t.rows * (turned / 2))
      e.fail(text("the caches have shape ", shape_text(t.cos.dims), " for ", t.batch * t.rows, " rows"));
  }
  Operand positions(Emitter& e, const Turn& t) const {
    const Operand p = e.in(in_.positions);
    const bool one = microsoft_ && p.count() == 1 && p.rank() < 2;
    if (!one && p.dims != Dims{t.batch, t.rows})
      e.fail(text("the positions have shape ", shape_text(p.dims), ", expected ", shape_text(Dims{t.batch, t.rows})));
    return p;
  }
  static Operand ramp(Emitter& e, int64_t count, int64_t batch, int64_t rows) {
    std::vector<int64_t> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = int64_t(i);
    Operand made = e.table(values.data(), values.size() * sizeof(int64_t));
    made.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
    made.dims = {batch, rows};
    return made;
  }

  const Inputs in_;
  const bool microsoft_, interleaved_;
  const int64_t heads_, turned_;
};

std::string refuses(const Node& node, const Claiming&) {
  if (!is_attention_type(node.input(0))) return "its type is not float32, float16 or bfloat16";
  return node.integer("is_packed_batching", 0) ? "it has packed batches" : "";
}

}  // namespace

void add_rotary(Kinds& kinds) {
  kinds[{"", "RotaryEmbedding"}] = {refuses, [](const Node& node, Builder&) {
                                      return std::make_unique<Rotary>(node, Inputs{1, 2, 3});
                                    }};
  kinds[{"com.microsoft", "RotaryEmbedding"}] = {refuses, [](const Node& node, Builder&) {
                                                   return std::make_unique<Rotary>(node, Inputs{2, 3, 1});
                                                 }};
}

}  // namespace providers::cuda
