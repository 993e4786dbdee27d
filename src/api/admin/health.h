// The parts of health's answer that other routes show too. Each function writes members into an open object.
#pragma once

#include <vector>

#include "json/writer.h"
#include "router/model_router.h"

namespace corral::api {

// All about models in memory, loads, queues and pins: "model_loaded" to "failures". A model is in
// "all_models_loaded", at most once, until its process is asked to stop; then that process is in "stopping". Shares of
// other nodes' models are in "shares" only.
void write_residency(json::Writer& out, const router::Report& report);
// "stays", "downsize_at", "evict_at" (epoch milliseconds, or null) of an instance. `now`: the time of the outlook.
void write_idle_outlook(json::Writer& out, const residency::IdleOutlook& outlook, WallTime now);
// "max_models".
void write_limits(json::Writer& out, const residency::Limits& limits);
// "load_queue".
void write_queue(json::Writer& out, const std::vector<residency::QueuedView>& queue);

}  // namespace corral::api
