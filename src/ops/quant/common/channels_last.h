// The choice between channels-first and channels-last convolutions of codes.
#pragma once

namespace retort::ops {

/// Whether this processor's fastest convolutions of codes are channels-last: the channels-first ones use AMX where the
/// processor has it.
bool multiplies_channels_last_codes();

}  // namespace retort::ops
