// Products of 8-bit integers.
#include "operators.h"

namespace onednn {

void add_quantized(Rules&) {}

}  // namespace onednn
