// Each operator lists in `since` every ONNX revision that it covers, so this test fails for a new release of ONNX until
// the changes have been checked.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/op.h"

namespace retort {
namespace {

struct Revisions {
  std::string_view domain, name;
  std::vector<uint16_t> versions;
};

const std::vector<Revisions>& onnx_revisions() {
  static const std::vector<Revisions> list = {
#include "ops/testdata/revisions.inc"
  };
  return list;
}

std::vector<uint16_t> covered(const OpDef& op) {
  std::vector<uint16_t> list(op.info.since.begin(), op.info.since.end());
  std::erase(list, 0);
  return list;
}

TEST(Revisions, EveryOperatorCoversThoseOfOnnx) {
  for (const OpDef* op : op_table()) {
    if (!op->info.domain.empty() && op->info.domain != "ai.onnx.ml") continue;
    const auto& all = onnx_revisions();
    const auto found = std::find_if(all.begin(), all.end(), [&](const Revisions& r) {
      return r.domain == op->info.domain && r.name == op->info.name;
    });
    // This is ONNX Runtime's own operator, which exporters put into this domain.
    if (op->info.name == "SimplifiedLayerNormalization") continue;
    if (found == all.end()) {
      ADD_FAILURE() << op->info.name << " is not an operator of ONNX";
      continue;
    }
    EXPECT_EQ(covered(*op), found->versions) << op->info.name;
  }
}

}  // namespace
}  // namespace retort
