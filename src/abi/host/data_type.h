// The types that plug-ins may register kernels for.
#pragma once
#include "abi/handle.h"
#include "tensor/dtype.h"

/// The type of tensors with one element type. There is one object per type, which is never released.
struct OrtDataType : retort::abi::Handle<retort::abi::tag_of("dtyp")> {
  retort::DType element = retort::DType::undefined;
};
