#include "ops/op.h"

#include <algorithm>
#include <map>

#include "base/advice.h"
#include "ir/describe.h"

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

namespace {

// Nearly all operators of the domain ai.onnx are known, so a model with another one is invalid, as it is for ONNX
// Runtime. Other domains may have operators that are not known here.
[[noreturn]] void fail_unknown(const Node& node) {
  if (node.is("EPContext", "com.microsoft")) {
    const std::string maker = node.attributes.get_or<std::string>("source", "");
    fail(ErrorCode::not_implemented,
         "its content was compiled by a provider{}: no provider of this session accepts it; add that provider, or "
         "use the model that it was compiled from",
         maker.empty() ? "" : cat(", '{}'", maker));
  }
  std::vector<std::string_view> names;
  int newest = 0;
  for (const OpDef* op : op_table()) {
    if (op->info.domain != node.domain || op->has(kInternal)) continue;
    names.push_back(op->info.name);
    for (const int version : op->info.since) newest = std::max(newest, version);
  }
  const std::string_view near = nearest(node.type, names);
  const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  // A hint stays in the domain that the model chose: an operator of the same name elsewhere may compute something else.
  const std::string what_to_do =
      near.empty() ? "export the model with operators that `retort ops` lists" : cat("use {}", near);
  const std::string limit = newest > 0 && node.version > newest
                                ? cat(", and the newest known version of the operator set is {}", newest)
                                : "";
  fail(node.domain.empty() ? ErrorCode::invalid_graph : ErrorCode::not_implemented, "operator {}.{} is not known{}; {}",
       domain, node.type, limit, what_to_do);
}

}  // namespace

void resolve(Node& node) {
  try {
    const OpDef* op = find_op(node.domain, node.type);
    if (!op) fail_unknown(node);
    node.params = op->parse(node.attributes);
    node.op = op;
  } catch (Error& e) {
    advise(e, "correct the attributes");
    if (!node.name.empty()) e.add_context(describe(node));  // otherwise the caller knows a better name for it
    throw;
  }
}

namespace {

void store(const Slot& slot, GraphValue& value) {
  if (slot.type.kind == ValueType::Kind::tensor || value.type.kind == ValueType::Kind::unknown) {
    const ValueType declared = value.type;
    value.type = slot.type;
    // The declared type of the model may have more information than inference.
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

// Returns "T" for "X: T?"; "" if there is no such parameter. Sets `variadic` for the last one of "X: T...".
std::string_view constraint(std::span<const Formal> formals, size_t i, bool& optional, bool& variadic) {
  const auto all = given(formals);
  if (all.empty()) return {};
  std::string_view formal = all[std::min(i, all.size() - 1)].text();
  variadic = formal.ends_with("...");
  optional = formal.ends_with("?");
  if (i >= all.size() && !variadic) return {};
  formal.remove_prefix(formal.find(": ") + 2);
  return formal.substr(0, formal.size() - (variadic ? 3 : optional ? 1 : 0));
}

std::string_view formal_name(Formal formal) { return formal.text().substr(0, formal.text().find(':')); }

bool is_container(const ValueType& type) {
  return type.kind == ValueType::Kind::sequence || type.kind == ValueType::Kind::map ||
         type.kind == ValueType::Kind::optional;
}

std::string types_text(TypeSet set) {
  std::string text;
  for (int t = 1; t < kDTypeCount; ++t) {
    if (contains(set, DType(t))) text += cat("{}{}", text.empty() ? "" : ", ", dtype_name(DType(t)));
  }
  return text;
}

// Constraints are called T, Tind, …; a name that begins with a small letter is the only accepted type.
std::optional<DType> named_type(std::string_view name) {
  if (name.front() == 'T') return std::nullopt;
  for (int t = 1; t < kDTypeCount; ++t) {
    if (dtype_name(DType(t)) == name) return DType(t);
  }
  return std::nullopt;
}

/// Whether the operator has a kernel for the type. A view computes nothing.
bool takes(const OpDef& op, DType type) {
  if (!contains(op.info.types, type)) return false;
  const Kernel kernel = find_kernel(op, type);
  return kernel.fn || kernel.carried || op.has(kView);
}

TypeSet taken_types(const OpDef& op) {
  TypeSet taken = 0;
  for (int t = 1; t < kDTypeCount; ++t) taken |= takes(op, DType(t)) ? types({DType(t)}) : 0;
  return taken;
}

// Kernels rely on these checks: required inputs are present, T is one of the op's types, and parameters of one
// constraint have the same type (except variadic ones of a constraint other than T, which may be mixed).
void check_inputs(const OpDef& op, const Node& node, std::span<Slot* const> inputs) {
  std::array<std::pair<std::string_view, DType>, 8> seen{};
  size_t seen_count = 0;
  const size_t own = inputs.size() - node.captures;
  bool optional = false, variadic = false;
  for (size_t i = 0; i < std::max(own, op.info.inputs.size()); ++i) {
    const std::string_view name = constraint(op.info.inputs, i, optional, variadic);
    if (name.empty()) {
      require(i >= own, ErrorCode::invalid_graph, "has {} inputs, but the operator takes {}; remove the others", own,
              i);
      break;
    }
    if (i >= own || !inputs[i]) {
      const bool more = variadic && i > 0;
      require(optional || more, ErrorCode::invalid_graph, "required input {} ({}) is missing; give it to the node", i,
              formal_name(op.info.inputs[i]));
      if (i >= own && variadic) break;
      continue;
    }
    const DType type = inputs[i]->type.dtype;
    require(inputs[i]->type.kind != ValueType::Kind::sparse || op.has(kBoxed), ErrorCode::invalid_graph,
            "input {} is a sparse tensor, but the operator takes dense ones; only com.microsoft.SparseToDenseMatMul "
            "takes a sparse matrix",
            i);
    if (is_container(inputs[i]->type) && name == "T" && op.info.types != kAll)
      fail(ErrorCode::invalid_graph,
           "input {} is not a tensor, but the operator takes only tensors; give an element of it", i);
    if (!inputs[i]->type.is_tensor() || type == DType::undefined) continue;
    if (name == "T" && !takes(op, type))
      fail(ErrorCode::not_implemented, "input {} is of type {}, but the operator takes {}; cast it to one of these", i,
           dtype_name(type), types_text(taken_types(op)));
    if (const auto wanted = named_type(name); wanted && *wanted != type)
      fail(ErrorCode::invalid_graph, "input {} is of type {}, expected {}; {}", i, dtype_name(type), name,
           *wanted == DType::boolean ? "compare or cast it" : "cast it");
    if (name == "Tind" && type != DType::i32 && type != DType::i64)
      fail(ErrorCode::invalid_graph, "input {} is of type {}, expected int32 or int64; cast it", i, dtype_name(type));
    if (variadic && name != "T") continue;
    size_t k = 0;
    while (k < seen_count && seen[k].first != name) ++k;
    if (k == seen_count && seen_count < seen.size()) seen[seen_count++] = {name, type};
    if (k < seen_count && seen[k].second != type)
      fail(ErrorCode::invalid_graph,
           "input {} is of type {}, but an earlier one of the same constraint {} is of type {}; cast one of them", i,
           dtype_name(type), name, dtype_name(seen[k].second));
  }
}

// Returns "check its inputs 'x' float32[2,3], 'axes' int64[1]".
std::string what_to_check(const Graph& graph, const Node& node) {
  constexpr size_t kMostShown = 6;
  std::string text;
  for (size_t i = 0, shown = 0; i < node.inputs.size() - node.captures && shown < kMostShown; ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    const GraphValue& v = graph.value(node.inputs[i]);
    text += cat("{}'{}' {}", shown++ ? ", " : "its inputs ", v.name, type_text(graph, v.type));
  }
  return text.empty() ? "check its attributes" : "check " + text;
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
    if (!node.op->has(kExternal)) check_inputs(*node.op, node, inputs);
    node.op->infer(node.params.get(), context);
  } catch (NotYetKnown) {  // keeps what was set before
  } catch (Error& e) {
    advise(e, what_to_check(graph, node));
    e.add_context(describe(graph, node));
    throw;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) store(*outputs[i], graph.value(node.outputs[i]));
  }
}

namespace detail {

void fail_attribute(std::string_view name, const Attribute* given, std::string_view wanted) {
  if (!given) fail(ErrorCode::invalid_graph, "attribute '{}' is required and missing; set it", name);
  fail(ErrorCode::invalid_graph, "attribute '{}' is {}, of kind {}, but the operator expects {}; correct it", name,
       attribute_text(*given), attribute_kind(*given), wanted);
}

void check_names(const Attributes& given, std::span<const std::string_view> allowed) {
  for (const auto& [name, value] : given) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      fail(ErrorCode::invalid_graph, "unrecognised attribute '{}'; {}", name,
           allowed.empty() ? "remove it: the operator has no attributes"
                           : use_one_of(name, {allowed.begin(), allowed.end()}) + ", or remove it");
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
bool read(const Attribute& a, ValueType& to) { return convert<ValueType>(a, to); }

}  // namespace detail
}  // namespace retort
