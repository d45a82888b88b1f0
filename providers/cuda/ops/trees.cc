// TreeEnsembleRegressor, TreeEnsembleClassifier and TreeEnsemble of ai.onnx.ml.
#include <algorithm>

#include "tree_tables.h"

namespace providers::cuda {
namespace {

constexpr int64_t kThreads = 256;  // of a block of kernels/trees.cu

// The kernel's struct and enum of these names.
enum TreeKind { regressor, classifier, ensemble };
struct Trees {
  int64_t rows = 0, columns = 0, trees = 0, targets = 1;
  int32_t lanes = 1, kind = 0, aggregate = 1, transform = 0, bases = 0, half_way = 0;
};

// Inputs: X, and the tables. Outputs: scores, or labels and scores of a classifier.
struct TreeOp : Op {
  enum Input : size_t { kX, kNodes, kWeights, kMembers, kRoots, kBases, kLabels };
  Trees form;
  int64_t features = 0;
  bool plain = true, wide = false;

  void emit(Emitter& e) const override;

 private:
  int64_t group(Emitter& e, const Trees& t) const;
};

// Threads that share a row: as many as keep the device busy.
int64_t TreeOp::group(Emitter& e, const Trees& t) const {
  int64_t threads = 1;
  while (threads < kThreads && threads < t.trees && t.rows * threads < int64_t(e.device().multiprocessors()) * 1024)
    threads *= 2;
  return threads;
}

void TreeOp::emit(Emitter& e) const {
  const Operand x = e.in(kX);
  if (x.rank() != 1 && x.rank() != 2) e.fail("X must have two axes, or one for one row");
  Trees t = form;
  t.rows = x.rank() == 1 ? 1 : x.dims[0];
  t.columns = x.dims.back();
  if (t.columns < features)
    e.fail(text("X has shape ", shape_text(x.dims), ", but the trees use ", features, " features"));
  const bool classes = t.kind == classifier;
  const Type type = t.kind == ensemble ? x.type : ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  Operand labels, y;
  if (classes && e.has_out(0)) labels = e.out(0, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, {t.rows});
  if (e.has_out(classes ? 1 : 0)) y = e.out(classes ? 1 : 0, type, {t.rows, t.targets});
  if (t.rows == 0) return;
  const int64_t threads = group(e, t);
  while (t.lanes * 2 * t.targets <= threads) t.lanes *= 2;
  const Operand scores = e.scratch(size_t(t.rows * t.targets) * (wide ? 8 : 4));
  const Operand spoken = e.scratch(size_t(t.rows * t.targets));
  const Kernel kernel = e.kernel("trees.cu", "trees",
                                 {{"INPUT", kernel_type(x.type)},
                                  {"SCORE", wide ? "double" : "float"},
                                  {"OUTPUT", kernel_type(type)},
                                  {"GROUP", std::to_string(threads)},
                                  {"PLAIN", plain ? "1" : "0"}});
  const int64_t rows = kThreads / threads;
  e.launch(kernel, {{unsigned((t.rows + rows - 1) / rows)}, {unsigned(kThreads)}},
           {x, y, labels, scores, spoken, e.in(kNodes), e.in(kWeights), e.in(kMembers), e.in(kRoots), e.in(kBases),
            e.in(kLabels), Argument::of(t)});
}

template <typename T>
std::vector<char> bytes_as(const std::vector<double>& values) {
  std::vector<T> list(values.begin(), values.end());
  list.push_back(0);  // so that none is empty
  const auto* begin = reinterpret_cast<const char*>(list.data());
  return {begin, begin + list.size() * sizeof(T)};
}

void add_tables(TreeOp& op, const Node& node, Builder& builder, const TreeLists& lists,
                const std::vector<double>& bases) {
  op.wide = node.input(0)->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  const TreeTables tables = op.wide ? tree_tables<double>(node, lists) : tree_tables<float>(node, lists);
  op.form.trees = tables.trees;
  op.form.targets = lists.targets;
  op.form.bases = int32_t(bases.size());
  op.features = tables.features;
  op.plain = tables.plain;
  const auto add = [&](const char* what, std::vector<char> bytes) {
    bytes.resize(std::max<size_t>(bytes.size(), 16));
    const Dims dims{int64_t(bytes.size())};
    op.in.push_back(builder.made(text(node.who(), ": ", what), ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, dims, bytes));
  };
  add("nodes", tables.nodes);
  add("weights", tables.weights);
  add("members", tables.members);
  add("roots", tables.roots);
  add("base values", op.wide ? bytes_as<double>(bases) : bytes_as<float>(bases));
  const Dims labels = node.integers("classlabels_int64s");
  const auto* begin = reinterpret_cast<const char*>(labels.data());
  add("labels", {begin, begin + labels.size() * sizeof(int64_t)});
}

const char* const kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
const char* const kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
template <size_t n>
int32_t place_of(const std::string& name, const char* const (&names)[n]) {
  const auto* const at = std::find(names, names + n, name);
  return at == names + n ? -1 : int32_t(at - names);
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<TreeOp>();
  op->who = node.who();
  op->in = {builder.number(node.input(0))};
  for (const Value* v : node.out) op->out.push_back(builder.number(v));
  Trees& form = op->form;
  if (node.type == "TreeEnsemble") {
    form.kind = ensemble;
    form.aggregate = int32_t(node.integer("aggregate_function", 1));
    form.transform = int32_t(node.integer("post_transform", 0));
    add_tables(*op, node, builder, new_trees(node), {});
    return op;
  }
  form.transform = place_of(node.string("post_transform", "NONE"), kTransforms);
  const std::vector<double> bases = reals_of(node, "base_values", "base_values_as_tensor");
  if (node.type == "TreeEnsembleRegressor") {
    form.kind = regressor;
    form.aggregate = place_of(node.string("aggregate_function", "SUM"), kAggregates);
    add_tables(*op, node, builder, old_trees(node, "target", node.integer("n_targets", 1)), bases);
    return op;
  }
  form.kind = classifier;
  const Dims ids = node.integers("class_ids");
  const std::vector<double> weights = reals_of(node, "class_weights", "class_weights_as_tensor");
  const auto classes = int64_t(node.integers("classlabels_int64s").size());
  // The trees weight only one of two classes, with probabilities.
  form.half_way = classes == 2 && !ids.empty() && std::count(ids.begin(), ids.end(), ids[0]) == int64_t(ids.size()) &&
                  std::none_of(weights.begin(), weights.end(), [](double w) { return w < 0; });
  add_tables(*op, node, builder, old_trees(node, "class", classes), bases);
  return op;
}

std::string refuses(const Node& node, const Claiming&) {
  const Value* x = node.input(0);
  const Type type = x ? x->type : Type();
  const bool real = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE;
  const bool integer = type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
  if (node.type == "TreeEnsemble") {
    if (!real && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16) return text("X of type ", name_of(type));
    const int64_t aggregate = node.integer("aggregate_function", 1), transform = node.integer("post_transform", 0);
    if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4) return "an unknown function";
    return node.integer("n_targets", 1) < 1 ? "n_targets is not positive" : "";
  }
  if (!real && !integer) return text("X of type ", name_of(type));
  if (place_of(node.string("post_transform", "NONE"), kTransforms) < 0) return "an unknown post_transform";
  const auto bases = int64_t(reals_of(node, "base_values", "base_values_as_tensor").size());
  if (node.type == "TreeEnsembleRegressor") {
    if (place_of(node.string("aggregate_function", "SUM"), kAggregates) < 0) return "an unknown aggregate_function";
    const int64_t targets = node.integer("n_targets", 1);
    if (targets < 1 || (bases && bases != targets)) return text(bases, " base_values for ", targets, " targets");
    return "";
  }
  const auto classes = int64_t(node.integers("classlabels_int64s").size());
  if (classes == 0) return "labels that are texts";
  if (bases && bases != classes && (bases != 1 || classes != 2))
    return text(bases, " base_values for ", classes, " classes");
  return "";
}

}  // namespace

void add_trees(Kinds& kinds) {
  for (const char* type : {"TreeEnsembleRegressor", "TreeEnsembleClassifier", "TreeEnsemble"})
    kinds[{"ai.onnx.ml", type}] = {refuses, make};
}

}  // namespace providers::cuda
