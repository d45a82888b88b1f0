// OrtErrorCode, which is part of the C interface.
#pragma once
#include "onnxruntime_c_api.h"
