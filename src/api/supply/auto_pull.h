// Requests that name a model of the hub which isn't on this disk. With the setting auto_pull the model is downloaded,
// and the requests wait for it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/context.h"
#include "router/forward/forwarder.h"

namespace corral::api {

// Whether the request starts a download. `why` is the error of the unknown name. The name must be one of the hub, the
// caller must have the right, and the setting must be on. If only the right or the setting is missing, `why` also
// explains how to get the model.
bool fetches(ApiContext& context, const http::Caller& caller, const std::string& name, Error& why);

// Placeholder for a model that isn't on this disk yet.
backends::ModelPtr coming_model(const std::string& name, ModelType type);

// Called once with the downloaded model.
using WhenHere = std::move_only_function<async::Task<http::Response>(backends::ModelPtr)>;

// Downloads the model, then returns the answer of `then`. `ping`: the answer is a stream, with pings at this interval
// (0: none), and its errors are events named `error_event` (empty: unnamed). If the client disconnects, the download
// pauses.
async::Task<http::Response> answer_when_here(ApiContext& context, std::string name, std::optional<Millis> ping,
                                             WhenHere then, std::string_view error_event = {});

// Downloads the model and forwards the request, whose model is coming_model(), to it. A stream gets pings meanwhile,
// and a later failure is one framed error event. If the client disconnects, the download pauses. `type`: required type;
// a known model of another type is not downloaded. `path`: the endpoint's, for messages.
async::Task<http::Response> forward_when_here(ApiContext& context, std::string name, std::optional<ModelType> type,
                                              std::string path, router::ForwardRequest request);

}  // namespace corral::api
