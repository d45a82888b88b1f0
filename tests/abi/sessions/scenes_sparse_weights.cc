// Weights that a model stores as sparse tensors: operators get dense ones. A sparse input of the graph is another type.
#include "model_maker.h"

using namespace scenes;

namespace {

Message numbers(int type, std::string_view name, const std::vector<int64_t>& dims, std::string_view bytes) {
  Message t;
  for (const int64_t d : dims) t.number(1, uint64_t(d));
  return t.number(2, uint64_t(type)).text(8, name).text(9, bytes);
}

/// [[0 2 0] [1 0 0] [0 0 3]], its indices as places in the flat tensor or as rows and columns.
Message sparse(bool flat) {
  const float values[] = {2, 1, 3};
  const int64_t places[] = {1, 3, 8}, pairs[] = {0, 1, 1, 0, 2, 2};
  const std::string_view indices = flat ? std::string_view(reinterpret_cast<const char*>(places), sizeof places)
                                        : std::string_view(reinterpret_cast<const char*>(pairs), sizeof pairs);
  return Message()
      .message(1, numbers(1, "w", {3}, {reinterpret_cast<const char*>(values), sizeof values}))
      .message(2, numbers(7, "", flat ? std::vector<int64_t>{3} : std::vector<int64_t>{3, 2}, indices))
      .number(3, 3)
      .number(3, 3);
}

Message sparse_value(bool flat) { return Message().text(1, "sparse_value").message(22, sparse(flat)).number(20, 11); }

/// A product with the weights, and rows of them.
Maker users(Maker maker) {
  return maker.floats_in("x", {2, 3})
      .integers("rows", {2}, {2, 0})
      .node("MatMul", {"x", "w"}, {"y"})
      .node("Gather", {"w", "rows"}, {"z"})
      .floats_out("y", {2, 3})
      .floats_out("z", {2, 3});
}

void run(Scene& s, OrtSession* session) {
  if (!session) return;
  float data[6] = {1, 2, 3, 4, 5, 6};
  const OrtValue* x = floats(s, data, {2, 3});
  const char *in = "x", *out[] = {"y", "z"};
  OrtValue* made[2] = {};
  CALL(Run, session, nullptr, &in, &x, 1, out, 2, made);
  for (OrtValue* v : made) {
    note_tensor(s, "result", v);
    s.api.ReleaseValue(v);
  }
}

}  // namespace

SCENE(sparse, initializers) {
  for (const bool flat : {true, false}) run(s, users(Maker().sparse_initializer(sparse(flat))).open(s));
}

SCENE(sparse, constants) {
  for (const bool flat : {true, false})
    run(s, users(Maker().node("Constant", {}, {"w"}, {sparse_value(flat)})).open(s));
}

// The branches have the weights as their own initializers, or take those of the outer graph.
SCENE(sparse, weights_of_branches) {
  for (const bool own : {true, false}) {
    const auto branch = [&](const char* product, const char* rows) {
      return (own ? Maker().sparse_initializer(sparse(true)) : Maker())
          .node("MatMul", {"x", "w"}, {product})
          .node("Gather", {"w", "rows"}, {rows})
          .floats_out(product, {2, 3})
          .floats_out(rows, {2, 3})
          .graph();
    };
    run(s, Maker()
               .floats_in("x", {2, 3})
               .integers("rows", {2}, {2, 0})
               .initializer<uint8_t>("which", 9, {}, {uint8_t(own)})
               .node("Constant", {}, {own ? "unused" : "w"}, {sparse_value(false)})
               .node("If", {"which"}, {"y", "z"},
                     {body("then_branch", branch("a", "b")), body("else_branch", branch("c", "d"))})
               .floats_out("y", {2, 3})
               .floats_out("z", {2, 3})
               .open(s));
  }
}

SCENE(sparse, inputs_of_dense_operators) {
  Maker()
      .floats_in("x", {2, 3})
      .input("w", sparse_type(1, {3, 3}))
      .node("MatMul", {"x", "w"}, {"y"})
      .floats_out("y", {2, 3})
      .open(s);
  Maker()
      .input("w", sparse_type(1, {3, 3}))
      .integers("rows", {2}, {2, 0})
      .node("Gather", {"w", "rows"}, {"y"})
      .floats_out("y", {2, 3})
      .open(s);
}
