// Groups for display. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/base/allotment.h"
#include "fleet/base/split_table.h"
#include "fleet/groups/group_runner.h"

namespace corral::fleet {

struct GroupPart {
  mesh::NodeId node;
  std::uint32_t layers = 0;
  std::uint64_t bytes = 0;  // of memory, predicted
  friend bool operator==(const GroupPart&, const GroupPart&) = default;
};

// A split model that this node hosts, or tries to start.
struct GroupView {
  std::string model;  // the mesh's name of the model
  mesh::ContentKey content;
  std::string status;                   // waiting, claiming, loading, ready, draining, stopping
  std::vector<GroupPart> parts = {};    // in the order of layers, this node's last
  double tokens_per_second = 0;         // predicted
  double load_seconds = 0;              // predicted
  std::optional<double> progress = {};  // of the load
  bool by_hand = false;
  std::string problem = {};  // why it doesn't serve
  friend bool operator==(const GroupView&, const GroupView&) = default;
};

// This node's memory that another host uses.
struct ShareView {
  std::string model;
  mesh::NodeId host;
  std::string status;  // starting, ready, ending
  std::uint64_t bytes = 0;
  std::string problem = {};  // of the worker
  friend bool operator==(const ShareView&, const ShareView&) = default;
};

GroupView view_of(const GroupRunner::Hosted& hosted, std::string model);
ShareView view_of(const GroupRunner::Shared& shared);
// The state of a group for requests.
SplitStatus split_status_of(const GroupRunner::Hosted& hosted);
// The state of models that several nodes hold: groups of all hosts, models that are going to be split, or would be on
// demand, and models that no group can hold either. Without names.
std::vector<SplitStatus> split_status_of(const Allotment& allotment);

}  // namespace corral::fleet
