// Sends the same request to the engine processes of all models in memory, in parallel.
#pragma once

#include <string>
#include <vector>

#include "api/base/context.h"

namespace corral::api {

struct ChildAnswer {
  ModelName model;
  std::optional<std::string> text;  // nothing: no valid answer in time
};

// GET `path` of each, in the order of their loads. Takes at most `patience`, even if processes hang. Loads, wakes and
// keeps nothing.
async::Task<std::vector<ChildAnswer>> ask_children(CoreContext& context, std::string path, Millis patience);

// The same for one model; nothing: it isn't in memory.
async::Task<std::optional<ChildAnswer>> ask_child(CoreContext& context, ModelName model, std::string path,
                                                  Millis patience);

// Sends a request to the process of one model, and returns its answer. Errors: residency::errc::not_loaded,
// router::errc::backend_unreachable (also after `patience`).
async::Task<Result<http::Response>> send_child(CoreContext& context, ModelName model, http::RequestHead head,
                                               std::string body, Millis patience);

}  // namespace corral::api
