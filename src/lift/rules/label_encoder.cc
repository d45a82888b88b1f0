// LabelEncoder: version 1 of ai.onnx.ml listed the strings that stand for 0, 1, …; now both keys and values are listed.
#include <numeric>

#include "base/error.h"
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_label_encoder(Rewriter& r) {
  const auto classes = r.attributes().get_or<std::vector<std::string>>("classes_strings", {});
  std::vector<int64_t> places(classes.size());
  std::iota(places.begin(), places.end(), 0);
  r.erase({"classes_strings"});
  const bool from_text = r.type(0).dtype == DType::string;
  require(from_text || r.type(0).dtype == DType::i64, ErrorCode::invalid_graph, "the input is of type {}",
          dtype_name(r.type(0).dtype));
  r.attributes().set(from_text ? "keys_strings" : "values_strings", classes);
  r.attributes().set(from_text ? "values_int64s" : "keys_int64s", places);
}
constexpr LiftRule kLabelEncoderRules[] = {{"LabelEncoder", 2, apply_label_encoder, "ai.onnx.ml"}};

}  // namespace

extern const LiftRules lift_label_encoder;
constinit const LiftRules lift_label_encoder{kLabelEncoderRules};

}  // namespace retort
