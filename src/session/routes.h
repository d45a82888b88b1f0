// The routes of a session. Calls that keep to what passes assume take the first route. A call that departs from it
// takes the general route, which is made when a call needs it first: from a copy of the model, or by reading the model
// again.
#pragma once
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "session/departures.h"
#include "session/model_source.h"
#include "session/plan_maker.h"
#include "session/route.h"

namespace retort {

/// The route of one call.
struct ChosenRoute {
  Route& route;
  std::shared_ptr<Route> general;  ///< keeps the route, since a later call may replace it; null for the first route
};

/// Thread-safe after make_first(). The arguments of the constructor must outlive it.
class Routes {
 public:
  Routes(const Ports& ports, const SessionOptions& options, const Logger& logger, const PlanMaker& plans,
         MemoryBudget* budget);
  Routes(const Routes&) = delete;

  /// Whether a call may depart so that the model is read again, of which the session keeps no copy.
  bool may_read_again() const { return departures_.may_depart() && ports_.overridable().empty(); }

  /// What the first route tells the session.
  struct First {
    PortSpaces spaces;
    RunCapture* capture = nullptr;  ///< see PlanMaker::Made
  };
  /// Makes the first route from `model`, which was changed as options say (given_model.h), functions expanded. Keeps
  /// what the general route may need: a copy of the model, or `source`. Throws what PlanMaker::make() throws.
  First make_first(Model& model, ModelSource source, const LowerOptions& lower, const FirstPlan& first);
  const PlanMaker& plans() const { return plans_; }
  bool has_first() const { return first_ != nullptr; }

  /// The route for a call with these inputs; makes the general route if the call needs it. Throws what making it
  /// throws.
  ChosenRoute choose(std::span<const Value* const> inputs);
  /// How such a call departs from the first route, for errors.
  std::string departure(std::span<const Value* const> inputs) const { return departures_.text(inputs); }

  /// Frees the idle frames of all routes.
  void clear_idle_frames();
  /// Bytes that idle frames hold.
  size_t workspace_bytes();

 private:
  /// A route, and what PlanMaker told of its plan.
  struct Made {
    std::unique_ptr<Route> route;
    PlanMaker::Made plan;
  };
  Made make(Model& model, const std::vector<bool>& open, const LowerOptions& lower, const FirstPlan* first) const;
  PortSpaces port_spaces(const Made& first) const;
  std::shared_ptr<Route> general(std::span<const Value* const> inputs);
  std::shared_ptr<Model> model_again() const;
  std::shared_ptr<Route> make_general(const std::vector<bool>& open, bool wide) const;

  const Ports& ports_;
  const SessionOptions& options_;
  const Logger& logger_;
  const PlanMaker plans_;
  MemoryBudget* const budget_;
  const Departures departures_;
  std::unique_ptr<Route> first_;  ///< immutable after make_first()

  std::mutex mutex_;  ///< guards all members below
  ModelSource source_;
  /// A copy of a model with overridable inputs, or of one that was made in memory; its weights stay in their file.
  std::unique_ptr<const Model> kept_;
  std::vector<bool> open_;          ///< by overridable input: whether general_ reads it as an input
  bool wide_ = false;               ///< whether general_ takes any shape for inputs that are declared scalars
  std::shared_ptr<Route> general_;  ///< null until a call needs it
};

}  // namespace retort
