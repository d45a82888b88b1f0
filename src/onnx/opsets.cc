#include "onnx/opsets.h"

#include "base/error.h"
#include "onnx/schema.h"

namespace retort {
namespace {

struct KnownOpset {
  std::string_view domain;
  int newest;
};
constexpr KnownOpset kKnown[] = {{"", onnx::kMaxOpset}, {"ai.onnx.ml", 5},          {"ai.onnx.training", 1},
                                 {"com.microsoft", 1},  {"com.microsoft.nchwc", 1}, {"ai.onnx.preview.training", 1}};

}  // namespace

std::vector<std::string> newer_opsets(const std::map<std::string, int>& opsets, std::string_view what) {
  std::vector<std::string> told;
  for (const KnownOpset& known : kKnown) {
    const auto imported = opsets.find(std::string(known.domain));
    if (imported == opsets.end() || imported->second <= known.newest) continue;
    told.push_back(cat("{} imports version {} of the operator set {}, and the newest known one is {}", what,
                       imported->second, known.domain.empty() ? "ai.onnx" : known.domain, known.newest));
  }
  return told;
}

void require_known_opsets(const std::map<std::string, int>& opsets, std::string_view what) {
  std::string all;
  for (const std::string& one : newer_opsets(opsets, what)) all += (all.empty() ? "" : ", ") + one;
  require(all.empty(), ErrorCode::fail,
          "{}; export it for that or an older one, or set session.allow_released_opsets_only to 0", all);
}

}  // namespace retort
