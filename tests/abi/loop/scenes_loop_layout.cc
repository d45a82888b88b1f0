// The loopback provider with images whose channels come last: nodes are rewritten, with transposes around them.
#include "loop/loop.h"

using namespace scenes;

namespace {

const std::initializer_list<Loop::Setting> kLast = {{"channels_last", "1"}};

Maker images() { return Maker().floats_in("x", {1, 3, 2, 2}).floats_out("y", {1, "c", "h", "w"}); }

void run(Scene& s, Loop& loop, const Maker& model, OrtSessionOptions* options) {
  loop.forget();
  OrtSession* session = model.open(s, options);
  if (!session) return;
  s.note("compiled parts", loop.counts().compiled);
  loop.run(session, loop.tensor(Where::host, {1, 3, 2, 2}, counted(12)));
}

}  // namespace

/// In both styles.
#define STORY(NAME, ...)                                                    \
  SCENE(loopback_layout, NAME) {                                            \
    for (const char* style : {"compiled", "kernels"}) {                     \
      Loop loop(s, kLast);                                                  \
      run(s, loop, images() __VA_ARGS__, loop.options({{"style", style}})); \
    }                                                                       \
  }

STORY(one_node, .node("GlobalAveragePool", {"x"}, {"y"}))
STORY(one_after_another, .node("GlobalAveragePool", {"x"}, {"a"}).node("GlobalAveragePool", {"a"}, {"y"}))
STORY(of_each_element, .floats("b", {3, 1, 1}, {1, 2, 3})
                           .floats("c", {1}, {2})
                           .node("GlobalAveragePool", {"x"}, {"a"})
                           .node("Add", {"a", "b"}, {"d"})
                           .node("Mul", {"d", "c"}, {"e"})
                           .node("Sigmoid", {"e"}, {"y"}))
STORY(joined, .node("GlobalAveragePool", {"x"}, {"a"})
                  .node("Neg", {"x"}, {"b"})
                  .node("GlobalAveragePool", {"b"}, {"c"})
                  .node("Concat", {"a", "c"}, {"y"}, {attribute("axis", 1)}))
STORY(of_two_readers, .node("GlobalAveragePool", {"x"}, {"a"})
                          .node("Abs", {"a"}, {"b"})
                          .node("Relu", {"a"}, {"c"})
                          .node("Sub", {"b", "c"}, {"y"}))

SCENE(loopback_layout, claims_the_image_operator_only) {
  Loop loop(s, kLast);
  run(s, loop, images().node("GlobalAveragePool", {"x"}, {"a"}).node("Relu", {"a"}, {"y"}),
      loop.options({{"claim", "GlobalAveragePool"}}));
}

SCENE(loopback_layout, failures) {
  for (const char* fail : {"GetPreferredDataLayout", "ShouldConvertDataLayoutForOp", "GetCapability:2"}) {
    Loop loop(s, kLast);
    loop.set("fail", fail);
    run(s, loop, images().node("GlobalAveragePool", {"x"}, {"y"}), loop.options());
    loop.set("fail", "");
  }
}
