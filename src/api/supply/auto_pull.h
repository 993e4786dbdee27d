// Requests that name a model of the hub which isn't on this disk. With the setting auto_pull the model is downloaded,
// and the requests wait for it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/supply/context.h"
#include "http/handler.h"

namespace corral::api {

// Interval of pings of a stream that doesn't name one.
inline constexpr Millis kUsualPing{1'000};

// Whether the request starts a download. `why` is the error of the unknown name. The name must be one of the hub, the
// caller must have the right, and the setting must be on. If only the right or the setting is missing, `why` also
// explains how to get the model.
bool fetches(SupplyContext& context, const http::Caller& caller, const std::string& name, Error& why);

// Placeholder for a model that isn't on this disk yet.
backends::ModelPtr coming_model(const std::string& name, ModelType type);

// Called once with the downloaded model.
using WhenHere = std::move_only_function<async::Task<http::Response>(backends::ModelPtr)>;

// Downloads the model, then returns the answer of `then`. `ping`: the answer is a stream, with pings at this interval
// (0: none), and its errors are events named `error_event` (empty: unnamed). If the client disconnects, the download
// pauses.
async::Task<http::Response> answer_when_here(SupplyContext& context, std::string name, std::optional<Millis> ping,
                                             WhenHere then, std::string_view error_event = {});

}  // namespace corral::api
