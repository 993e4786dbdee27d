#include "http/route_table.h"

#include <algorithm>
#include <ranges>

namespace corral::http {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    if (path.front() == '/') path.remove_prefix(1);
    const auto end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

bool is_param(std::string_view segment) { return segment.starts_with('{'); }
bool is_rest(std::string_view segment) { return segment.ends_with("...}"); }
std::string_view param_name(std::string_view segment) {
  segment = segment.substr(1, segment.size() - 2);
  return segment.substr(0, segment.find("..."));
}

}  // namespace

RouteTable::RouteTable(std::vector<Route> routes, Fallback failure)
    : routes_(std::move(routes)), failure_(std::move(failure)) {
  std::map<std::string, std::vector<const Route*>> by_pattern;
  for (const auto& route : routes_) by_pattern[route.pattern].push_back(&route);
  patterns_.reserve(by_pattern.size());
  for (auto& [text, of_pattern] : by_pattern) {
    Pattern pattern;
    for (auto segment : split(text)) pattern.segments.emplace_back(segment);
    pattern.routes = std::move(of_pattern);
    patterns_.push_back(std::move(pattern));
  }
  // Longer patterns first: "models/{id...}/options" is tried before "models/{id...}".
  std::ranges::sort(patterns_, std::ranges::greater(), [](const Pattern& pattern) { return pattern.segments.size(); });
  for (const auto& pattern : patterns_) {
    if (std::ranges::any_of(pattern.segments, is_param)) continue;
    exact_[pattern.routes.front()->pattern] = &pattern;
  }
}

const RouteTable::Pattern* RouteTable::find(std::string_view path, PathParams& params) const {
  if (const auto hit = exact_.find(path); hit != exact_.end()) return hit->second;
  const auto parts = split(path);
  for (const auto& pattern : patterns_) {
    const auto rest = std::ranges::find_if(pattern.segments, is_rest);
    const auto before = static_cast<std::size_t>(rest - pattern.segments.begin());
    const bool open = rest != pattern.segments.end();
    if (open ? parts.size() < pattern.segments.size() : parts.size() != pattern.segments.size()) continue;
    const std::size_t taken = open ? parts.size() - pattern.segments.size() + 1 : 0;  // segments in the rest
    params.clear();
    bool match = true;
    for (std::size_t i = 0; i < pattern.segments.size() && match; ++i) {
      const auto& segment = pattern.segments[i];
      const std::size_t at = open && i > before ? i + taken - 1 : i;
      if (open && i == before) {
        const auto* first = parts[at].data();
        const auto& last = parts[at + taken - 1];
        params[std::string(param_name(segment))] =
            percent_decode({first, static_cast<std::size_t>(last.data() + last.size() - first)});
      } else if (is_param(segment)) {
        params[std::string(param_name(segment))] = percent_decode(parts[at]);
      } else {
        match = segment == parts[at];
      }
    }
    if (match) return &pattern;
  }
  return nullptr;
}

async::Task<Response> RouteTable::handle(Request request) {
  if (request.head.target == "*") {  // OPTIONS for the server itself
    Response about{ResponseHead{204, {}}, {}};
    about.head.headers.add("Allow", "OPTIONS, HEAD, GET, POST, DELETE");
    co_return about;
  }
  PathParams params;
  const auto* pattern = find(request.head.path(), params);
  const bool anonymous = request.caller.rights == 0;
  if (!pattern) co_return failure_(request, anonymous ? 403 : 404);

  const bool head = request.head.method == "HEAD";
  const std::string_view wanted = head ? "GET" : std::string_view(request.head.method);
  for (const auto* route : pattern->routes) {
    if (route->method != wanted) continue;
    if (route->needs != 0 && (route->needs & request.caller.rights) == 0) {
      request.caller.missing = route->needs;
      co_return failure_(request, 403);
    }
    // The connection sends no body for HEAD, but the length of GET's body.
    co_return co_await route->handler(std::move(request), std::move(params));
  }
  if (anonymous) co_return failure_(request, 403);
  std::string allow = "OPTIONS";
  for (const auto* route : pattern->routes)
    allow.append(route->method == "GET" ? ", HEAD, " : ", ").append(route->method);
  auto response = request.head.method == "OPTIONS" ? Response{ResponseHead{204, {}}, {}} : failure_(request, 405);
  response.head.headers.set("Allow", allow);
  co_return response;
}

}  // namespace corral::http
