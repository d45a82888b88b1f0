// Called by the generated test of all slots.
#pragma once
#include <gtest/gtest.h>

#include <string_view>
#include <type_traits>

#include "abi/slots.h"

namespace retort::abi {

/// A slot in abi/pending.tsv returns ORT_NOT_IMPLEMENTED with its own name; no other slot does, and zeros crash none.
template <typename F>
void check_slot(std::string_view name, bool pending, F call) {
  if constexpr (std::is_same_v<std::invoke_result_t<F>, OrtStatusPtr>) {
    OrtStatusPtr status = call();
    const bool says_so = status && GetErrorCode(status) == ORT_NOT_IMPLEMENTED &&
                         std::string_view(GetErrorMessage(status)).find(name) == 0;
    EXPECT_EQ(says_so, pending) << name;
    ReleaseStatus(status);
  } else {
    call();
  }
}

}  // namespace retort::abi
