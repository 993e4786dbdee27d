// The inference endpoints of all dialects. Every request passes the same list of steps and filters.
#pragma once

#include <cstdint>
#include <vector>

#include "api/base/inference_call.h"
#include "api/inference/context.h"
#include "http/route_table.h"

namespace corral::api {

// The requests that a filter is for.
enum class Bodies : std::uint8_t { all, json, forms };

struct InferenceFilter {
  Filter filter;
  Bodies bodies = Bodies::all;
};

// `filters`: in their order; the last one for each kind of body answers. `context` must outlive the routes.
void add_inference(std::vector<http::Route>& routes, InferenceContext& context,
                   const std::vector<InferenceFilter>& filters);

}  // namespace corral::api
