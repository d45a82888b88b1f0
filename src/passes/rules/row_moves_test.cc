#include "passes/passes_testing.h"

namespace retort {
namespace {

/// Adds the moves of Swin for windows of 2 x 2 rows.
struct Image {
  TestGraph& t;
  ValueId slice(ValueId x, int64_t axis, int64_t start, int64_t end, int64_t step = 1) const {
    return t.add("Slice", {x, t.ints({start}), t.ints({end}), t.ints({axis}), t.ints({step})});
  }
  ValueId concat(std::vector<ValueId> parts, int64_t axis) const {
    return t.add("Concat", std::move(parts), {{"axis", axis}});
  }
  ValueId roll(ValueId x, int64_t by) const {
    for (const int64_t axis : {1, 2}) x = concat({slice(x, axis, by, INT64_MAX), slice(x, axis, 0, by)}, axis);
    return x;
  }
  ValueId reshape(ValueId x, const std::vector<int64_t>& to) const { return t.add("Reshape", {x, t.ints(to)}); }
  ValueId transpose(ValueId x, std::vector<int64_t> perm) const {
    return t.add("Transpose", {x}, {{"perm", std::move(perm)}});
  }
};

void into_windows(TestGraph& t) {
  const Image image{t};
  const ValueId x = image.roll(t.input("x", {t.symbol("batch"), 4, 4, 16}), 1);
  const ValueId parts = image.transpose(image.reshape(x, {-1, 2, 2, 2, 2, 16}), {0, 1, 3, 2, 4, 5});
  t.output(image.reshape(parts, {-1, 4, 16}), "y");
}
const RuleExample example_of_windows("rows_into_windows", {"row_moves_reshape"}, into_windows,
                                     R"(graph(x: float32[batch,4,4,16]) {
  Reshape#1: float32[batch,16,16] = Reshape(x, shape#1)
  Gather#1: float32[batch,16,16] = Gather(Reshape#1, rows#1) {axis=1}
  y: float32[(batch)*4,4,16] = Reshape(Gather#1, shape#2)
  return y
}
)");

void out_of_windows(TestGraph& t) {
  const Image image{t};
  const ValueId x = image.reshape(t.input("x", {8, 4, 16}), {-1, 2, 2, 2, 2, 16});
  t.output(image.roll(image.reshape(image.transpose(x, {0, 1, 3, 2, 4, 5}), {-1, 4, 4, 16}), -1), "y");
}
const RuleExample example_out_of_windows("rows_out_of_windows", {"row_moves_concat"}, out_of_windows,
                                         R"(graph(x: float32[8,4,16]) {
  Reshape#1: float32[2,16,16] = Reshape(x, shape#1)
  Gather#1: float32[2,16,16] = Gather(Reshape#1, rows#1) {axis=1}
  y: float32[2,4,4,16] = Reshape(Gather#1, shape#2)
  return y
}
)");

void neighbours(TestGraph& t) {
  const Image image{t};
  const ValueId x = t.input("x", {t.symbol("batch"), 4, 4, 16});
  const ValueId rows[] = {image.slice(x, 1, 0, INT64_MAX, 2), image.slice(x, 1, 1, INT64_MAX, 2)};
  std::vector<ValueId> parts;
  for (const auto& [row, column] : {std::pair{0, 0}, {1, 0}, {0, 1}, {1, 1}})
    parts.push_back(image.slice(rows[row], 2, column, INT64_MAX, 2));
  t.output(image.concat(parts, -1), "y");
}
const RuleExample example_of_neighbours("rows_of_neighbours", {"row_moves_concat"}, neighbours,
                                        R"(graph(x: float32[batch,4,4,16]) {
  Reshape#1: float32[batch,16,16] = Reshape(x, shape#1)
  Gather#1: float32[batch,16,16] = Gather(Reshape#1, rows#1) {axis=1}
  y: float32[batch,2,2,64] = Reshape(Gather#1, shape#2)
  return y
}
)");

void shifted_and_turned(TestGraph& t) {
  const Image image{t};
  t.output(image.transpose(image.roll(t.input("x", {t.symbol("batch"), 4, 3, 16}), 1), {0, 2, 1, 3}), "y");
}
const RuleExample example_of_shift("rows_shifted_and_turned", {"row_moves_transpose"}, shifted_and_turned,
                                   R"(graph(x: float32[batch,4,3,16]) {
  Reshape#1: float32[batch,12,16] = Reshape(x, shape#1)
  Gather#1: float32[batch,12,16] = Gather(Reshape#1, rows#1) {axis=1}
  y: float32[batch,3,4,16] = Reshape(Gather#1, shape#2)
  return y
}
)");

void back_and_forth(TestGraph& t) {
  const Image image{t};
  const ValueId x = image.transpose(t.input("x", {t.symbol("batch"), 3, 5, 32}), {0, 2, 1, 3});
  t.output(image.transpose(image.concat({image.slice(x, 3, 16, 32), image.slice(x, 3, 0, 16)}, 1), {0, 2, 1, 3}), "y");
}

TEST(RowMoves, KeepOtherChains) {
  const std::initializer_list<std::string_view> kAll{"row_moves_concat", "row_moves_reshape", "row_moves_transpose"};
  const auto unchanged = [&](auto&& build) {
    TestGraph t;
    build(t, Image{t});
    expect_no_rewrite(t, kAll);
  };
  const Shape shape{2, 4, 4, 16};
  unchanged([&](TestGraph& t, const Image&) { back_and_forth(t); });  // parts of rows
  unchanged([&](TestGraph& t, const Image& i) {                       // a result that the program sees
    const ValueId x = i.transpose(t.input("x", shape), {0, 2, 1, 3});
    t.output(x, "seen");
    t.output(i.transpose(x, {0, 2, 1, 3}), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // two sources
    const ValueId a = t.input("a", shape), b = t.input("b", shape);
    t.output(i.concat({i.slice(a, 1, 0, 2), i.slice(b, 1, 2, 4)}, 1), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // the batch moves
    t.output(i.transpose(i.transpose(t.input("x", shape), {1, 0, 2, 3}), {0, 2, 1, 3}), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // elements of rows move
    t.output(i.transpose(i.transpose(t.input("x", shape), {0, 1, 3, 2}), {0, 2, 1, 3}), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // short rows
    t.output(i.transpose(i.transpose(t.input("x", {2, 3, 4, 5, 6}), {0, 2, 1, 3, 4}), {0, 1, 3, 2, 4}), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // one move
    t.output(i.transpose(t.input("x", shape), {0, 2, 1, 3}), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // more rows than a constant of indices may have
    t.output(i.transpose(i.transpose(t.input("x", {1, 2, 181, 182, 16}), {0, 2, 1, 3, 4}), {0, 1, 3, 2, 4}), "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // more nodes than a chain may have
    ValueId x = t.input("x", {2, 3, 4, 5, 16});
    for (int step = 0; step < 33; ++step)
      x = i.transpose(x, step % 2 ? std::vector<int64_t>{0, 1, 3, 2, 4} : std::vector<int64_t>{0, 2, 1, 3, 4});
    t.output(x, "y");
  });
  unchanged([&](TestGraph& t, const Image& i) {  // an extent that is not known
    const Dim n = t.symbol("n");
    t.output(i.transpose(i.transpose(t.input("x", {2, n, 4, 5, 16}), {0, 2, 1, 3, 4}), {0, 1, 3, 2, 4}), "y");
  });
}

}  // namespace
}  // namespace retort
