// InstanceNormalization and GroupNormalization: rows of channels, with a scale and a shift for each channel or group.
// GroupNorm and SkipGroupNorm of com.microsoft, whose channels are last.
#include "rows.h"

namespace providers::cuda {
namespace {

struct ChannelNorm : Op {
  float epsilon = 0;
  int64_t groups = 0;      // 0: each channel is a group (InstanceNormalization)
  bool per_group = false;  // scale and bias have an element for each group, not for each channel

  void emit(Emitter& e) const override {
    RowNorm n;
    n.x = e.in(0);
    if (n.x.rank() < 2) e.fail(text("rank ", n.x.rank(), ", expected at least 2"));
    const int64_t channels = n.x.dims[1], area = product(n.x.dims, 2, n.x.rank());
    n.groups = groups ? groups : channels;
    if (n.groups == 0 || channels % n.groups) e.fail(text(channels, " channels do not make ", n.groups, " groups"));
    n.rows = n.x_rows = n.x.dims[0] * n.groups;
    n.length = channels / n.groups * area;
    n.area = per_group ? n.length : area;
    n.epsilon = epsilon;
    n.scale = e.in(1);
    n.shift = e.in(2);
    const size_t wanted = size_t(per_group ? n.groups : channels);
    if (n.scale.count() != wanted || n.shift.count() != wanted)
      e.fail(text("scale and bias have ", n.scale.count(), " and ", n.shift.count(), " elements, expected ", wanted));
    if (n.length >> 32) e.fail(text("a group has ", n.length, " elements"));
    n.y = e.out(0, n.x.type, n.x.dims);
    launch_norm(e, n);
  }
};

std::string refuses(const Node& node, const Claiming&) {
  for (size_t i = 0; i < 3; ++i) {
    const std::string why = refuses_type(node, i, "fd");
    if (!why.empty()) return why;
    if (node.input(i)->type != node.input(0)->type) return "scale or bias has another type than the input";
  }
  if (node.type == "GroupNormalization" && node.integer("num_groups", 0) <= 0) return "num_groups is missing";
  return "";
}

std::unique_ptr<Op> make(const Node& node, Builder& builder) {
  auto op = std::make_unique<ChannelNorm>();
  bind(*op, node, builder);
  op->epsilon = node.number("epsilon", 1e-5f);
  if (node.type == "GroupNormalization") {
    op->groups = node.integer("num_groups", 0);
    op->per_group = node.since < 21;
  }
  return op;
}

// The kernel's struct of this name.
struct Group {
  int64_t area, channels, skip_area;
  int32_t groups, swish;
  float epsilon;
  int32_t unused;
};

// Inputs: x, scale, shift; SkipGroupNorm: skip, bias. Outputs: y; SkipGroupNorm: the sum.
struct LastNorm : Op {
  float epsilon = 0;
  int64_t groups = 1;
  bool swish = false;

  void emit(Emitter& e) const override {
    const Operand x = e.in(0), scale = e.in(1), shift = e.in(2);
    const Operand skip = e.has(3) ? e.in(3) : Operand{}, bias = e.has(4) ? e.in(4) : Operand{};
    if (x.rank() < 2) e.fail(text("rank ", x.rank(), ", expected 4"));
    const int64_t images = x.dims[0], channels = x.dims.back();
    const int64_t area = product(x.dims, 1, x.rank() - 1), skips = int64_t(skip.count());
    if (channels % groups) e.fail(text(channels, " channels do not make ", groups, " groups"));
    if (int64_t(scale.count()) != channels || int64_t(shift.count()) != channels)
      e.fail(text("scale and shift have ", scale.count(), " and ", shift.count(), " elements, expected ", channels));
    if (e.has(3) && skips != images * channels && skips != images * area * channels)
      e.fail(text("the skip has ", skips, " elements"));
    if (e.has(4) && int64_t(bias.count()) != channels) e.fail(text("the bias has ", bias.count(), " elements"));
    const Operand y = e.out(0, x.type, x.dims);
    const Operand sum = e.has_out(1) ? e.out(1, x.type, x.dims) : Operand{};
    if (y.count() == 0) return;
    const Group group{area, channels, skips == images * channels ? 1 : area, int32_t(groups), swish, epsilon, 0};
    const Defines defines{{"STORED", stored_type(x.type)}, {"SCALED", stored_type(scale.type)}};
    e.launch(e.kernel("group_norm.cu", "group_norm", defines), {{unsigned(images * groups)}, {512}},
             {x, skip, bias, scale, shift, y, sum, Argument::of(group)});
  }
};

std::string refuses_last(const Node& node, const Claiming&) {
  for (size_t i = 0; i < node.in.size(); ++i) {
    if (i > 2 && !node.in[i]) continue;
    const std::string why = refuses_type(node, i, "f");
    if (!why.empty()) return why;
    const Type like = node.in[i == 2 ? 1 : 0]->type;
    if (i > 1 && node.in[i]->type != like) return text("input ", i, " has type ", name_of(node.in[i]->type));
  }
  if (node.integer("channels_last", 1) == 0) return "channels are not last";
  return node.integer("groups", 0) > 0 ? "" : "groups is missing";
}

std::unique_ptr<Op> make_last(const Node& node, Builder& builder) {
  auto op = std::make_unique<LastNorm>();
  bind(*op, node, builder);
  op->epsilon = node.number("epsilon", 1e-5f);
  op->groups = node.integer("groups", 1);
  op->swish = node.integer("activation", 0) == 1;
  return op;
}

}  // namespace

void add_channel_norms(Kinds& kinds) {
  for (const char* kind : {"InstanceNormalization", "GroupNormalization"}) kinds[{"", kind}] = {refuses, make};
  for (const char* kind : {"GroupNorm", "SkipGroupNorm"}) kinds[{"com.microsoft", kind}] = {refuses_last, make_last};
}

}  // namespace providers::cuda
