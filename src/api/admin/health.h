// The parts of health's answer that others show too. Each writes members of an object that is open.
#pragma once

#include <vector>

#include "json/writer.h"
#include "router/model_router.h"

namespace corral::api {

// Everything about what is in memory, loads, waits and is pinned: "model_loaded" to "load_queue". A model is in
// "all_models_loaded", at most once, until its process is told to end; that process is then in "stopping". Parts of
// other nodes' models are in "shares" and nowhere else.
void write_residency(json::Writer& out, const router::Report& report);
// "max_models".
void write_limits(json::Writer& out, const residency::Limits& limits);
// "load_queue".
void write_queue(json::Writer& out, const std::vector<residency::QueuedView>& queue);

}  // namespace corral::api
