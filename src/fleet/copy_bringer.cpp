#include "fleet/copy_bringer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/log.h"
#include "fleet/copy_rules.h"
#include "fleet/errors.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

namespace {

constexpr std::chrono::seconds kSoon{5}, kLongest{300}, kNotSoon{60};

std::string name_of(const mesh::Catalog& catalog, const mesh::NodeId& id) {
  const auto* node = catalog.node(id);
  return node != nullptr && node->said && !node->said->name.empty() ? node->said->name : mesh::short_text(id);
}

// Where somebody copies it now, by what all say. What an administrator has copied to a node that couldn't load it helps
// nobody.
struct UnderWay {
  const mesh::KnownNode* node = nullptr;
  const mesh::CopyingModel* copy = nullptr;
};
std::optional<UnderWay> under_way(const mesh::Catalog& catalog, const Sha256& content,
                                  std::span<const mesh::NodeId> to) {
  for (const auto& node : catalog.nodes()) {
    if (!mesh::is_routable(node.reach) || !node.said) continue;
    const bool could_load = std::ranges::find(to, node.id) != to.end();
    const auto found = std::ranges::find_if(node.said->copying, [&](const mesh::CopyingModel& copy) {
      return copy.content == content && (copy.by_request || could_load);
    });
    if (found != node.said->copying.end()) return UnderWay{&node, &*found};
  }
  return std::nullopt;
}

}  // namespace

Error being_copied(const std::string& model, const std::string& node, const std::optional<CopyView>& copy) {
  std::string how = "it was just begun";
  auto after = kSoon;
  if (copy && copy->total > 0 && copy->done >= copy->total) {
    how = "all of it is there, and is being checked";
  } else if (copy && copy->total > 0) {
    how = fmt::format("{} %", copy->done * 100 / copy->total);
    if (copy->bytes_per_second >= 1) {
      const auto left = static_cast<double>(copy->total - copy->done) / copy->bytes_per_second;
      const auto seconds = std::chrono::seconds(static_cast<std::int64_t>(std::min(left, 1e6)) + 1);
      how += fmt::format(", about {} s left", seconds.count());
      after = std::clamp(seconds, kSoon, kLongest);
    }
  }
  Error error(make_error_code(errc::being_copied),
              fmt::format("'{}' is being copied to {}, which can load it: {}", model, node, how), "model");
  error.retry_after = after;
  return error;
}

Task<void> CopyBringer::stop() {
  tasks_.cancel();
  co_await tasks_.join();
}

void CopyBringer::forget_old() {
  const auto now = timers_.now();
  std::erase_if(orders_, [&](const auto& entry) { return entry.second.until <= now; });
  std::erase_if(refused_, [&](const auto& entry) { return entry.second.until <= now; });
}

std::optional<Error> CopyBringer::bring(const mesh::Catalog& catalog, const mesh::MeshModel& model,
                                        std::span<const mesh::NodeId> to) {
  if (model.content.pending) return std::nullopt;
  const auto& content = model.content.bytes;
  if (const auto there = under_way(catalog, content, to)) {
    const CopyView view{.content = content,
                        .done = there->copy->done,
                        .total = there->copy->total,
                        .bytes_per_second = static_cast<double>(there->copy->bytes_per_second)};
    return being_copied(model.name, name_of(catalog, there->node->id), view);
  }
  forget_old();
  if (const auto known = orders_.find(content); known != orders_.end())
    return being_copied(model.name, name_of(catalog, known->second.to), known->second.answer);
  std::string why;
  for (const auto& node : to) {
    const auto refusal = refused_.find({content, node});
    if (refusal != refused_.end()) {
      if (why.empty()) why = fmt::format("{}: {}", name_of(catalog, node), refusal_of(refusal->second.why));
      continue;
    }
    if (orders_.size() >= kMost) return std::nullopt;
    log::info("mesh", "'{}' fits nowhere that has it: {} is asked to copy it", model.name, name_of(catalog, node));
    orders_.emplace(content, Ordered{.to = node, .until = timers_.now() + kShown, .answer = {}});
    tasks_.spawn("order of a copy", ask(node, content));
    return being_copied(model.name, name_of(catalog, node), std::nullopt);
  }
  if (why.empty()) return std::nullopt;
  Error error(
      make_error_code(errc::nowhere),
      fmt::format("no node that has '{}' can load it, and those that could have no copy of it. {}", model.name, why),
      "model");
  error.retry_after = kNotSoon;
  return error;
}

Task<void> CopyBringer::ask(mesh::NodeId node, Sha256 content) {
  auto ordering = order_(node, content);
  auto answer = co_await std::move(ordering);
  const bool failed = !answer || answer->state == CopyState::failed;
  const auto known = orders_.find(content);
  if (!failed) {
    if (known != orders_.end()) known->second.answer = std::move(*answer);
    co_return;
  }
  if (known != orders_.end()) orders_.erase(known);
  const auto why = answer ? make_error_code(errc::copy_failed) : answer.error().code;
  log::info("mesh", "{} doesn't copy: {}", mesh::short_text(node), answer ? answer->problem : answer.error().message);
  // The oldest gives way: nobody can have more remembered than this.
  if (refused_.size() >= kMost)
    refused_.erase(std::ranges::min_element(refused_, {}, [](const auto& entry) { return entry.second.until; }));
  const bool passes = why == mesh::errc::unreachable || why == mesh::errc::timed_out || why == mesh::errc::too_many;
  refused_[{content, node}] = {timers_.now() + (passes ? kShortRest : kRest), why};
}

}  // namespace corral::fleet
