// POST /api/pull of a model that isn't here: lines of JSON that say how far each of its files is.
#pragma once

#include <string>

#include "api/context.h"

namespace corral::api::ollama {

// What a name means to Ollama's clients: one without a slash is a model of Ollama's own library, all else is as
// everywhere here. Pure.
std::string source_of(std::string name);

// Without `streams` the answer comes at the end. A client that leaves pauses the download, as POST pull.
async::Task<http::Response> pull(ApiContext& context, std::string name, bool streams);

}  // namespace corral::api::ollama
