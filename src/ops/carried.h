// Elementwise operators on narrow types: see carried.cc.
#pragma once
#include "ops/op.h"

namespace retort {

/// Whether run_in_pieces() runs the operator for elements of this type.
bool runs_in_pieces(const OpDef& op, DType dtype);
/// The same result as that of run_reference(), up to the rounding of the operator's kernel for the wider type. The work
/// is divided by the output's shape alone.
void run_in_pieces(const OpDef& op, const void* params, RunContext& context, DType dtype);
/// Runs a Kernel that has no function for elements of `dtype`.
void run_carried(const OpDef& op, const void* params, RunContext& context, DType dtype);

}  // namespace retort
