// Models that a session writes: optimised ones beside its own work, and compiled ones in place of it.
#pragma once
#include "ep/cpu.h"
#include "ep/device_run.h"
#include "session/model_source.h"
#include "session/options.h"

namespace retort {

/// Writes an optimised copy of the model, if the options name a file for it. Throws invalid_argument for an option that
/// is not a number of bytes, and what save_model() throws.
void save_optimized(const Model& model, const SessionOptions& options, const LowerOptions& lower);

/// Hands a compiled copy of the model to SessionOptions::compile: parts that providers compiled are in it as such, and
/// all else is as the model has it, or optimised. Throws what the function throws.
void compile_model(const Model& given, const SessionOptions& options, const LowerOptions& lower,
                   const SessionDevices& devices, const ModelSource& source);

}  // namespace retort
