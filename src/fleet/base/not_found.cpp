#include "fleet/base/not_found.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fleet/base/errors.h"
#include "models/errors.h"

namespace corral::fleet {

std::string name_of(const mesh::Catalog& catalog, const mesh::NodeId& id) {
  const auto* node = catalog.node(id);
  if (node == nullptr) return mesh::short_text(id);
  for (const auto& said : {node->said, node->before})
    if (said && !said->name.empty()) return said->name;
  return mesh::short_text(id);
}

namespace {

// When a node that has just gone, or starts, may be back; one that is gone for longer; and one for very long.
constexpr std::chrono::seconds kAtOnce{1}, kSoon{5}, kLater{30};

std::string in_words(std::chrono::seconds time) {
  if (time < std::chrono::minutes(2)) return fmt::format("{} s", time.count());
  if (time < std::chrono::hours(2)) return fmt::format("{} min", time.count() / 60);
  return fmt::format("{} h", time.count() / 3600);
}

// It is a model of the mesh, and nobody can serve it at this moment.
Error out_of_reach(const mesh::Catalog& catalog, std::string_view name, const std::vector<mesh::NodeId>& away,
                   MonoTime now) {
  std::vector<std::string> places;
  auto retry = kLater;
  for (const auto& id : away) {
    const auto* node = catalog.node(id);
    const auto gone = std::chrono::duration_cast<std::chrono::seconds>(now - node->since);
    if (mesh::is_routable(node->reach)) {
      places.push_back(
          fmt::format("on {}, which was just started and hasn't looked at its disks yet", name_of(catalog, id)));
      retry = kAtOnce;
    } else {
      places.push_back(fmt::format("on {}, which can't be reached since {}", name_of(catalog, id), in_words(gone)));
      retry = std::min(retry, gone < std::chrono::seconds(10)  ? kAtOnce
                              : gone < std::chrono::minutes(1) ? kSoon
                                                               : kLater);
    }
  }
  Error error(make_error_code(errc::out_of_reach), fmt::format("'{}' is {}", name, fmt::join(places, ", and ")),
              "model");
  error.retry_after = retry;
  return error;
}

// Those of whom nothing is known yet though they may speak any moment: one of them may have it. A node that was just
// started doesn't even know them.
std::optional<Error> not_heard_of(const mesh::Catalog& catalog, std::string_view name, MonoTime now) {
  bool any = false;
  std::vector<std::string> nodes;
  for (const auto& node : catalog.nodes()) {
    if (!node.expected_until || now >= *node.expected_until) continue;
    any = true;
    if (node.id != mesh::NodeId()) nodes.push_back(name_of(catalog, node.id));
  }
  if (!any) return std::nullopt;
  const auto who = nodes.empty() ? std::string("its mesh") : fmt::format("{}", fmt::join(nodes, ", "));
  Error error(make_error_code(errc::out_of_reach),
              fmt::format("no model '{}' is known yet: this node waits for the first words of {}", name, who), "model");
  error.retry_after = kAtOnce;
  return error;
}

}  // namespace

Error nobody_has(std::string_view name) {
  return {make_error_code(models::errc::model_not_found), fmt::format("no node of the mesh has a model '{}'", name),
          "model"};
}

Error why_not_found(const mesh::Catalog& catalog, std::string_view name, const mesh::Catalog::Found& found,
                    MonoTime now) {
  if (!found.choices.empty()) {
    return {make_error_code(errc::ambiguous_model),
            fmt::format("'{}' means different models at different nodes: ask for one of {}", name,
                        fmt::join(found.choices, ", ")),
            "model"};
  }
  if (!found.away.empty()) return out_of_reach(catalog, name, found.away, now);
  if (auto wait = not_heard_of(catalog, name, now)) return std::move(*wait);
  return nobody_has(name);
}

}  // namespace corral::fleet
