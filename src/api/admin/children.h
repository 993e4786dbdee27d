// Asks the processes of all models in memory the same thing at the same time.
#pragma once

#include <string>
#include <vector>

#include "api/context.h"

namespace corral::api {

struct ChildAnswer {
  ModelName model;
  std::optional<std::string> text;  // nothing: no good answer in time
};

// GET `path` of each, in the order of their loading. Takes no longer than the slowest answer or `patience`, however
// many hang; loads, wakes and keeps nothing.
async::Task<std::vector<ChildAnswer>> ask_children(ApiContext& context, std::string path, Millis patience);

// The same of one; nothing: it isn't in memory.
async::Task<std::optional<ChildAnswer>> ask_child(ApiContext& context, ModelName model, std::string path,
                                                  Millis patience);

// Sends one of them a request, and gives whatever it answers. Errors: residency::errc::not_loaded,
// router::errc::backend_unreachable (also where it takes longer than `patience`).
async::Task<Result<http::Response>> send_child(ApiContext& context, ModelName model, http::RequestHead head,
                                               std::string body, Millis patience);

}  // namespace corral::api
