#include "backends/external/descriptor.h"

#include <algorithm>

namespace corral::backends {

std::string_view name_of(ServerKind kind) {
  switch (kind) {
    case ServerKind::server:
      return "server";
    case ServerKind::exec:
      return "exec";
    case ServerKind::attach:
      return "attach";
  }
  return "";
}

std::string_view name_of(Listen listen) { return listen == Listen::port ? "port" : "socket"; }
std::string_view name_of(Proved proved) { return proved == Proved::real ? "real" : "contract"; }

std::string_view name_of(Cancel cancel) { return cancel == Cancel::close ? "close" : "restart"; }
std::string_view name_of(ImageRequests requests) { return requests == ImageRequests::openai ? "openai" : "sd-cpp"; }

std::string_view name_of(NpuUse use) {
  switch (use) {
    case NpuUse::none:
      return "none";
    case NpuUse::exclusive:
      return "exclusive";
    case NpuUse::coexist:
      return "coexist";
  }
  return "";
}

std::string_view name_of(protocol::Ask ask) {
  constexpr std::string_view kPrefix = "/v1/";
  return protocol::row_of(ask).path.substr(kPrefix.size());
}

std::optional<protocol::Ask> ask_named(std::string_view name) {
  for (const auto& row : protocol::ask_table()) {
    if (name_of(row.ask) == name) return row.ask;
  }
  return std::nullopt;
}

std::string ask_names() {
  std::string names;
  for (const auto& row : protocol::ask_table()) names.append(names.empty() ? "" : ", ").append(name_of(row.ask));
  return names;
}

bool serves(const Descriptor& descriptor, ModelType type) {
  return std::ranges::find(descriptor.types, type) != descriptor.types.end();
}

namespace {
constexpr std::string_view kPort = "{port}";
}  // namespace

bool chooses_port(const Descriptor& descriptor) { return descriptor.url.empty() || descriptor.url.contains(kPort); }

std::string url_at(const Descriptor& descriptor, std::uint16_t port) {
  auto url = descriptor.url;
  if (const auto at = url.find(kPort); at != url.npos) url.replace(at, kPort.size(), std::to_string(port));
  return url;
}

}  // namespace corral::backends
