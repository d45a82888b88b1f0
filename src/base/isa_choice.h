// The instruction level that the environment variable RETORT_ISA selects.
#pragma once
#include <string>

#include "base/cpu.h"

namespace retort {

/// The best level of this processor, whatever RETORT_ISA says; determined once.
Isa processor_isa();

struct IsaChoice {
  Isa isa;
  std::string problem;  ///< the error in the given name; `isa` is then the best level of the processor
  uint8_t without = 0;  ///< the features that are taken away: bit i is Feature(i) of features.h
};

/// Reads `wanted`, the value of RETORT_ISA (null or empty: not set), on a processor whose best level is `best`: the name
/// of a level, and after it any number of features to take away from it, each with a hyphen in front.
IsaChoice choose_isa(const char* wanted, Isa best);

/// Throws invalid_argument if RETORT_ISA names a level or a feature that does not exist, or a level that the processor
/// does not support.
/// best_isa() does not throw, because it is called before main() begins.
void require_chosen_isa();

}  // namespace retort
