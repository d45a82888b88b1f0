// Which provider runs which nodes.
#include "abi/sessions/session.h"
#include "abi/slots.h"

namespace retort::abi {

// Where a provider does not fuse nodes, one node is one subgraph.
void record_assignment(OrtSession& session, const Session& made) {
  for (const AssignedPart& assigned : made.assigned()) {
    OrtEpAssignedSubgraph& part = *session.assigned.emplace_back(std::make_unique<OrtEpAssignedSubgraph>());
    part.provider = assigned.provider;
    for (const AssignedNode& node : assigned.nodes) {
      part.nodes.push_back(std::make_unique<OrtEpAssignedNode>());
      part.nodes.back()->node = node;
      part.list.push_back(part.nodes.back().get());
    }
    session.assigned_list.push_back(&part);
  }
}

OrtStatusPtr ORT_API_CALL Session_GetEpGraphAssignmentInfo(const OrtSession* session,
                                                           const OrtEpAssignedSubgraph* const** ep_subgraphs,
                                                           size_t* num_ep_subgraphs) noexcept {
  return guard([&] {
    const bool recorded = session_of(session)->options().config_on("session.record_ep_graph_assignment_info");
    need(ep_subgraphs, "ep_subgraphs");
    need(num_ep_subgraphs, "num_ep_subgraphs");
    require(recorded, ErrorCode::fail,
            "which provider runs which nodes was not recorded; set session.record_ep_graph_assignment_info to 1 before "
            "the session is made");
    *ep_subgraphs = session->assigned_list.data();
    *num_ep_subgraphs = session->assigned_list.size();
  });
}

OrtStatusPtr ORT_API_CALL EpAssignedSubgraph_GetEpName(const OrtEpAssignedSubgraph* ep_subgraph,
                                                       const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(ep_subgraph, "ep_subgraph").provider.c_str(); });
}

OrtStatusPtr ORT_API_CALL EpAssignedSubgraph_GetNodes(const OrtEpAssignedSubgraph* ep_subgraph,
                                                      const OrtEpAssignedNode* const** ep_nodes,
                                                      size_t* num_ep_nodes) noexcept {
  return guard([&] {
    const OrtEpAssignedSubgraph& part = handle(ep_subgraph, "ep_subgraph");
    need(ep_nodes, "ep_nodes");
    need(num_ep_nodes, "num_ep_nodes") = part.list.size();
    *ep_nodes = part.list.data();
  });
}

OrtStatusPtr ORT_API_CALL EpAssignedNode_GetName(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(ep_node, "ep_node").node.name.c_str(); });
}

OrtStatusPtr ORT_API_CALL EpAssignedNode_GetDomain(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(ep_node, "ep_node").node.domain.c_str(); });
}

OrtStatusPtr ORT_API_CALL EpAssignedNode_GetOperatorType(const OrtEpAssignedNode* ep_node, const char** out) noexcept {
  return guard([&] { need(out, "out") = handle(ep_node, "ep_node").node.type.c_str(); });
}

}  // namespace retort::abi
