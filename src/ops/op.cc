#include "ops/op.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace retort {

const OpDef* find_op(std::string_view domain, std::string_view name) {
  static const auto* index = [] {
    auto* map = new std::map<std::pair<std::string_view, std::string_view>, const OpDef*>;
    for (const OpDef* op : op_table()) map->emplace(std::pair(op->info.domain, op->info.name), op);
    return map;
  }();
  const auto found = index->find({domain, name});
  return found == index->end() ? nullptr : found->second;
}

void resolve(Node& node) {
  const OpDef* op = find_op(node.domain, node.type);
  if (!op)
    fail(ErrorCode::not_implemented, "{}: operator {}.{} is not known", describe(node),
         node.domain.empty() ? "ai.onnx" : node.domain, node.type);
  try {
    node.params = op->parse(node.attributes);
  } catch (Error& e) {
    e.add_context(describe(node));
    throw;
  }
  node.op = op;
}

namespace {

void store(const Slot& slot, GraphValue& value) {
  if (slot.type.kind == ValueType::Kind::tensor || value.type.kind == ValueType::Kind::unknown) {
    const ValueType declared = value.type;
    value.type = slot.type;
    // What the model declares may know more than inference does.
    if (!slot.type.ranked && declared.ranked) {
      value.type.ranked = true;
      value.type.shape = declared.shape;
    }
    if (slot.type.dtype == DType::undefined) value.type.dtype = declared.dtype;
  }
  value.has_known = slot.has_known;
  value.known = slot.known;
}

Slot to_slot(const GraphValue& v) {
  Slot s;
  s.type = v.type;
  s.present = true;
  s.known = v.known;
  s.has_known = v.has_known;
  if (v.is_constant()) {
    s.data = const_cast<void*>(v.constant.data());
    s.count = v.constant.count();
  }
  return s;
}

}  // namespace

void infer_node(Graph& graph, Node& node) {
  std::vector<Slot> slots(node.inputs.size() + node.outputs.size());
  std::vector<Slot*> inputs, outputs;
  size_t next = 0;
  for (ValueId in : node.inputs) {
    Slot& s = slots[next++];
    if (in != ValueId::none) s = to_slot(graph.value(in));
    inputs.push_back(in == ValueId::none ? nullptr : &s);
  }
  for (ValueId out : node.outputs) outputs.push_back(out == ValueId::none ? nullptr : &slots[next++]);
  InferContext context(graph.dims(), &node, inputs, outputs);
  try {
    node.op->infer(node.params.get(), context);
  } catch (NotYetKnown) {  // what was set before stays
  } catch (Error& e) {
    e.add_context(describe(node));
    throw;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) store(*outputs[i], graph.value(node.outputs[i]));
  }
}

namespace detail {

void fail_attribute(std::string_view name, const Attribute* given, std::string_view wanted) {
  if (!given) fail(ErrorCode::invalid_graph, "attribute '{}' is required and missing", name);
  fail(ErrorCode::invalid_graph, "attribute '{}' is of kind {}, the operator wants {}", name, attribute_kind(*given),
       wanted);
}

void check_names(const Attributes& given, std::span<const std::string_view> allowed) {
  for (const auto& [name, value] : given) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      fail(ErrorCode::invalid_graph, "unrecognised attribute '{}'", name);
    }
  }
}

namespace {
template <typename From, typename To>
bool convert(const Attribute& a, To& to) {
  const From* v = std::get_if<From>(&a);
  if (v) to = static_cast<To>(*v);
  return v;
}
}  // namespace

bool read(const Attribute& a, int64_t& to) { return convert<int64_t>(a, to); }
bool read(const Attribute& a, int& to) { return convert<int64_t>(a, to) && to == std::get<int64_t>(a); }
bool read(const Attribute& a, bool& to) { return convert<int64_t>(a, to); }
bool read(const Attribute& a, DType& to) {
  return convert<int64_t>(a, to) && std::get<int64_t>(a) > 0 && std::get<int64_t>(a) < kDTypeCount;
}
bool read(const Attribute& a, float& to) { return convert<float>(a, to); }
bool read(const Attribute& a, std::string& to) { return convert<std::string>(a, to); }
bool read(const Attribute& a, std::vector<int64_t>& to) { return convert<std::vector<int64_t>>(a, to); }
bool read(const Attribute& a, std::vector<float>& to) { return convert<std::vector<float>>(a, to); }
bool read(const Attribute& a, std::vector<std::string>& to) { return convert<std::vector<std::string>>(a, to); }
bool read(const Attribute& a, Tensor& to) { return convert<Tensor>(a, to); }

}  // namespace detail
}  // namespace retort
