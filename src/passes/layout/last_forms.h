// What changes in an operator when its images become channels-last. Each function changes `form`, which begins as a copy
// of the node.
#pragma once
#include "passes/layout/image_op.h"

namespace retort {

/// The inputs of QLinearConv.
enum CodesInput : size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };
/// Those of ConvInteger.
enum IntegersInput : size_t { kFilters = 1, kFilterZero = 3 };

namespace last_forms {

/// There is an operator of the same name in the domain of the engine.
void own_form(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void own_groups(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void own_form_of_codes(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void own_form_of_integers(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void own_transposed(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void along_last_axis(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void along_first_axis(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void reduced(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void sliced(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void padded(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void resized(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void unchanged(LastForm& form, const Graph& graph, const Node& node, size_t rank);
void same_operator(LastForm& form, const Graph& graph, const Node& node, size_t rank);

}  // namespace last_forms
}  // namespace retort
