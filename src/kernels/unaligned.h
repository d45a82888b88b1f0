// Weights as they lie in a model file.
#pragma once

namespace retort::kernels {

/// A float at any byte: model files do not align weights. What packs them reads them so.
using UnalignedFloat [[gnu::aligned(1)]] = float;

}  // namespace retort::kernels
