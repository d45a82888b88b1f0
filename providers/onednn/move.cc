// Operators that move or rename data: Concat, Transpose, Reshape and similar ones.
#include <algorithm>

#include "operators.h"

namespace onednn {
namespace {

using providers::Error;
using providers::shape_text;
using providers::text;

class Concat : public Operation {
 public:
  explicit Concat(size_t axis) : axis_(axis) {}
  void build(Builder& b) const override {
    std::vector<Desc> forms;
    std::vector<Tensor> parts;
    Dims y = b.value(in[0]).dims;
    y[axis_] = 0;
    const bool mixed =
        std::any_of(in.begin(), in.end(), [&](int id) { return b.value(id).type() != b.value(in[0]).type(); });
    for (const int id : in) {
      Tensor t = b.value(id);
      Dims sides = t.dims;
      if (sides.size() == y.size()) sides[axis_] = y[axis_];
      if (sides != y) throw Error(text("shapes differ elsewhere than on axis ", axis_), ORT_INVALID_ARGUMENT);
      y[axis_] += t.dims[axis_];
      if (mixed) t = b.plain_of(t, DataType::f32);
      forms.push_back(t.desc);
      parts.push_back(t);
    }
    if (b.empty(*this, y, parts[0].type())) return;
    std::erase_if(forms, [](const Desc& form) { return form.get_size() == 0; });
    std::erase_if(parts, [](const Tensor& t) { return count_of(t.dims) == 0; });
    const dnnl::concat::primitive_desc pd(int(axis_), forms, engine(), attributes());
    const Tensor to = b.fresh(y, pd.dst_desc());
    Arguments arguments{{DNNL_ARG_DST, to}};
    for (size_t i = 0; i < parts.size(); ++i) arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + int(i), parts[i]);
    b.step_of(pd, arguments);
    b.made(*this, to);
  }

 private:
  const size_t axis_;
};

/// Another view of the same memory; operations that need it row-major reorder it.
class Transpose : public Operation {
 public:
  explicit Transpose(std::vector<int> to) : to_(std::move(to)) {}
  void build(Builder& b) const override {
    Tensor t = b.value(in[0]);
    Dims dims(t.dims.size());
    for (size_t i = 0; i < dims.size(); ++i) dims[size_t(to_[i])] = t.dims[i];
    t.dims = dims;
    t.desc = t.desc.permute_axes(to_);
    b.made(*this, t);
  }

 private:
  const std::vector<int> to_;  // the destination of each axis
};

/// The same elements in another shape, which a function computes from the input's shape.
class Reshape : public Operation {
 public:
  explicit Reshape(std::function<Dims(const Dims&)> f) : shape_(std::move(f)) {}
  void build(Builder& b) const override {
    const Tensor& x = b.value(in[0]);
    const Dims dims = shape_(x.dims);
    if (count_of(dims) != count_of(x.dims))
      throw Error(text("shape ", shape_text(x.dims), " cannot become ", shape_text(dims)), ORT_INVALID_ARGUMENT);
    b.made(*this, dims == x.dims ? x : b.reshaped(x, dims));
  }

 private:
  const std::function<Dims(const Dims&)> shape_;
};

Dims reshaped_to(const Dims& x, Dims wanted, bool allows_zero) {
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == 0 && !allows_zero) wanted[i] = i < x.size() ? x[i] : 0;
    if (wanted[i] < 0)
      open = int64_t(i);
    else
      known *= wanted[i];
  }
  if (open >= 0) wanted[size_t(open)] = known ? count_of(x) / known : 0;
  return wanted;
}

bool one_float(const Node& node, size_t most = 6) {
  const Value &x = *node.in[0], &y = *node.out[0];
  return x.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT && x.has_rank && x.rank() <= most && y.has_rank &&
         y.rank() <= most;
}

int64_t axis_of(const Node& node, int64_t otherwise) {
  const int64_t axis = node.integer("axis", otherwise);
  return axis < 0 ? axis + int64_t(node.in[0]->rank()) : axis;
}

bool claims_concat(const Node& node) {
  const int64_t axis = axis_of(node, node.since < 4 ? 1 : 0);
  return floats(node, 1, 5) && axis >= 0 && axis < int64_t(node.in[0]->rank()) &&
         std::all_of(node.in.begin(), node.in.end(), [](const Value* v) { return v != nullptr; });
}

std::vector<int> permutation(const Node& node) {
  const size_t rank = node.in[0]->rank();
  Dims perm = node.integers("perm");
  if (perm.empty())
    for (size_t i = rank; i-- > 0;) perm.push_back(int64_t(i));
  std::vector<int> to(rank, -1);
  if (perm.size() != rank) return {};
  for (size_t i = 0; i < rank; ++i) {
    if (perm[i] < 0 || perm[i] >= int64_t(rank) || to[size_t(perm[i])] >= 0) return {};
    to[size_t(perm[i])] = int(i);
  }
  return to;
}

bool claims_reshape(const Node& node) {
  return one_float(node) && node.since >= 5 && node.in.size() == 2 && is_constant(node, 1) && node.in[1]->rank() == 1;
}

std::unique_ptr<Operation> make_reshape(const Node& node) {
  const Dims wanted = constant_integers(node, 1);
  const bool zeros = node.integer("allowzero", 0) != 0;
  return std::make_unique<Reshape>([=](const Dims& x) { return reshaped_to(x, wanted, zeros); });
}

std::unique_ptr<Operation> make_flatten(const Node& node) {
  const auto axis = axis_of(node, 1);
  return std::make_unique<Reshape>([axis](const Dims& x) {
    return Dims{count_of({x.begin(), x.begin() + axis}), count_of({x.begin() + axis, x.end()})};
  });
}

std::unique_ptr<Operation> make_identity(const Node&) {
  return std::make_unique<Reshape>([](const Dims& x) { return x; });
}

Dims squeezed_axes(const Node& node) {
  return node.input(1) ? Dims(constant_integers(node, 1)) : node.integers("axes");
}

bool claims_squeeze(const Node& node) {
  return one_float(node) && (!node.input(1) || is_constant(node, 1)) && !squeezed_axes(node).empty();
}

std::unique_ptr<Operation> make_squeeze(const Node& node) {
  return std::make_unique<Reshape>([axes = squeezed_axes(node)](const Dims& x) {
    Dims y;
    for (size_t i = 0; i < x.size(); ++i) {
      const bool named = std::count(axes.begin(), axes.end(), int64_t(i)) ||
                         std::count(axes.begin(), axes.end(), int64_t(i) - int64_t(x.size()));
      if (named && x[i] != 1)
        throw Error(text("axis ", i, " of ", shape_text(x), " is not 1 and cannot be removed"), ORT_INVALID_ARGUMENT);
      if (!named) y.push_back(x[i]);
    }
    return y;
  });
}

std::unique_ptr<Operation> make_unsqueeze(const Node& node) {
  return std::make_unique<Reshape>([axes = squeezed_axes(node)](const Dims& x) {
    const auto rank = int64_t(x.size() + axes.size());
    Dims y;
    size_t next = 0;
    for (int64_t i = 0; i < rank; ++i) {
      const bool named = std::count(axes.begin(), axes.end(), i) || std::count(axes.begin(), axes.end(), i - rank);
      y.push_back(named || next >= x.size() ? 1 : x[next++]);
    }
    return y;
  });
}

bool claims_one(const Node& node) { return one_float(node); }
bool claims_transpose(const Node& node) { return one_float(node) && !permutation(node).empty(); }
bool claims_flatten(const Node& node) {
  return one_float(node) && axis_of(node, 1) >= 0 && axis_of(node, 1) <= int64_t(node.in[0]->rank());
}

}  // namespace

void add_moves(Rules& rules) {
  rules.push_back({"Concat", 1, claims_concat, [](const Node& n) -> std::unique_ptr<Operation> {
                     return std::make_unique<Concat>(size_t(axis_of(n, n.since < 4 ? 1 : 0)));
                   }});
  rules.push_back(
      {"Transpose", 1, claims_transpose,
       [](const Node& n) -> std::unique_ptr<Operation> { return std::make_unique<Transpose>(permutation(n)); }, true});
  rules.push_back({"Reshape", 5, claims_reshape, make_reshape, true});
  rules.push_back({"Flatten", 1, claims_flatten, make_flatten, true});
  rules.push_back({"Identity", 1, claims_one, make_identity, true});
  rules.push_back({"Squeeze", 1, claims_squeeze, make_squeeze, true});
  rules.push_back({"Unsqueeze", 1, claims_squeeze, make_unsqueeze, true});
}

}  // namespace onednn
