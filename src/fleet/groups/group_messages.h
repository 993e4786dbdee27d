// Why a group doesn't serve, as text for users. Pure.
#pragma once

#include <functional>
#include <string>

#include "mesh/groups/group_host.h"

namespace corral::fleet {

struct GroupMessages {
  const mesh::GroupPlan& plan;
  std::function<std::string(const mesh::NodeId&)> name;  // name of a node
  std::function<bool(const mesh::NodeId&)> linked;
  std::string engine;  // last message of its engine; empty: none
};

// "b lends less than the 4.1 GiB that its share takes"; empty: no problem.
std::string why_not_standing(const mesh::GroupHost& host, const GroupMessages& words);
// Why its engine is stopped under requests: "the connection to b, which computes a part of the model, is lost".
std::string why_stopped(const mesh::GroupHost& host, const GroupMessages& words);

}  // namespace corral::fleet
