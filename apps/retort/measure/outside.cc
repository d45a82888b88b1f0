#include "measure/stats.h"
#include "measure/trace.h"

namespace retort::cli {

double outside_of_nodes(const std::vector<TracedRun>& runs) {
  std::vector<double> outside;
  for (const TracedRun& run : runs) {
    double left = run.duration;
    for (const NodeEvent& n : run.nodes) left -= n.self;
    outside.push_back(std::max(0.0, left / 1000));
  }
  return quantile(std::move(outside), 0.5);
}

}  // namespace retort::cli
