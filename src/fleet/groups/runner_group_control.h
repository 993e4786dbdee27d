// GroupControl over the GroupRunner.
#pragma once

#include <functional>
#include <string>

#include "fleet/groups/group_control.h"
#include "fleet/groups/group_runner.h"

namespace corral::fleet {

class RunnerGroupControl final : public GroupControl {
 public:
  // Time since the last request for a model of this disk, by its name.
  using IdleOf = std::function<Millis(const std::string& name)>;
  // The current key of a model: a group keeps the key of its start, even after the file was hashed.
  using NowCalled = std::function<mesh::ContentKey(const mesh::ContentKey& model)>;
  // The runner outlives it.
  RunnerGroupControl(GroupRunner& runner, IdleOf idle_of, NowCalled now_called)
      : runner_(runner), idle_of_(std::move(idle_of)), now_called_(std::move(now_called)) {}

  bool want(mesh::GroupPlan plan, mesh::PlanCause cause, bool by_hand) override {
    plan.model = claimed_as(plan.model);
    return runner_.want(std::move(plan), cause, by_hand);
  }
  void end(const mesh::ContentKey& model) override { runner_.end(claimed_as(model)); }
  std::vector<HostedGroup> hosted() const override {
    std::vector<HostedGroup> all;
    for (auto& one : runner_.hosted()) {
      HostedGroup group;
      group.plan = std::move(one.plan);
      group.plan.model = now_called_(group.plan.model);
      group.state = one.state;
      group.running = one.running;
      group.refusal = std::move(one.refusal);
      group.load_progress = one.load_progress;
      group.by_hand = one.by_hand;
      if (one.running) group.idle_ms = static_cast<std::uint64_t>(idle_of_(one.name).count());
      all.push_back(std::move(group));
    }
    return all;
  }
  std::vector<mesh::NodeId> lost(const mesh::ContentKey& model) const override {
    return runner_.lost(claimed_as(model));
  }
  std::vector<mesh::NodeId> lost() const override { return runner_.lost(); }
  std::optional<SharedMemory> shared() const override {
    auto one = runner_.shared();
    if (!one) return std::nullopt;
    return SharedMemory{one->host, now_called_(one->model), std::move(one->model_name), one->bytes, one->reaping};
  }
  void take_back() override { runner_.take_back(); }
  bool recalled() const override { return runner_.recalled(); }

 private:
  mesh::ContentKey claimed_as(const mesh::ContentKey& model) const {
    for (const auto& one : runner_.hosted())
      if (now_called_(one.plan.model) == model) return one.plan.model;
    return model;
  }

  GroupRunner& runner_;
  const IdleOf idle_of_;
  const NowCalled now_called_;
};

}  // namespace corral::fleet
