// RNN, LSTM, GRU: output_sequence said whether output 0 is needed; now that follows from its presence.
#include "lift/rewriter.h"

namespace retort {
namespace {

void apply_recurrent(Rewriter& r) { r.erase({"output_sequence"}); }
constexpr LiftRule kRecurrentRules[] = {
    {"RNN", 7, apply_recurrent}, {"LSTM", 7, apply_recurrent}, {"GRU", 7, apply_recurrent}};

}  // namespace

extern const LiftRules lift_recurrent;
constinit const LiftRules lift_recurrent{kRecurrentRules};

}  // namespace retort
