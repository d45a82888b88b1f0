// Loops that a caller's kernel runs on the threads of a session.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "abi/kernels/kernels.h"
#include "abi/slots.h"
#include "base/thread_pool.h"

namespace retort::abi {
namespace {

// On whichever thread the body throws, no exception leaves the thread, and the pool still runs the next loop.
TEST(KernelLoop, ExceptionsOfItsBodyBecomeAStatus) {
  ThreadPool pool({.threads = 2});
  const Parallel parallel(&pool, nullptr);
  RunContext run({}, {}, nullptr, nullptr, parallel);
  OrtKernelContext context;
  context.run = &run;
  for (int round = 0; round < 20; ++round) {
    const auto bad = [](void*, size_t) { throw std::runtime_error("a bad loop"); };
    OrtStatus* status = KernelContext_ParallelFor(&context, bad, 64, 0, nullptr);
    ASSERT_TRUE(status);
    EXPECT_EQ(GetErrorCode(status), ORT_RUNTIME_EXCEPTION);
    ReleaseStatus(status);
    std::atomic<size_t> sum{0};
    const auto good = [](void* to, size_t i) { *static_cast<std::atomic<size_t>*>(to) += i; };
    EXPECT_FALSE(KernelContext_ParallelFor(&context, good, 100, 7, &sum));
    EXPECT_EQ(sum, 4950u);
  }
}

}  // namespace
}  // namespace retort::abi
