// Concat and Split: one launch copies up to eight pieces.
#include <numeric>

#include "moves.h"

namespace providers::cuda {
namespace {

constexpr size_t kPieces = 8;  // of one launch; kernels/join.cu has the same

// The arguments of kernels/join.cu, for counts below 2^31 and others.
struct Pieces {
  Divisor width;
  uint32_t begin[kPieces + 1] = {};
  int64_t pitch = 0, offset = 0;
};
struct WidePieces {
  int64_t width = 0;
  int64_t begin[kPieces + 1] = {};
  int64_t pitch = 0, offset = 0;
};

/// A tensor of rows, divided into pieces at bytes of each row.
struct Joint {
  int64_t rows = 0, row_bytes = 0;
  size_t unit = 1;
  std::vector<Operand> pieces;
  std::vector<int64_t> begin, end;  ///< bytes in a row
};

class Joiner {
 public:
  Joiner(Emitter& e, const Operand& whole, const Joint& joint, bool join)
      : e_(e), whole_(whole), joint_(joint), join_(join) {}

  void emit() {
    for (size_t first = 0; first < joint_.pieces.size(); first += kPieces)
      emit_some(first, std::min(joint_.pieces.size(), first + kPieces));
  }

 private:
  // Pieces [first, last), which are contiguous.
  void emit_some(size_t first, size_t last) {
    const int64_t width = joint_.end[last - 1] - joint_.begin[first];
    size_t word = word_for(joint_.unit, {joint_.row_bytes, joint_.begin[first]});
    for (size_t i = first; i < last; ++i)
      word = std::min(word, word_for(joint_.unit, {joint_.end[i] - joint_.begin[i]}));
    const auto w = int64_t(word);
    const int64_t count = joint_.rows * width / w;
    const bool narrow = count < kNarrow;
    Pieces p;
    WidePieces wide;
    if (narrow) p.width = Divisor(width / w);
    wide.width = width / w;
    for (size_t k = 0; k <= kPieces; ++k) {
      const size_t i = first + k;
      wide.begin[k] = i < last ? (joint_.begin[i] - joint_.begin[first]) / w : width / w;
      p.begin[k] = uint32_t(wide.begin[k]);
    }
    p.pitch = wide.pitch = joint_.row_bytes / w;
    p.offset = wide.offset = joint_.begin[first] / w;
    std::vector<Argument> arguments{whole_};
    for (size_t k = 0; k < kPieces; ++k) arguments.push_back(joint_.pieces[std::min(first + k, last - 1)]);
    arguments.push_back(count);
    arguments.push_back(narrow ? Argument::of(p) : Argument::of(wide));
    e_.launch(move_kernel(e_, {"join.cu", join_ ? "join_pieces" : "split_pieces"}, word, joint_.unit, narrow),
              flat_grid(size_t(count), 256, 4), arguments);
  }

  Emitter& e_;
  const Operand& whole_;
  const Joint& joint_;
  const bool join_;
};

class Concat : public Op {
 public:
  explicit Concat(const Node& node) : axis_(node.integer("axis", node.since < 4 ? 1 : 0)) {}

  void emit(Emitter& e) const override {
    const Operand& first = e.look(0);
    const size_t rank = first.rank(), axis = axis_of(e, axis_, rank);
    const Layout layout = layout_of(e);
    Dims dims = first.dims;
    dims[axis] = 0;
    std::vector<Operand> parts;
    for (size_t i = 0; i < e.inputs(); ++i) {
      const Operand& x = e.look(i);
      for (size_t d = 0; d < rank; ++d)
        if (x.rank() != rank || (d != axis && x.dims[d] != dims[d]))
          e.fail(text("input ", i, " has another shape than input 0 beside axis ", axis));
      dims[axis] += x.dims[axis];
      if (x.count()) parts.push_back(layout == Layout::rows ? e.in(i) : e.in_channels_last(i));
    }
    if (parts.size() == 1 && layout == Layout::rows) return e.alias(0, parts[0], dims);
    const Operand y = e.out(0, first.type, dims, layout);
    if (y.count() == 0) return;
    const size_t at = place_of(axis, rank, layout);
    const Dims memory = in_memory(dims, layout);
    Joint joint;
    joint.unit = size_of(first.type);
    joint.rows = product(memory, 0, at);
    const int64_t inner = product(memory, at + 1, rank) * int64_t(joint.unit);
    joint.row_bytes = memory[at] * inner;
    int64_t begin = 0;
    for (const Operand& x : parts) {
      joint.pieces.push_back(x);
      joint.begin.push_back(begin);
      joint.end.push_back(begin += x.dims[axis] * inner);
    }
    Joiner(e, y, joint, true).emit();
  }

 private:
  // The layout of most bytes.
  static Layout layout_of(const Emitter& e) {
    size_t all = 0, last = 0;
    for (size_t i = 0; i < e.inputs(); ++i) {
      all += e.look(i).bytes();
      if (e.look(i).layout == Layout::channels_last) last += e.look(i).bytes();
    }
    return 2 * last > all ? Layout::channels_last : Layout::rows;
  }

  const int64_t axis_;
};

class Split : public Op {
 public:
  explicit Split(const Node& node)
      : axis_(node.integer("axis", 0)), sizes_(node.integers("split")), has_sizes_(node.has("split")) {}

  void emit(Emitter& e) const override {
    const Operand x = e.in_any_layout(0);
    const size_t rank = x.rank(), axis = axis_of(e, axis_, rank), at = place_of(axis, rank, x.layout);
    const Dims sizes = sizes_of(e, x.dims[axis]);
    const Dims memory = in_memory(x.dims, x.layout);
    size_t wanted = 0;
    for (size_t i = 0; i < e.outputs(); ++i) wanted += e.has_out(i);
    if (product(memory, 0, at) == 1 || wanted == 1 || wanted < e.outputs()) return emit_each(e, x, axis, sizes);
    Joint joint;
    joint.unit = size_of(x.type);
    joint.rows = product(memory, 0, at);
    const int64_t inner = product(memory, at + 1, rank) * int64_t(joint.unit);
    joint.row_bytes = memory[at] * inner;
    int64_t begin = 0;
    for (size_t i = 0; i < sizes.size(); ++i) {
      Dims dims = x.dims;
      dims[axis] = sizes[i];
      const Operand y = e.out(i, x.type, dims, x.layout);
      if (y.count() == 0) continue;
      joint.pieces.push_back(y);
      joint.begin.push_back(begin);
      joint.end.push_back(begin += sizes[i] * inner);
    }
    Joiner(e, x, joint, false).emit();
  }

 private:
  Dims sizes_of(const Emitter& e, int64_t extent) const {
    const auto n = int64_t(e.outputs());
    const bool input = e.has(1);
    Dims sizes = input ? e.integers(1) : sizes_;
    if (!input && !has_sizes_) {
      const int64_t each = (extent + n - 1) / n;
      for (int64_t i = 0; i < n; ++i) sizes.push_back(std::clamp<int64_t>(extent - i * each, 0, each));
    }
    const bool fits = int64_t(sizes.size()) == n &&
                      std::all_of(sizes.begin(), sizes.end(), [](int64_t s) { return s >= 0; }) &&
                      std::accumulate(sizes.begin(), sizes.end(), int64_t(0)) == extent;
    if (!fits) e.fail(text("the sizes do not divide an extent of ", extent, " into ", n, " outputs"));
    return sizes;
  }

  static void emit_each(Emitter& e, const Operand& x, size_t axis, const Dims& sizes) {
    int64_t begin = 0;
    for (size_t i = 0; i < sizes.size(); begin += sizes[i++]) {
      if (!e.has_out(i)) continue;
      auto slices = whole(x.dims);
      slices[axis] = {begin, 1, sizes[i]};
      Dims dims = x.dims;
      dims[axis] = sizes[i];
      emit_slice(e, i, x, slices, dims);
    }
  }

  const int64_t axis_;
  const Dims sizes_;
  const bool has_sizes_;
};

std::string refuses_concat(const Node& node, const Claiming&) {
  for (const Value* v : node.in)
    if (const std::string why = refuses_type(v); !why.empty()) return why;
  return "";
}

std::string refuses_split(const Node& node, const Claiming& claiming) {
  const std::string why = refuses_type(node.input(0));
  return why.empty() ? refuses_unknown(node, claiming, 1, "the sizes") : why;
}

}  // namespace

void add_joins(Kinds& kinds) {
  kinds[{"", "Concat"}] = kind_of<Concat>(refuses_concat);
  kinds[{"", "Split"}] = kind_of<Split>(refuses_split);
}

}  // namespace providers::cuda
