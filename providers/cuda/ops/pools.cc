// Pools, BatchNormalization and LRN: both layouts, as their input has it.
#include <algorithm>

#include "common/sizes.h"
#include "windows.h"

namespace providers::cuda {
namespace {

enum PoolKind { kLargest = 0, kMean = 1, kNorm = 2 };

bool is_one_of(const Value* v, std::initializer_list<Type> types) {
  return v && std::find(types.begin(), types.end(), v->type) != types.end();
}
bool is_real(const Value* v) {
  return is_one_of(v, {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
                       ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE});
}
bool is_byte_type(const Value* v) {
  return is_one_of(v, {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8});
}

/// The largest power of two of elements in 16 bytes that divides `count`.
int64_t vector_of(Type type, int64_t count) {
  int64_t v = int64_t(16 / size_of(type));
  while (count % v) v /= 2;
  return v;
}

PoolKind kind_of(const std::string& type) {
  return type.find("Max") != std::string::npos ? kLargest : type.find("Lp") != std::string::npos ? kNorm : kMean;
}

void check_rank(Emitter& e, const Operand& x) {
  if (x.rank() < 3 || x.rank() > 5) e.fail(text("the input has rank ", x.rank(), ", expected 3 to 5"));
}

class PoolOp : public Op {
 public:
  explicit PoolOp(const Node& node)
      : window_(node),
        kind_(kind_of(node.type)),
        p_(float(node.integer("p", 2))),
        with_padding_(node.type == "AveragePool" && node.integer("count_include_pad", 0) != 0),
        columns_first_(node.integer("storage_order", 0) != 0) {}

  void emit(Emitter& e) const override {
    check_rank(e, e.look(0));
    const bool indices = e.outputs() > 1 && e.has_out(1);
    const Operand x = indices ? e.in(0) : e.in_any_layout(0);
    if (window_.filter.size() != x.rank() - 2) e.fail("attribute kernel_shape does not fit the input's rank");
    const WindowAxes axes = window_.axes(x.dims, window_.filter);
    const Dims dims = window_dims(x.dims, x.dims[1], axes);
    const bool last = x.layout == Layout::channels_last;
    const Operand y = e.out(0, x.type, dims, x.layout);
    Operand places;
    if (indices) places = e.out(1, ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, dims);
    if (y.count() == 0) return;
    const int64_t v = last ? vector_of(x.type, dims[1]) : 1;
    Defines d{{"TYPE", kernel_type(x.type)},
              {"KIND", std::to_string(int(kind_))},
              {"WINDOW", "1"},
              {"VEC", std::to_string(v)},
              {"INDEX", index_type(int64_t(y.count()))}};
    if (last) d["LAST"] = "1";
    if (indices) d["INDICES"] = "1";
    const int64_t count = int64_t(y.count()) / v;
    e.launch(e.kernel("pools.cu", "pool", d), flat_grid(size_t(count)),
             {x, y, indices ? Argument(places) : Argument(int64_t{0}), arguments(count, dims[1], axes)});
  }

 private:
  Argument arguments(int64_t count, int64_t channels, const WindowAxes& axes) const {
    struct {
      int64_t count;
      int32_t channels, in[3], out[3], filter[3], stride[3], dilation[3], begin[3], end[3];
      int32_t with_padding, columns_first;
      float p;
      int32_t unused;
    } w{};
    w.count = count;
    w.channels = int32_t(channels);
    for (size_t i = 0; i < 3; ++i) {
      const WindowAxis& a = axes[i];
      w.in[i] = int32_t(a.in);
      w.out[i] = int32_t(a.out);
      w.filter[i] = int32_t(a.filter);
      w.stride[i] = int32_t(a.stride);
      w.dilation[i] = int32_t(a.dilation);
      w.begin[i] = int32_t(a.begin);
      w.end[i] = int32_t(a.end);
    }
    w.with_padding = with_padding_;
    w.columns_first = columns_first_;
    w.p = p_;
    return Argument::of(w);
  }

  Window window_;
  PoolKind kind_;
  float p_;
  bool with_padding_, columns_first_;
};

class GlobalPoolOp : public Op {
 public:
  explicit GlobalPoolOp(const Node& node) : kind_(kind_of(node.type)), p_(float(node.integer("p", 2))) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    if (x.rank() < 3) e.fail(text("the input has rank ", x.rank(), ", expected 3 or more"));
    Dims dims(x.rank(), 1);
    dims[0] = x.dims[0];
    dims[1] = x.dims[1];
    const Operand y = e.out(0, x.type, dims);
    const int64_t places = product(x.dims, 2);
    if (y.count() == 0) return;
    if (places == 0 || places > 0x7fffffff) e.fail(text("a channel has ", places, " elements"));
    Defines d{{"TYPE", kernel_type(x.type)}, {"KIND", std::to_string(int(kind_))}};
    if (x.layout == Layout::channels_last && dims[0] < 65536) {
      const int64_t v = vector_of(x.type, dims[1]);
      d["GLOBAL_LAST"] = "1";
      d["VEC"] = std::to_string(v);
      Grid grid;
      grid.threads = {8, 32, 1};
      grid.blocks = {unsigned(ceil_div(dims[1], 8 * v)), unsigned(dims[0]), 1};
      return e.launch(e.kernel("pools.cu", "pool_last", d), grid, {x, y, int32_t(dims[1]), int32_t(places), p_});
    }
    const Operand rows = e.in(0);
    const int64_t count = dims[0] * dims[1];
    const bool by_warp = places <= 1024;
    d["GLOBAL_ROWS"] = "1";
    Grid grid;
    grid.threads = {256, 1, 1};
    grid.blocks = {unsigned(by_warp ? ceil_div(count, 8) : count), 1, 1};
    e.launch(e.kernel("pools.cu", "pool_rows", d), grid, {rows, y, count, int32_t(places), int32_t(by_warp), p_});
  }

 private:
  PoolKind kind_;
  float p_;
};

class BatchNormOp : public Op {
 public:
  explicit BatchNormOp(const Node& node) : epsilon_(node.number("epsilon", 1e-5f)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const int64_t channels = x.rank() > 1 ? x.dims[1] : 1;
    for (size_t i = 1; i < 5; ++i)
      if (e.look(i).dims != Dims{channels}) e.fail(text("input ", i, " needs ", channels, " elements"));
    const Operand y = e.out(0, x.type, x.dims, x.layout);
    const int64_t count = int64_t(y.count());
    if (count == 0) return;
    const bool last = x.layout == Layout::channels_last || x.rank() == 2;
    const int64_t inner = last ? 1 : x.rank() < 2 ? count : product(x.dims, 2);
    const int64_t v = vector_of(x.type, last ? channels : inner);
    const Defines d{{"TYPE", kernel_type(x.type)},
                    {"SCALE_TYPE", kernel_type(e.look(1).type)},
                    {"MEAN_TYPE", kernel_type(e.look(3).type)},
                    {"BATCH_NORM", "1"},
                    {"VEC", std::to_string(v)},
                    {"INDEX", index_type(count)}};
    e.launch(e.kernel("pools.cu", "batch_norm", d), flat_grid(size_t(count / v)),
             {x, e.in(1), e.in(2), e.in(3), e.in(4), y, count / v, int32_t(channels), inner, epsilon_});
  }

 private:
  float epsilon_;
};

class LrnOp : public Op {
 public:
  explicit LrnOp(const Node& node)
      : alpha_(node.number("alpha", 1e-4f)),
        beta_(node.number("beta", 0.75f)),
        bias_(node.number("bias", 1)),
        size_(node.integer("size", 1)) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    if (x.rank() < 2) e.fail(text("the input has rank ", x.rank(), ", expected 2 or more"));
    const Operand y = e.out(0, x.type, x.dims, x.layout);
    const int64_t count = int64_t(y.count());
    if (count == 0) return;
    const int64_t step = x.layout == Layout::channels_last ? 1 : product(x.dims, 2);
    const int64_t before = (size_ - 1) / 2;
    const Defines d{{"TYPE", kernel_type(x.type)}, {"LRN", "1"}, {"INDEX", index_type(count)}};
    e.launch(e.kernel("pools.cu", "lrn", d), flat_grid(size_t(count)),
             {x, y, count, int32_t(x.dims[1]), step, int32_t(before), int32_t(size_ - 1 - before),
              alpha_ / float(size_), beta_, bias_});
  }

 private:
  float alpha_, beta_, bias_;
  int64_t size_;
};

std::string refuses_pool(const Node& node, const Claiming&) {
  const Value* const x = node.input(0);
  if (!is_real(x) && !(node.type == "MaxPool" && is_byte_type(x))) return "its type is not supported";
  if (x->has_rank && (x->rank() < 3 || x->rank() > 5)) return text("its input has rank ", x->rank());
  const Window window(node);
  if (window.filter.empty()) return "attribute kernel_shape is missing";
  if (node.type == "LpPool" && node.integer("p", 2) < 1) return "attribute p is not positive";
  return window.refuses(window.filter.size());
}

std::string refuses_global(const Node& node, const Claiming&) {
  const Value* const x = node.input(0);
  if (!is_real(x)) return "its type is not supported";
  if (x->has_rank && x->rank() < 3) return text("its input has rank ", x->rank());
  return node.integer("p", 2) < 1 ? "attribute p is not positive" : "";
}

std::string refuses_batch_norm(const Node& node, const Claiming&) {
  if (node.integer("training_mode", 0) != 0) return "it is in training mode";
  if (node.since < 9 && node.integer("spatial", 1) == 0) return "attribute spatial is 0";
  if (node.since < 7 && node.integer("is_test", 0) == 0) return "it is in training mode";
  for (size_t i = 1; i < node.out.size(); ++i)
    if (node.out[i] && !node.out[i]->name.empty()) return "it has more than one output";
  for (size_t i = 0; i < 5; ++i)
    if (!is_real(node.input(i))) return text("the type of input ", i, " is not supported");
  return node.input(1)->type != node.input(2)->type || node.input(3)->type != node.input(4)->type
             ? "its inputs have too many types"
             : "";
}

std::string refuses_lrn(const Node& node, const Claiming&) {
  const Value* const x = node.input(0);
  if (!is_real(x) || x->type == ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) return "its type is not supported";
  return node.integer("size", 0) < 1 || node.integer("size", 0) > 0x7fffffff ? "attribute size is not positive" : "";
}

}  // namespace

void add_pools(Kinds& kinds) {
  for (const char* type : {"MaxPool", "AveragePool", "LpPool"}) kinds[{"", type}] = {refuses_pool, make_op<PoolOp>};
  for (const char* type : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
    kinds[{"", type}] = {refuses_global, make_op<GlobalPoolOp>};
  kinds[{"", "BatchNormalization"}] = {refuses_batch_norm, make_op<BatchNormOp>};
  kinds[{"", "LRN"}] = {refuses_lrn, make_op<LrnOp>};
}

}  // namespace providers::cuda
