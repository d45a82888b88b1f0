// What tests of slots expect of a status.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "abi/slots.h"

namespace retort::abi {

/// The message of a status that has the given code; releases it. "" if there is no error.
inline std::string failure(OrtStatusPtr status, OrtErrorCode code = ORT_INVALID_ARGUMENT) {
  if (!status) return "";
  EXPECT_EQ(GetErrorCode(status), code) << GetErrorMessage(status);
  std::string text = GetErrorMessage(status);
  ReleaseStatus(status);
  return text;
}

inline void expect_ok(OrtStatusPtr status) {
  if (!status) return;
  ADD_FAILURE() << GetErrorMessage(status);
  ReleaseStatus(status);
}

}  // namespace retort::abi
