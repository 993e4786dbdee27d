// Why a group doesn't stand, in words for people. Pure.
#pragma once

#include <functional>
#include <string>

#include "mesh/groups/group_host.h"

namespace corral::fleet {

struct GroupMessages {
  const mesh::GroupPlan& plan;
  std::function<std::string(const mesh::NodeId&)> name;  // of a node
  std::function<bool(const mesh::NodeId&)> linked;
  std::string engine;  // what its engine said last; empty: nothing
};

// "b lends less than the 4.1 GB that its share takes"; empty: nothing is wrong.
std::string why_not_standing(const mesh::GroupHost& host, const GroupMessages& words);

}  // namespace corral::fleet
