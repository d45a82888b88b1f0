#include "known.h"

#include <algorithm>

#include "known_call.h"
#include "known_data.h"

namespace providers::cuda {
namespace {

const KnownFunctions& known_functions() {
  static const KnownFunctions& all = *[] {
    auto* const made = new KnownFunctions;
    add_known_shapes(*made);
    add_known_moves(*made);
    add_known_arithmetic(*made);
    return made;
  }();
  return all;
}

bool is_number(Type type) {
  return size_of(type) > 0;  // strings and types of less than a byte are not evaluated
}

KnownResult read_tensor(const Node& node, const std::string& attribute) {
  OrtValue* made = nullptr;
  check(api().OpAttr_GetTensorAttributeAsOrtValue(node.attributes.at(attribute), &made));
  const Owned<OrtValue> owner(made, api().ReleaseValue);
  const TensorView view = view_of(made);
  KnownResult result;
  if (const auto known = load_known(view)) result = {view.type, view.dims, *known};
  return result;
}

void read_attribute(const Node& node, const std::string& name, KnownOp& op) {
  OrtOpAttrType type = ORT_OP_ATTR_UNDEFINED;
  check(api().OpAttr_GetType(node.attributes.at(name), &type));
  if (type == ORT_OP_ATTR_INT) op.integers[name] = {node.integer(name, 0)};
  if (type == ORT_OP_ATTR_INTS) op.integers[name] = node.integers(name);
  if (type == ORT_OP_ATTR_FLOAT) op.reals[name] = node.number(name, 0);
  if (type == ORT_OP_ATTR_TENSOR) op.value = read_tensor(node, name);
}

// As elements of the type have it: integers wrap around, reals are rounded.
void store_in_type(KnownResult& result) {
  std::vector<char> bytes(result.count() * size_of(result.type));
  store_known(result.values, result.type, bytes.data());
  TensorView view;
  view.type = result.type;
  view.dims = result.dims;
  view.data = bytes.data();
  const auto known = load_known(view);
  if (known) result.values = *known;
}

}  // namespace

size_t KnownResult::count() const { return known_count(dims); }

int64_t KnownOp::integer(const std::string& attribute, int64_t otherwise) const {
  const auto at = integers.find(attribute);
  return at == integers.end() || at->second.empty() ? otherwise : at->second[0];
}

bool follows_from_shape(const Node& node) {
  return node.domain.empty() && (node.type == "Shape" || node.type == "Size");
}

bool plannable(const Node& node) {
  if (!node.domain.empty() || !known_functions().count(node.type)) return false;
  for (const auto* list : {&node.in, &node.out})
    for (const Value* v : *list)
      if (v && !is_number(v->type)) return false;
  return std::none_of(node.out.begin(), node.out.end(),
                      [](const Value* v) { return v && v->fixed() && known_count(v->dims) > kMostKnown; });
}

std::shared_ptr<const KnownOp> make_known(const Node& node) {
  if (!plannable(node)) return nullptr;
  auto op = std::make_shared<KnownOp>();
  op->type = node.type;
  op->who = node.who();
  op->since = node.since;
  op->outputs = node.out.size();
  for (const auto& entry : node.attributes) read_attribute(node, entry.first, *op);
  // The operator on the device may not list the input that only gives the type.
  if (node.type == "CastLike") op->integers["to"] = {int64_t(node.in.at(1)->type)};
  return op;
}

KnownResult known_tensor(const Node& node, const std::string& attribute) {
  return node.has(attribute) ? read_tensor(node, attribute) : KnownResult();
}

bool evaluate(const KnownOp& op, const std::vector<const Operand*>& in, std::vector<KnownResult>& out) {
  const auto function = known_functions().find(op.type);
  if (function == known_functions().end()) return false;
  const bool from_shape = op.type == "Shape" || op.type == "Size";
  for (const Operand* operand : in)
    if (operand && !operand->known && !from_shape) return false;
  out.clear();
  KnownCall call{op, in, out};
  if (!function->second(call)) return false;
  for (KnownResult& result : out) {
    if (result.count() > kMostKnown || !is_number(result.type)) return false;
    store_in_type(result);
  }
  return true;
}

bool KnownCall::real(size_t i) const { return is_known_real(type(i)); }

size_t KnownCall::axis(int64_t axis, size_t rank) const {
  const int64_t at = axis < 0 ? axis + int64_t(rank) : axis;
  if (at < 0 || at >= int64_t(rank)) fail(text("axis ", axis, " of a tensor with ", rank, " axes"));
  return size_t(at);
}

const std::vector<int64_t>* KnownCall::list(size_t input, const char* attribute) const {
  if (has(input)) return &values(input).integers;
  const auto at = op.integers.find(attribute);
  return at == op.integers.end() ? nullptr : &at->second;
}

KnownResult& KnownCall::add(Type type, const Dims& dims) { return out.emplace_back(KnownResult{type, dims, {}}); }

void KnownCall::add_integers(const Dims& dims, std::vector<int64_t> values) {
  add(ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, dims).values.integers = std::move(values);
}

void KnownCall::take(size_t i, const Dims& dims, const std::vector<size_t>& indices) {
  const Known& from = values(i);
  Known& to = add(type(i), dims).values;
  for (const size_t at : indices) {
    if (real(i))
      to.reals.push_back(from.reals.at(at));
    else
      to.integers.push_back(from.integers.at(at));
  }
}

void KnownCall::fail(const std::string& why) const {
  std::string line = op.who + ": " + why + "; inputs:";
  for (const Operand* o : in)
    if (o) line += text(" ", name_of(o->type), shape_text(o->dims));
  throw Error(line);
}

bool is_known_real(Type type) {
  return type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE ||
         type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16;
}

size_t known_count(const Dims& dims) {
  size_t n = 1;
  for (const int64_t d : dims) n *= size_t(d);
  return n;
}

std::vector<size_t> known_strides(const Dims& dims) {
  std::vector<size_t> strides(dims.size());
  size_t step = 1;
  for (size_t i = dims.size(); i-- > 0; step *= size_t(dims[i])) strides[i] = step;
  return strides;
}

void for_each_known(const Dims& dims, const std::function<void(const Dims& at)>& visit) {
  Dims at(dims.size(), 0);
  for (size_t left = known_count(dims); left > 0; --left) {
    visit(at);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++at[axis] < dims[axis]) break;
      at[axis] = 0;
    }
  }
}

Dims known_broadcast(const KnownCall& call, size_t inputs) {
  Dims out;
  for (size_t i = 0; i < inputs; ++i) {
    const Dims& dims = call.dims(i);
    if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), 1);
    const size_t missing = out.size() - dims.size();
    for (size_t axis = 0; axis < dims.size(); ++axis) {
      int64_t& extent = out[missing + axis];
      if (extent != dims[axis] && extent != 1 && dims[axis] != 1) call.fail("the shapes do not broadcast");
      if (extent == 1) extent = dims[axis];
    }
  }
  return out;
}

std::vector<size_t> known_indices(const Dims& dims, const Dims& tensor) {
  const auto strides = known_strides(tensor);
  const size_t missing = dims.size() - tensor.size();
  std::vector<size_t> indices;
  for_each_known(dims, [&](const Dims& at) {
    size_t index = 0;
    for (size_t axis = 0; axis < tensor.size(); ++axis)
      if (tensor[axis] != 1) index += size_t(at[missing + axis]) * strides[axis];
    indices.push_back(index);
  });
  return indices;
}

}  // namespace providers::cuda
