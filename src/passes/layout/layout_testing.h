// Shared by tests of the layout pass.
#pragma once
#include "passes/passes.h"
#include "passes/passes_testing.h"

namespace retort {

inline const std::initializer_list<std::string_view> kCleanup{"identity",       "noop_transpose", "transpose_chain",
                                                              "transpose_unit", "noop_reshape",   "reshape_chain"};

/// Expects the graph that the pass and a cleanup make.
inline void expect_layout(TestGraph& t, const std::string& after) {
  expect_change(t, after, [](Graph& g) {
    PassOptions options;
    PassContext context(options);
    const size_t before = g.node_count();
    pass_layout.run(g, context);
    resolve_new_nodes(g, before);
    rewrite(g, rules_named({kCleanup.begin(), kCleanup.size()}), context);
    pass_dead_code.run(g, context);
  });
}

}  // namespace retort
