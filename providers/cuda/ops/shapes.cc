// Operators that change the shape alone, or whose result follows from a shape.
#include <algorithm>
#include <functional>

#include "cuda/core/known.h"
#include "cuda/core/known_data.h"
#include "cuda/core/known_dims.h"
#include "cuda/core/operators.h"

namespace providers::cuda {
namespace {

/// Is evaluated by the host before it is emitted.
class HostOp final : public Op {
 public:
  void emit(Emitter& e) const override { e.fail("the host cannot evaluate it"); }
};

/// Its output is its first input with other dims.
class ViewOp final : public Op {
 public:
  using Shape = std::function<Dims(Emitter& e, const Dims& dims)>;
  explicit ViewOp(Shape shape) : shape_(std::move(shape)) {}
  void emit(Emitter& e) const override {
    const Dims dims = shape_(e, e.look(0).dims);
    e.alias(0, e.in(0), dims);
    if (!e.has_out(1)) return;
    const Operand mask = e.out(1, ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, dims);  // of Dropout: all elements are kept
    if (mask.count() == 0) return;
    e.call({mask}, [mask](const Run& run) {
      check(driver().fill_bytes(run(mask), 1, mask.count(), run.stream), "filling a mask");
    });
  }

 private:
  const Shape shape_;
};

Grid filling_grid(size_t count) {
  Grid grid = flat_grid(std::min(count, size_t(1) << 26), 256, 4);
  grid.blocks.x = std::max(grid.blocks.x, 1u);
  return grid;
}

class ConstantOfShapeOp final : public Op {
 public:
  explicit ConstantOfShapeOp(const KnownResult& value) : type_(value.type) {
    if (type_ == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
      type_ = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
      return;
    }
    store_known(value.values, type_, bytes_);
  }
  void emit(Emitter& e) const override {
    const Dims dims = e.integers(0);
    if (std::any_of(dims.begin(), dims.end(), [](int64_t d) { return d < 0; }))
      e.fail(text("the shape is ", shape_text(dims), "; extents must not be negative"));
    const Operand to = e.out(0, type_, dims);
    if (to.count() == 0) return;
    const size_t size = size_of(type_);
    const auto all = [&](unsigned char byte) {
      return std::all_of(bytes_, bytes_ + size, [&](auto b) { return b == byte; });
    };
    if (all(bytes_[0])) {
      e.call({to}, [to, byte = bytes_[0]](const Run& run) {
        check(driver().fill_bytes(run(to), byte, to.bytes(), run.stream), "filling a tensor");
      });
      return;
    }
    const Kernel kernel = e.kernel("shapes.cu", "fill", {{"ELEMENT", text("u", 8 * size)}, {"NUMBER", "double"}});
    e.launch(kernel, filling_grid(to.count()), {to, value(size), int64_t(to.count())});
  }

 private:
  Argument value(size_t size) const {
    uint64_t word = 0;
    std::copy_n(bytes_, size, reinterpret_cast<unsigned char*>(&word));
    if (size == 1) return Argument::of(uint8_t(word));
    if (size == 2) return Argument::of(uint16_t(word));
    return size == 4 ? Argument::of(uint32_t(word)) : Argument::of(word);
  }

  Type type_;
  unsigned char bytes_[8] = {};
};

class RangeOp final : public Op {
 public:
  void emit(Emitter& e) const override {
    const Type type = e.look(0).type;
    for (size_t i = 0; i < 3; ++i) e.integers(i);  // asks for inputs that are not known yet
    const bool real = !e.look(0).known->reals.empty();
    const auto number = [&](size_t i) {
      const Known& known = *e.look(i).known;
      return real ? known.reals.at(0) : double(known.integers.at(0));
    };
    if (number(2) == 0) e.fail("the step is 0");
    const Operand to = e.out(0, type, {int64_t(range_count(number(0), number(1), number(2)))});
    if (to.count() == 0) return;
    const Kernel kernel =
        e.kernel("shapes.cu", "range", {{"ELEMENT", kernel_type(type)}, {"NUMBER", real ? "double" : "i64"}});
    const auto argument = [&](size_t i) {
      return real ? Argument::of(number(i)) : Argument(e.look(i).known->integers[0]);
    };
    e.launch(kernel, filling_grid(to.count()), {to, argument(0), argument(2), int64_t(to.count())});
  }
};

class EyeLikeOp final : public Op {
 public:
  EyeLikeOp(Type type, int64_t k) : type_(type), k_(k) {}
  void emit(Emitter& e) const override {
    const Dims& dims = e.look(0).dims;
    if (dims.size() != 2) e.fail("its input must have two axes");
    const Operand to = e.out(0, type_, dims);
    if (to.count() == 0) return;
    const Kernel kernel = e.kernel("shapes.cu", "eye", {{"ELEMENT", kernel_type(type_)}, {"NUMBER", "double"}});
    e.launch(kernel, filling_grid(to.count()), {to, dims[1], k_, int64_t(to.count())});
  }

 private:
  const Type type_;
  const int64_t k_;
};

std::string refuses_type(const Node& node) {
  for (const auto* list : {&node.in, &node.out})
    for (const Value* v : *list)
      if (v && size_of(v->type) == 0) return text("'", v->name, "' is ", name_of(v->type));
  return "";
}

// Whether the values of an input decide the shape, and are not known.
std::string refuses_unknown(const Node& node, const Claiming& claiming, size_t input) {
  const std::string why = refuses_type(node);
  if (!why.empty() || !node.input(input) || claiming.known(node.in[input])) return why;
  return text("input ", input, " is computed on the device, and decides the shape");
}

template <size_t kInput>
std::string refuses_input(const Node& node, const Claiming& claiming) {
  return refuses_unknown(node, claiming, kInput);
}

bool is_constant_false(const Value* v) {
  if (!v) return true;
  if (!v->constant) return false;
  const TensorView view = view_of(v->constant);
  return view.count() == 1 && view.bytes() == 1 && *static_cast<const char*>(view.data) == 0;
}
std::string refuses_dropout(const Node& node, const Claiming&) {
  const bool masked = node.out.size() > 1 && node.out[1];
  if (node.since < 7) return "its form is from before opset 7";
  if (masked && node.since < 10) return "its mask is no bool";
  if (!is_constant_false(node.input(2))) return "it may be in training";
  return refuses_type(node);
}

// Axes of an attribute, or of the second input.
std::unique_ptr<Op> make_squeeze(const Node& node, Builder&) {
  const bool given = node.has("axes"), input = node.input(1) != nullptr;
  return std::make_unique<ViewOp>(
      [given, input, axes = node.integers("axes"), who = node.who()](Emitter& e, const Dims& dims) {
        return squeezed(dims, input ? &e.integers(1) : given ? &axes : nullptr, who);
      });
}
std::unique_ptr<Op> make_unsqueeze(const Node& node, Builder&) {
  const bool input = node.input(1) != nullptr;
  return std::make_unique<ViewOp>(
      [input, axes = node.integers("axes"), who = node.who()](Emitter& e, const Dims& dims) {
        return unsqueezed(dims, input ? e.integers(1) : axes, who);
      });
}
std::unique_ptr<Op> make_reshape(const Node& node, Builder&) {
  const bool input = node.input(1) != nullptr, allow_zero = node.integer("allowzero", 0) != 0;
  return std::make_unique<ViewOp>(
      [input, allow_zero, shape = node.integers("shape"), who = node.who()](Emitter& e, const Dims& dims) {
        return reshaped(dims, input ? e.integers(1) : shape, allow_zero, who);
      });
}
std::unique_ptr<Op> make_flatten(const Node& node, Builder&) {
  return std::make_unique<ViewOp>([axis = node.integer("axis", 1), who = node.who()](Emitter&, const Dims& dims) {
    return flattened(dims, axis, who);
  });
}
std::unique_ptr<Op> make_identity(const Node&, Builder&) {
  return std::make_unique<ViewOp>([](Emitter&, const Dims& dims) { return dims; });
}
/// The same bytes as another type.
class BitCastOp final : public Op {
 public:
  explicit BitCastOp(Type type) : type_(type) {}
  void emit(Emitter& e) const override {
    Operand x = e.in(0);
    x.type = type_;
    x.known = nullptr;
    e.alias(0, x, x.dims);
  }

 private:
  const Type type_;
};
std::unique_ptr<Op> make_bit_cast(const Node& node, Builder&) { return std::make_unique<BitCastOp>(node.out[0]->type); }
std::string refuses_bit_cast(const Node& node, const Claiming&) {
  const std::string why = refuses_type(node);
  return why.empty() && size_of(node.in[0]->type) != size_of(node.out[0]->type) ? "its types differ in size" : why;
}
std::unique_ptr<Op> make_host(const Node&, Builder&) { return std::make_unique<HostOp>(); }
std::unique_ptr<Op> make_filled(const Node& node, Builder&) {
  return std::make_unique<ConstantOfShapeOp>(known_tensor(node, "value"));
}
std::unique_ptr<Op> make_range(const Node&, Builder&) { return std::make_unique<RangeOp>(); }
std::unique_ptr<Op> make_eye(const Node& node, Builder&) {
  return std::make_unique<EyeLikeOp>(node.out[0]->type, node.integer("k", 0));
}

std::string refuses_range(const Node& node, const Claiming& claiming) {
  for (size_t i = 0; i < 3; ++i)
    if (const std::string why = refuses_unknown(node, claiming, i); !why.empty()) return why;
  return "";
}
std::string refuses_only_types(const Node& node, const Claiming&) { return refuses_type(node); }

}  // namespace

void add_shapes(Kinds& kinds) {
  kinds[{"", "Shape"}] = {refuses_only_types, make_host};
  kinds[{"", "Size"}] = {refuses_only_types, make_host};
  kinds[{"", "Reshape"}] = {refuses_input<1>, make_reshape};
  kinds[{"", "Squeeze"}] = {refuses_input<1>, make_squeeze};
  kinds[{"", "Unsqueeze"}] = {refuses_input<1>, make_unsqueeze};
  kinds[{"", "Flatten"}] = {refuses_only_types, make_flatten};
  kinds[{"", "Identity"}] = {refuses_only_types, make_identity};
  kinds[{"", "BitCast"}] = {refuses_bit_cast, make_bit_cast};
  kinds[{"", "Dropout"}] = {refuses_dropout, make_identity};
  kinds[{"", "ConstantOfShape"}] = {refuses_input<0>, make_filled};
  kinds[{"", "Range"}] = {refuses_range, make_range};
  kinds[{"", "EyeLike"}] = {refuses_only_types, make_eye};
}

}  // namespace providers::cuda
