#include "fleet/groups/group_messages.h"

#include <fmt/format.h>

#include "base/human_bytes.h"
#include "fleet/hosting/group_processes.h"

namespace corral::fleet {
namespace {

std::string in_words(mesh::GrantDecision verdict, const std::string& node, std::uint64_t bytes) {
  switch (verdict) {
    case mesh::GrantDecision::granted:
      break;
    case mesh::GrantDecision::taken:
      return fmt::format("another group has the memory of {}", node);
    case mesh::GrantDecision::reaping:
      return fmt::format("{} is still ending its previous worker", node);
    case mesh::GrantDecision::recalled:
      return fmt::format("the owner of {} wants its memory back", node);
    case mesh::GrantDecision::settling:
      return fmt::format("{} has just started, and waits for the lease of the previous host", node);
    case mesh::GrantDecision::too_little:
      return fmt::format("{} lends less than the {} that its share takes", node, human_bytes(bytes));
    case mesh::GrantDecision::too_often:
      return fmt::format("{} got too many requests for its memory", node);
  }
  return {};
}

std::string of_refusal(const mesh::GroupHost::Refusal& refusal, const GroupMessages& words) {
  if (refusal.engine) {
    return words.engine.empty() ? std::string("its engine ended soon after each start")
                                : fmt::format("its engine ended each time it was started: {}", words.engine);
  }
  const auto name = words.name(refusal.node);
  if (!refusal.verdict)
    return words.linked(refusal.node) ? fmt::format("{} gave no answer", name) : fmt::format("no link to {}", name);
  const auto* share = words.plan.share_of(refusal.node);
  return in_words(*refusal.verdict, name, share != nullptr ? share->total() : 0);
}

}  // namespace

std::string why_not_standing(const mesh::GroupHost& host, const GroupMessages& words) {
  if (host.refusal()) return of_refusal(*host.refusal(), words);
  using State = mesh::GroupHost::State;
  if (host.state() == State::waiting || host.state() == State::standing) {
    for (const auto& node : words.plan.nodes())
      if (!words.linked(node)) return fmt::format("no link to {}", words.name(node));
  }
  return words.engine;
}

std::string why_stopped(const mesh::GroupHost& host, const GroupMessages& words) {
  if (host.refusal()) return of_refusal(*host.refusal(), words);
  for (const auto& node : words.plan.nodes())
    if (!words.linked(node)) return lost_part(words.name(node));
  return "a process with a part of the model has ended at another node";
}

}  // namespace corral::fleet
