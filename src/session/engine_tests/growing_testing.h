// A graph whose memory grows with its input, for tests of what sessions allocate, keep and free.
#pragma once
#include "session/session_testing.h"

namespace retort {

/// y = x + Softmax(x): a workspace and a result, each as large as x.
struct GrowingGraph : TestGraph {
  GrowingGraph() {
    const ValueId x = input("x", {symbol("n")});
    output(add("Add", {add("Softmax", {x}), x}), "y");
  }
};

/// n elements.
inline Value ones_of(int64_t n) {
  Tensor t(DType::f32, {n});
  std::fill_n(t.mutable_data<float>(), t.count(), 1.0f);
  return t;
}

}  // namespace retort
