// In opset 1 many operators could name inputs whose memory they may use up: a hint that says nothing any more.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.erase({"consumed_inputs"}); }
constexpr LiftRule kRules[] = {{"Abs", 6, apply},
                               {"BatchNormalization", 6, apply},
                               {"Ceil", 6, apply},
                               {"Dropout", 6, apply},
                               {"Elu", 6, apply},
                               {"Exp", 6, apply},
                               {"Floor", 6, apply},
                               {"HardSigmoid", 6, apply},
                               {"InstanceNormalization", 6, apply},
                               {"LeakyRelu", 6, apply},
                               {"Log", 6, apply},
                               {"Max", 6, apply},
                               {"Mean", 6, apply},
                               {"Min", 6, apply},
                               {"Neg", 6, apply},
                               {"PRelu", 6, apply},
                               {"Reciprocal", 6, apply},
                               {"Relu", 6, apply},
                               {"Selu", 6, apply},
                               {"Sigmoid", 6, apply},
                               {"Sqrt", 6, apply},
                               {"Sum", 6, apply},
                               {"Tanh", 6, apply}};

}  // namespace

extern const LiftRules lift_consumed_inputs;
constinit const LiftRules lift_consumed_inputs{kRules};

}  // namespace retort
