// AllotActions of a node that ignores all orders.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fleet/allotment/allotter.h"
#include "fleet/hosting/group_processes.h"

namespace corral::fleet {

struct NoActions final : AllotActions, GroupProcesses {
  void load(ModelName, std::function<void(Result<>)>) override {}
  void unload(ModelName, Millis, bool, std::function<void(bool)>) override {}
  void start_engine(EngineOrder) override {}
  void drain_engine(const mesh::ContentKey&, mesh::PlanTerm, std::optional<Millis>) override {}
  void stop_engine(const mesh::ContentKey&, mesh::PlanTerm, std::string) override {}
  void open_worker(WorkerOrder) override {}
  void reap_worker(const mesh::NodeId&, mesh::PlanTerm) override {}
  void hold(const std::string&, bool) override {}
  void members(std::vector<mesh::NodeId>) override {}
};

}  // namespace corral::fleet
