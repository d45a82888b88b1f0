// Trilu, EyeLike, OneHot, ReverseSequence.
#include <cmath>

#include "moves.h"

namespace providers::cuda {
namespace {

Argument divisor(int64_t d, bool narrow) { return narrow ? Argument::of(Divisor(d)) : Argument::of(WideDivisor(d)); }
bool is_narrow(int64_t count) { return count < kNarrow; }

class Trilu : public Op {
 public:
  explicit Trilu(const Node& node) : upper_(node.integer("upper", 1) != 0) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0);
    const size_t rank = x.rank(), unit = size_of(x.type);
    if (rank < 2) e.fail("expected matrices");
    const bool known = e.is_known(1);
    const int64_t k = known && !e.integers(1).empty() ? e.integers(1)[0] : 0;
    const Argument shift = e.has(1) && !known ? Argument(e.in(1)) : Argument(int64_t(0));
    const Operand y = e.out(0, x.type, x.dims);
    const auto count = int64_t(y.count());
    if (count == 0) return;
    const bool narrow = is_narrow(count);
    e.launch(
        move_kernel(e, {"fills.cu", "keep_triangle"}, unit, unit, narrow), flat_grid(size_t(count), 256, 4),
        {x, y, shift, k, count, divisor(x.dims[rank - 2], narrow), divisor(x.dims[rank - 1], narrow), int32_t(upper_)});
  }

 private:
  const bool upper_;
};

class EyeLike : public Op {
 public:
  explicit EyeLike(const Node& node) : type_(Type(node.integer("dtype", 0))), k_(node.integer("k", 0)) {}

  static int64_t one_of(Type type) {
    switch (type) {
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
        return 0x3f800000;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
        return 0x3c00;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
        return 0x3f80;
      case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        return 0x3ff0000000000000;
      default:
        return 1;
    }
  }

  void emit(Emitter& e) const override {
    const Dims dims = e.look(0).dims;
    if (dims.size() != 2) e.fail("expected a matrix");
    const Type type = type_ ? type_ : e.look(0).type;
    const Operand y = e.out(0, type, dims);
    const size_t unit = size_of(type);
    const auto count = int64_t(y.count());
    if (count == 0) return;
    const bool narrow = is_narrow(count);
    e.launch(move_kernel(e, {"fills.cu", "fill_diagonal"}, unit, unit, narrow), flat_grid(size_t(count), 256, 4),
             {y, k_, one_of(type), count, divisor(dims[1], narrow)});
  }

 private:
  const Type type_;
  const int64_t k_;
};

class OneHot : public Op {
 public:
  explicit OneHot(const Node& node) : axis_(node.integer("axis", -1)) {}

  void emit(Emitter& e) const override {
    const Operand indices = e.in(0), values = e.in(2);
    const size_t axis = axis_of(e, axis_, indices.rank() + 1), unit = size_of(values.type);
    const Dims& listed = e.integers(1);  // empty if depth is a floating-point number
    const Operand& given = e.look(1);
    if (given.count() != 1 || values.count() != 2) e.fail("depth must have one element and values two");
    const int64_t depth = listed.empty() ? int64_t(given.known->reals.at(0)) : listed[0];
    if (depth < 0) e.fail(text("a depth of ", depth));
    Dims dims = indices.dims;
    dims.insert(dims.begin() + ptrdiff_t(axis), depth);
    const Operand y = e.out(0, values.type, dims);
    const auto count = int64_t(y.count());
    if (count == 0) return;
    const bool narrow = is_narrow(count);
    e.launch(
        move_kernel(e, {"fills.cu", "one_hot"}, unit, unit, narrow, {{"INDEX", kernel_type(indices.type)}}),
        flat_grid(size_t(count), 256, 4),
        {indices, values, y, count, divisor(depth, narrow), divisor(product(dims, axis + 1, dims.size()), narrow)});
  }

 private:
  const int64_t axis_;
};

class ReverseSequence : public Op {
 public:
  explicit ReverseSequence(const Node& node)
      : batch_axis_(node.integer("batch_axis", 1)), time_axis_(node.integer("time_axis", 0)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), lengths = e.in(1);
    const size_t unit = size_of(x.type);
    if (x.rank() < 2 || lengths.dims != Dims{x.dims[size_t(batch_axis_)]})
      e.fail("expected two axes or more, and a length for each element of the batch axis");
    const Operand y = e.out(0, x.type, x.dims);
    if (y.count() == 0) return;
    const int64_t inner = product(x.dims, 2, x.rank()) * int64_t(unit);
    const size_t word = word_for(unit, {inner});
    const auto count = int64_t(y.bytes() / word);
    const bool narrow = is_narrow(count);
    e.launch(move_kernel(e, {"fills.cu", "reverse_rows"}, word, unit, narrow), flat_grid(size_t(count), 256, 4),
             {x, lengths, y, count, divisor(x.dims[1], narrow), divisor(inner / int64_t(word), narrow),
              int32_t(time_axis_ == 0), x.dims[size_t(time_axis_)],
              int32_t(lengths.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64)});
  }

 private:
  const int64_t batch_axis_, time_axis_;
};

std::string refuses_trilu(const Node& node, const Claiming&) {
  const Value* const k = node.input(1);
  if (k && k->type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) return text("k of type ", name_of(k->type));
  return refuses_type(node.input(0));
}

std::string refuses_eye(const Node& node, const Claiming&) {
  const auto type = Type(node.integer("dtype", int64_t(node.in[0]->type)));
  return size_of(type) ? refuses_type(node.input(0)) : text("elements of type ", name_of(type));
}

std::string refuses_one_hot(const Node& node, const Claiming& claiming) {
  for (const size_t i : {0, 2})
    if (const std::string why = refuses_type(node.input(i)); !why.empty()) return why;
  return refuses_unknown(node, claiming, 1, "depth");
}

std::string refuses_reverse(const Node& node, const Claiming&) {
  const int64_t batch = node.integer("batch_axis", 1), time = node.integer("time_axis", 0);
  if (batch + time != 1 || batch * time != 0) return text("axes ", batch, " and ", time, ", expected 0 and 1");
  const std::string why = refuses_type(node.input(0));
  return why.empty() ? refuses_index(node.input(1)) : why;
}

}  // namespace

void add_fills(Kinds& kinds) {
  kinds[{"", "Trilu"}] = kind_of<Trilu>(refuses_trilu);
  kinds[{"com.microsoft", "Trilu"}] = kind_of<Trilu>(refuses_trilu);
  kinds[{"", "EyeLike"}] = kind_of<EyeLike>(refuses_eye);
  kinds[{"", "OneHot"}] = kind_of<OneHot>(refuses_one_hot);
  kinds[{"", "ReverseSequence"}] = kind_of<ReverseSequence>(refuses_reverse);
}

}  // namespace providers::cuda
