#include "run/work.h"

#include <gtest/gtest.h>

#include "ops/op.h"

namespace retort {
namespace {

/// A step with these shapes of its inputs and output 0, which has its own kernel.
class OneStep {
 public:
  OneStep(std::string type, const std::vector<Shape>& inputs, Shape output, Attributes attributes = {}) {
    Node node;
    node.type = std::move(type);
    node.attributes = std::move(attributes);
    resolve(node);
    step_.op = node.op;
    step_.params = node.params;
    step_.kernel.fn = [](const void*, RunContext&) {};
    for (const Shape& s : inputs) step_.inputs.push_back(add(s));
    step_.outputs.push_back(add(std::move(output)));
  }
  /// Makes input i a constant of the plan.
  OneStep& constant(size_t i) {
    plan_.values[step_.inputs[i]].home = Home::constant;
    return *this;
  }
  OneStep& by_reference() {
    step_.kernel = {.fn = nullptr, .carried = step_.op};
    return *this;
  }
  Work work(int threads = 2) const { return guess_work(plan_, slots_, step_, threads); }

 private:
  SlotIndex add(Shape shape) {
    Slot s;
    s.count = element_count(shape);
    s.type = ValueType::tensor(DType::f32, std::move(shape));
    slots_.push_back(std::move(s));
    plan_.values.push_back({.home = Home::arena});
    return SlotIndex(slots_.size() - 1);
  }

  Plan plan_;
  std::vector<Slot> slots_;
  Step step_;
};

TEST(Work, OfAProductGrowsWithItsInnerExtent) {
  const double once = OneStep("MatMul", {{256, 512}, {512, 256}}, {256, 256}).work().alone;
  const double twice = OneStep("MatMul", {{256, 1024}, {1024, 256}}, {256, 256}).work().alone;
  EXPECT_NEAR(twice / once, 2, 0.05);
}

TEST(Work, OfARowTimesAMatrixIsThatOfReadingTheWeights) {
  OneStep step("MatMul", {{1, 4096}, {4096, 4096}}, {1, 4096});
  EXPECT_GT(step.constant(1).work().alone, 4.0 * 4096 * 4096 / 40);
}

TEST(Work, OfLargeStepsFallsWithThreads) {
  const Work product = OneStep("MatMul", {{512, 512}, {512, 512}}, {512, 512}).work();
  EXPECT_LT(product.all, 0.6 * product.alone);
  const Work sum = OneStep("Add", {{1024, 1024}, {1024, 1024}}, {1024, 1024}).work();
  EXPECT_LT(sum.all, 0.6 * sum.alone);
  const Work small = OneStep("Add", {{16}, {16}}, {16}).work();
  EXPECT_EQ(small.all, small.alone);
}

TEST(Work, OfGathersAndPartsCountsTheElementsTaken) {
  const auto gather = [](int64_t rows) { return OneStep("Gather", {{rows, 64}, {8}}, {8, 64}).work().alone; };
  EXPECT_EQ(gather(1'000'000), gather(10));
  const auto slice = [](int64_t rows) { return OneStep("Slice", {{rows, 64}, {1}, {1}}, {8, 64}).work().alone; };
  EXPECT_EQ(slice(1'000'000), slice(10));
  EXPECT_GT(gather(10), slice(10));  // the rows are scattered over the table
}

TEST(Work, OfManyShortStepsOfASequenceDoesNotFallWithThreads) {
  const auto gru = [](int64_t length, int64_t hidden) {
    return OneStep("GRU", {{length, 1, hidden}, {1, 3 * hidden, hidden}, {1, 3 * hidden, hidden}},
                   {length, 1, 1, hidden}, {{"hidden_size", hidden}})
        .work();
  };
  EXPECT_EQ(gru(500, 32).all, gru(500, 32).alone);
  EXPECT_LT(gru(500, 1024).all, gru(500, 1024).alone);
}

TEST(Work, ByAReferenceTakesLonger) {
  OneStep step("Add", {{1024, 1024}, {1024, 1024}}, {1024, 1024});
  const double fast = step.work().alone;
  EXPECT_GT(step.by_reference().work().alone, 5 * fast);
}

TEST(Work, OfAnEmptyStepIsThatOfTheCall) {
  const Work work = OneStep("Conv", {{0, 4, 8, 8}, {6, 4, 3, 3}}, {0, 6, 6, 6}).work();
  EXPECT_GT(work.alone, 0);
  EXPECT_EQ(work.all, work.alone);
}

}  // namespace
}  // namespace retort
