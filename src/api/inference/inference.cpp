#include "api/inference/inference.h"

#include <memory>
#include <string>
#include <utility>

#include "api/base/core_routes.h"

namespace corral::api {
namespace {

using dialects::Endpoint;
using FilterList = std::shared_ptr<const std::vector<Filter>>;

FilterList filters_for(Bodies bodies, const std::vector<InferenceFilter>& all) {
  std::vector<Filter> filters;
  for (const auto& row : all)
    if (row.bodies == Bodies::all || row.bodies == bodies) filters.push_back(row.filter);
  return std::make_shared<const std::vector<Filter>>(std::move(filters));
}

// The call keeps the filters: an answer in the background may outlive the routes.
async::Task<http::Response> infer(InferenceContext& context, const FilterList& filters, std::string_view dialect,
                                  const Endpoint& endpoint, http::Request request) {
  auto call = std::make_unique<InferenceCall>();
  call->request = std::move(request);
  call->dialect = dialect;
  call->endpoint = &endpoint;
  call->began = context.core.timers.now();
  call->filters = filters;
  return Next(filters->data())(std::move(call));
}

}  // namespace

void add_inference(std::vector<http::Route>& routes, InferenceContext& context,
                   const std::vector<InferenceFilter>& filters) {
  const auto for_json = filters_for(Bodies::json, filters), for_forms = filters_for(Bodies::forms, filters);
  for (const auto* dialect : context.dialects) {
    for (const auto& endpoint : dialect->endpoints) {
      auto call = [&context, filters = endpoint.read_form != nullptr ? for_forms : for_json, name = dialect->name,
                   &endpoint](http::Request request, http::PathParams) {
        return infer(context, filters, name, endpoint, std::move(request));
      };
      if (endpoint.path.starts_with('/')) {
        routes.push_back({"POST", std::string(endpoint.path), std::move(call)});
      } else {
        add_core(routes, "POST", endpoint.path, std::move(call));
      }
    }
  }
}

}  // namespace corral::api
