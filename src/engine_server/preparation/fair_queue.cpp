#include "engine_server/preparation/fair_queue.h"

namespace corral::engine_server {
namespace {

// A later heavy job of a client overtakes an earlier one only if it is smaller by this, times the number of jobs that
// came between.
constexpr std::uint64_t kAgeing = 256 * 1024;

}  // namespace

std::optional<FairQueue::Full> FairQueue::refusal(const Numbers& held, std::uint64_t bytes) const {
  if (all_.jobs == 0) return std::nullopt;
  if (all_.jobs >= limits_.jobs || all_.bytes + bytes > limits_.bytes) return Full{.share = false, .held = all_};
  if (held.jobs == 0) return std::nullopt;
  const bool fits = held.jobs < limits_.jobs - all_.jobs && held.bytes + bytes <= limits_.bytes - all_.bytes;
  return fits ? std::nullopt : std::optional(Full{.share = true, .held = held});
}

std::expected<FairQueue::Ticket, FairQueue::Full> FairQueue::enter(Lane lane, const std::string& client,
                                                                   std::uint64_t bytes) {
  const auto known = clients_.find(client);
  if (const auto full = refusal(known == clients_.end() ? Numbers() : known->second.held, bytes))
    return std::unexpected(*full);
  const auto ticket = entered_++;
  const auto rank = lane == Lane::quick ? ticket : bytes + kAgeing * ticket;
  jobs_.emplace(ticket, Job{client, lane, bytes, rank});
  auto& owner = clients_[client];
  auto& waiting = owner.waiting[index(lane)];
  if (waiting.empty()) turns_[index(lane)].push_back(client);
  waiting.emplace(rank, ticket);
  for (auto* numbers : {&all_, &owner.held}) {
    ++numbers->jobs;
    numbers->bytes += bytes;
  }
  return ticket;
}

std::optional<FairQueue::Ticket> FairQueue::next(Lane lane) {
  auto& turns = turns_[index(lane)];
  if (turns.empty()) return std::nullopt;
  auto client = std::move(turns.front());
  turns.pop_front();
  auto& waiting = clients_.at(client).waiting[index(lane)];
  const auto ticket = waiting.begin()->second;
  waiting.erase(waiting.begin());
  if (!waiting.empty()) turns.push_back(std::move(client));
  return ticket;
}

bool FairQueue::leave(Ticket ticket) {
  const auto found = jobs_.find(ticket);
  if (found == jobs_.end()) return false;
  const auto job = std::move(found->second);
  jobs_.erase(found);
  const auto owner = clients_.find(job.client);
  auto& waiting = owner->second.waiting[index(job.lane)];
  if (waiting.erase({job.rank, ticket}) > 0 && waiting.empty()) std::erase(turns_[index(job.lane)], job.client);
  for (auto* numbers : {&all_, &owner->second.held}) {
    --numbers->jobs;
    numbers->bytes -= job.bytes;
  }
  if (owner->second.held.jobs == 0) clients_.erase(owner);
  return true;
}

}  // namespace corral::engine_server
