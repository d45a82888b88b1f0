// RNN, LSTM, GRU: output_sequence said that output 0 is wanted, which its presence tells.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply(Rewriter& r) { r.erase({"output_sequence"}); }
constexpr LiftRule kRules[] = {{"RNN", 7, apply}, {"LSTM", 7, apply}, {"GRU", 7, apply}};

}  // namespace

extern const LiftRules lift_recurrent;
constinit const LiftRules lift_recurrent{kRules};

}  // namespace retort
