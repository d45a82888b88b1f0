// Checks that apply to every operator; see op_test.h.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ops/op_test.h"

namespace retort::ops {

/// The examples of an operator.
std::vector<const OpTest*> tests_of(const OpDef& op);
/// The name of the parametrised test of an operator.
std::string test_name(const testing::TestParamInfo<const OpDef*>& info);
/// The element type of constraint T in an example.
DType example_type(const OpDef& op, const OpCase& example);

/// One example with T = type. All references must outlive it.
struct Trial {
  Trial(const OpDef& op, const OpTest& test, const OpCase& example, DType type);
  OpRun make() const;

  const OpDef& op;
  const OpTest& test;
  const OpCase& example;
  std::vector<Tensor> inputs, expected;
  bool exact = true;  ///< all inputs kept their values when converted
};

/// Checks that expected outputs, reference and kernels agree.
void check_kernels(const Trial& trial);
/// Checks that inference agrees with what the kernel produces.
void check_inference(const Trial& trial);

}  // namespace retort::ops
