#include <memory>
#include <utility>

#include "api/filters/filters.h"
#include "dialects/own_names.h"

namespace corral::api {
namespace {

async::Task<http::Response> in_own_names(std::shared_ptr<const dialects::OwnNames> names, CallPtr call, Next next) {
  auto answering = next(std::move(call));
  auto answer = co_await std::move(answering);
  co_return dialects::in_own_names(std::move(answer), *names);
}

}  // namespace

Filter own_name_filter() {
  return [](CallPtr call, Next next) {
    auto names = call->canonical.names;
    if (names == nullptr) return next(std::move(call));
    return in_own_names(std::move(names), std::move(call), next);
  };
}

}  // namespace corral::api
