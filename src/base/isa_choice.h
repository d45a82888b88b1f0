// The instruction level that a user asks for: RETORT_ISA in the environment.
#pragma once
#include <string>

#include "base/cpu.h"

namespace retort {

struct IsaChoice {
  Isa isa;
  std::string problem;  ///< what is wrong with the name that was given; `isa` is the processor's best then
};

/// The level that a value of RETORT_ISA (null or empty: none) names, for a processor whose best level is `best`.
IsaChoice choose_isa(const char* wanted, Isa best);

/// Throws invalid_argument where RETORT_ISA names a level that does not exist or that the processor does not have.
/// best_isa() does not: it is asked before main() begins.
void require_chosen_isa();

}  // namespace retort
