#include "masks.h"

#include <algorithm>

#include "common/sizes.h"

namespace providers::cuda {
namespace {

// The struct of kernels/attention_mask.cu.
struct MaskArguments {
  int64_t bias[4];
  int32_t batch, heads, rows, keys, form;
  float filter;
};

enum Form : int32_t { kNone, kKeys, kRows, kEnds, kEndsAndBegins };

Form form_of(const Emitter& e, const MaskCall& c) {
  if (!e.has(c.mask)) return kNone;
  const Dims& d = e.look(c.mask).dims;
  const int64_t b = c.batch;
  if ((d == Dims{b, 1} || d == Dims{1, 1}) && c.keys != 1) return kNone;  // it stands for a missing mask
  if (d == Dims{b, c.rows, c.keys}) return kRows;
  if (d == Dims{b, c.keys}) return kKeys;
  if (d == Dims{2 * b}) return kEndsAndBegins;
  if (d == Dims{b} || d == Dims{3 * b + 2}) return kEnds;
  e.fail(text("the mask has shape ", shape_text(d), ", expected one of batch ", b, ", rows ", c.rows, " and keys ",
              c.keys));
}

}  // namespace

std::optional<ScoreOperand> joined_masks(Emitter& e, const MaskCall& c) {
  std::optional<ScoreOperand> bias;
  if (e.has(c.bias)) bias = score_operand(e, e.in(c.bias), {c.batch, c.heads, c.rows, c.keys});
  const Form form = form_of(e, c);
  if (form == kNone || c.batch * c.rows * c.keys == 0) return bias;
  if (e.look(c.mask).type != ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) e.fail("the mask is expected to be int32");
  MaskArguments a{};
  if (bias) std::copy_n(bias->strides, 4, a.bias);
  const int64_t heads = bias && bias->strides[1] ? c.heads : 1;
  const int64_t rows = form == kRows || (bias && bias->strides[2]) ? c.rows : 1;
  const int64_t count = c.batch * heads * rows * c.keys;
  a.batch = checked_int(e, c.batch, "batch");
  a.heads = checked_int(e, heads, "number of heads");
  a.rows = checked_int(e, rows, "number of rows");
  a.keys = checked_int(e, c.keys, "number of keys");
  a.form = form;
  a.filter = c.filter;
  ScoreOperand made;
  made.data = e.scratch(size_t(count) * sizeof(float));
  made.data.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT;
  made.strides[0] = heads * rows * c.keys;
  made.strides[1] = heads > 1 ? rows * c.keys : 0;
  made.strides[2] = rows > 1 ? c.keys : 0;
  made.strides[3] = 1;
  const Kernel kernel =
      e.kernel("attention_mask.cu", "join_masks", {{"BIAS", bias ? kernel_type(bias->data.type) : "u8"}});
  Grid grid;
  grid.threads.x = 256;
  grid.blocks.x = unsigned(std::min<int64_t>(ceil_div(count, 256), 1 << 16));
  e.launch(kernel, grid, {e.in(c.mask), bias ? bias->data : Operand(), made.data, Argument::of(a)});
  return made;
}

}  // namespace providers::cuda
