// Requests that name a model of the hub which isn't here: with the setting auto_pull it is fetched, and they wait for
// it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "api/context.h"
#include "router/forward/forwarder.h"

namespace corral::api {

// Whether such a request has its model fetched: `why` is that nobody knows it, its name is one of the hub, it may, and
// the server does. Where it only may not, `why` says how to have it.
bool fetches(ApiContext& context, const http::Caller& caller, const std::string& name, Error& why);

// Stands for a model that isn't here yet.
backends::ModelPtr coming_model(const std::string& name, ModelType type);

// What is to be done with the model, once.
using WhenHere = std::move_only_function<async::Task<http::Response>(backends::ModelPtr)>;

// Fetches the model, then gives the answer of `then`. `ping`: a stream, which gets pings so often meanwhile (0: none),
// and whose errors are events of the name `error_event` (empty: of none). A client that leaves pauses the download.
async::Task<http::Response> answer_when_here(ApiContext& context, std::string name, std::optional<Millis> ping,
                                             WhenHere then, std::string_view error_event = {});

// Has the model fetched and forwards the request, whose model is coming_model(), to the one that came. A stream gets
// pings meanwhile, and what fails then is one framed error event. A client that leaves pauses the download. `type`:
// what the model has to be; a known model of another type is not fetched. `path`: of the endpoint, for messages.
async::Task<http::Response> forward_when_here(ApiContext& context, std::string name, std::optional<ModelType> type,
                                              std::string path, router::ForwardRequest request);

}  // namespace corral::api
