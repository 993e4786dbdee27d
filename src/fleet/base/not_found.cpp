#include "fleet/base/not_found.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fleet/base/errors.h"
#include "models/errors.h"

namespace corral::fleet {

namespace {

// Retry times: for nodes that start or have just disconnected, for longer absences, and for very long ones.
constexpr std::chrono::seconds kAtOnce{1}, kSoon{5}, kLater{30};

std::string in_words(std::chrono::seconds time) {
  if (time < std::chrono::minutes(2)) return fmt::format("{} s", time.count());
  if (time < std::chrono::hours(2)) return fmt::format("{} min", time.count() / 60);
  return fmt::format("{} h", time.count() / 3600);
}

// The mesh knows the model, but no node can serve it at the moment.
Error out_of_reach(const mesh::Catalog& catalog, std::string_view name, const std::vector<mesh::NodeId>& away,
                   MonoTime now) {
  std::vector<std::string> places;
  auto retry = kLater;
  for (const auto& id : away) {
    const auto* node = catalog.node(id);
    const auto gone = std::chrono::duration_cast<std::chrono::seconds>(now - node->since);
    if (mesh::is_routable(node->reach)) {
      places.push_back(
          fmt::format("on {}, which has just started and hasn't scanned its models yet", catalog.names().shown(id)));
      retry = kAtOnce;
    } else {
      places.push_back(
          fmt::format("on {}, which has been unreachable for {}", catalog.names().shown(id), in_words(gone)));
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

// Nodes without an announcement so far: one of them may have the model. A node that has just started doesn't even know
// these nodes.
std::optional<Error> awaiting_announcements(const mesh::Catalog& catalog, std::string_view name, MonoTime now) {
  bool any = false;
  std::vector<std::string> nodes;
  for (const auto& node : catalog.nodes()) {
    if (!node.expected_until || now >= *node.expected_until) continue;
    any = true;
    if (node.id != mesh::NodeId()) nodes.push_back(catalog.names().shown(node.id));
  }
  if (!any) return std::nullopt;
  const auto node_names = nodes.empty() ? std::string("its mesh") : fmt::format("{}", fmt::join(nodes, ", "));
  Error error(make_error_code(errc::out_of_reach),
              fmt::format("unknown model '{}': this node still waits for announcements of {}", name, node_names),
              "model");
  error.retry_after = kAtOnce;
  return error;
}

}  // namespace

Error unknown_model(std::string_view name) {
  return {make_error_code(models::errc::model_not_found), fmt::format("no node of the mesh has the model '{}'", name),
          "model"};
}

Error why_not_found(const mesh::Catalog& catalog, std::string_view name, const mesh::Catalog::Found& found,
                    MonoTime now) {
  if (!found.choices.empty()) {
    return {make_error_code(errc::ambiguous_model),
            fmt::format("'{}' means different models at different nodes: use one of these names: {}", name,
                        fmt::join(found.choices, ", ")),
            "model"};
  }
  if (!found.away.empty()) return out_of_reach(catalog, name, found.away, now);
  if (auto wait = awaiting_announcements(catalog, name, now)) return std::move(*wait);
  return unknown_model(name);
}

}  // namespace corral::fleet
