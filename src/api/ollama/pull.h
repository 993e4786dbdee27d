// POST /api/pull of a model that isn't on this disk: lines of JSON with the progress of each file.
#pragma once

#include <string>

#include "api/supply/context.h"

namespace corral::api::ollama {

// The source of a name from Ollama's clients: without a slash it is in Ollama's library, else as in other dialects.
// Pure.
std::string source_of(std::string name);

// Without `streams` the answer comes at the end. If the client disconnects, the download pauses, as with POST pull.
async::Task<http::Response> pull(SupplyContext& context, std::string name, bool streams);

}  // namespace corral::api::ollama
