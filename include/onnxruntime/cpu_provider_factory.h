// The function that adds the provider of the CPU to session options, which is part of the C interface. `use_arena` is
// 0 or 1.
#pragma once
#include "onnxruntime_c_api.h"
