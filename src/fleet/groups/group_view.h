// Groups as people see them. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fleet/base/allotment.h"
#include "fleet/base/split_book.h"
#include "fleet/groups/group_runner.h"

namespace corral::fleet {

struct GroupPart {
  mesh::NodeId node;
  std::uint32_t layers = 0;
  std::uint64_t bytes = 0;  // of memory, predicted
  friend bool operator==(const GroupPart&, const GroupPart&) = default;
};

// A model that this node hosts over several, or tries to.
struct GroupView {
  std::string model;  // as the mesh calls it
  mesh::ContentKey content;
  std::string status;                   // waiting, claiming, loading, ready, draining, stopping
  std::vector<GroupPart> parts = {};    // in the order of layers, this node's last
  double tokens_per_second = 0;         // predicted
  double load_seconds = 0;              // predicted
  std::optional<double> progress = {};  // of the load
  bool by_hand = false;
  std::string problem = {};  // why it doesn't stand
  friend bool operator==(const GroupView&, const GroupView&) = default;
};

// What another host has of this node's memory.
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
// What requests are to know of it.
SplitNews news_of(const GroupRunner::Hosted& hosted);
// And of what has no group: models that are going to be split, or would be if somebody asked, and those that can't be
// held by all together either. Without names.
std::vector<SplitNews> news_of(const Allotment& allotment);

}  // namespace corral::fleet
