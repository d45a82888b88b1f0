// Types that plug-ins may register kernels for.
#pragma once
#include "abi/handle.h"
#include "tensor/dtype.h"

/// A tensor of that element type. There is one object for each, which is never released.
struct OrtDataType : retort::abi::Handle<retort::abi::tag_of("dtyp")> {
  retort::DType element = retort::DType::undefined;
};
