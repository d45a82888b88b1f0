#include "operators.h"

#include "blaslt.h"
#include "dnn.h"

namespace providers::cuda {
namespace {

std::string dnn_missing() { return dnn::missing(); }

// Small products have kernels of their own, but shapes are not known when nodes are claimed.
void name_libraries(Kinds& kinds) {
  const auto name = [&](const char* domain, std::initializer_list<const char*> types, std::string (*missing)()) {
    for (const char* type : types)
      if (const auto at = kinds.find({domain, type}); at != kinds.end()) at->second.missing = missing;
  };
  name("", {"MatMul", "Gemm", "Einsum", "MatMulInteger", "QLinearMatMul", "LSTM", "GRU", "RNN"}, blaslt_missing);
  name("com.microsoft",
       {"FusedMatMul", "FusedGemm", "GemmFastGelu", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QGemm",
        "MatMulNBits", "Attention", "DynamicQuantizeLSTM"},
       blaslt_missing);
  name("", {"Conv", "ConvTranspose"}, dnn_missing);
  name("com.microsoft", {"FusedConv"}, dnn_missing);
}

}  // namespace

const Kinds& kinds() {
  static const Kinds& all = *[] {
    auto* const made = new Kinds;
    for (const auto add :
         {add_elementwise, add_shapes, add_moves, add_reductions, add_norms, add_products, add_convolutions,
          add_attention, add_resize, add_alone, add_trees, add_experts, add_expanded, add_nbits})
      add(*made);
    name_libraries(*made);
    return made;
  }();
  return all;
}

const std::vector<Fusion>& fusions() {
  static const std::vector<Fusion> all{fuse_attention, fuse_norms, fuse_products, fuse_convolutions, fuse_elementwise};
  return all;
}

void bind(Op& op, const Node& node, Builder& builder) {
  op.who = node.who();
  for (const Value* v : node.in) op.in.push_back(builder.number(v));
  for (const Value* v : node.out) op.out.push_back(builder.number(v));
}

}  // namespace providers::cuda
