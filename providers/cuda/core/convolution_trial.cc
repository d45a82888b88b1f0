#include "convolution_trial.h"

#include <algorithm>

namespace providers::cuda {
namespace {

constexpr int kRuns = 8;  // in a graph

size_t bytes_of(const Dims& dims, Type type) {
  size_t n = size_of(type);
  for (const int64_t d : dims) n *= size_t(d);
  return n;
}

}  // namespace

ConvTrial::ConvTrial(Device& device, const ConvProblem& p)
    : device_(device),
      x_(device, bytes_of(p.x, p.type)),
      w_(device, bytes_of(p.w, p.type)),
      y_(device, bytes_of(p.y, p.type)),
      bias_(device, bytes_of({p.y[1]}, p.type)),
      residual_(device, p.epilogue.residual ? bytes_of(p.y, p.type) : 0) {
  const auto& d = driver();
  try {
    check(d.stream_create(&stream_, kStreamNonBlocking), "cannot create a stream");
    check(d.event_create(&begin_, 0), "cannot create an event");
    check(d.event_create(&end_, 0), "cannot create an event");
    // A small finite number in each of the types; the time of a convolution does not depend on its numbers.
    for (const Block* b : {&x_, &w_, &bias_, &residual_})
      check(d.fill_words(b->address(), 0x30003000u, b->bytes() / 4, stream_), "cannot fill memory");
    check(d.stream_synchronize(stream_), "filling memory for a trial failed");
  } catch (const Error&) {
    if (stream_) d.stream_synchronize(stream_);  // the memory goes back to others
    if (begin_) d.event_destroy(begin_);
    if (end_) d.event_destroy(end_);
    if (stream_) d.stream_destroy(stream_);
    throw;
  }
}

ConvTrial::~ConvTrial() {
  const auto& d = driver();
  d.stream_synchronize(stream_);
  d.event_destroy(begin_);
  d.event_destroy(end_);
  d.stream_destroy(stream_);
}

float ConvTrial::elapsed(const std::function<void()>& submit) {
  const auto& d = driver();
  check(d.event_record(begin_, stream_), "cannot record an event");
  submit();
  check(d.event_record(end_, stream_), "cannot record an event");
  check(d.event_synchronize(end_), "a trial of a convolution failed");
  float milliseconds = 0;
  check(d.event_elapsed(&milliseconds, begin_, end_), "cannot read the time of a trial");
  return milliseconds * 1000;
}

float ConvTrial::submitted(const ConvPlan& plan, const ConvPointers& at, int times) {
  return elapsed([&] {
           for (int i = 0; i < times; ++i) plan.run(stream_, at);
         }) /
         float(times);
}

float ConvTrial::captured(const ConvPlan& plan, const ConvPointers& at) {
  const auto& d = driver();
  check(d.capture_begin(stream_, kCaptureThreadLocal), "cannot capture a trial");
  CUgraph graph = nullptr;
  try {
    for (int i = 0; i < kRuns; ++i) plan.run(stream_, at);
  } catch (const Error&) {
    d.capture_end(stream_, &graph);
    if (graph) d.graph_destroy(graph);
    throw;
  }
  CUgraphExec exec = nullptr;
  float best = -1;
  try {
    check(d.capture_end(stream_, &graph), "cannot end the capture of a trial");
    check(d.graph_instantiate(&exec, graph, 0), "cannot instantiate the graph of a trial");
    for (int i = 0; i < 4; ++i) {
      const float t = elapsed([&] { check(d.graph_launch(exec, stream_), "cannot launch a trial"); }) / kRuns;
      if (i > 0 && (best < 0 || t < best)) best = t;  // the first uploads the graph
    }
  } catch (const Error&) {
    if (exec) d.graph_exec_destroy(exec);
    if (graph) d.graph_destroy(graph);
    throw;
  }
  d.graph_exec_destroy(exec);
  d.graph_destroy(graph);
  return best;
}

float ConvTrial::measure(const ConvPlan& plan) {
  // A plan that failed may have left work that uses the memory.
  check(driver().stream_synchronize(stream_), "an earlier trial of a convolution failed");
  if (plan.workspace() > workspace_.bytes()) {
    workspace_ = Block();
    workspace_ = Block(device_, plan.workspace());
  }
  const ConvPointers at{x_.address(),    w_.address(),        y_.address(),
                        bias_.address(), residual_.address(), plan.workspace() ? workspace_.address() : 0};
  const float first = submitted(plan, at, 1);  // loads the kernels
  if (first > 20000) return std::min(first, submitted(plan, at, 1));
  try {
    return captured(plan, at);
  } catch (const Error&) {
    return submitted(plan, at, kRuns) + 1000;
  }
}

}  // namespace providers::cuda
