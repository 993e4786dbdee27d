// The API as one handler. Every resource contributes its routes; rights.cpp has a row with the rights of each route.
#pragma once

#include <memory>
#include <vector>

#include "api/context.h"
#include "http/route_table.h"
#include "protocol/fields.h"

namespace corral::api {

// Adds a route under each of the core prefixes: /api/v1, /api/v0, /v1, /v0.
void add_core(std::vector<http::Route>& routes, const char* method, std::string_view path,
              const http::RouteHandler& handler);

// One function per resource, each in its own file. `context` must outlive the routes.
void add_inference(std::vector<http::Route>& routes, ApiContext& context);        // inference.cpp
void add_models(std::vector<http::Route>& routes, ApiContext& context);           // openai/models.cpp
void add_voices(std::vector<http::Route>& routes, ApiContext& context);           // openai/voices.cpp
void add_ollama_models(std::vector<http::Route>& routes, ApiContext& context);    // ollama/models.cpp
void add_ollama_registry(std::vector<http::Route>& routes, ApiContext& context);  // ollama/registry.cpp
void add_responses(std::vector<http::Route>& routes, ApiContext& context);        // responses/resources.cpp
void add_response_socket(std::vector<http::Route>& routes, ApiContext& context);  // responses/socket.cpp
void add_conversations(std::vector<http::Route>& routes, ApiContext& context);    // responses/conversations.cpp
void add_root(std::vector<http::Route>& routes, ApiContext& context);             // openai/root.cpp
void add_console(std::vector<http::Route>& routes, ApiContext& context);          // console.cpp
void add_llama_models(std::vector<http::Route>& routes, ApiContext& context);     // llama/models.cpp
void add_llama_swap(std::vector<http::Route>& routes, ApiContext& context);       // llama/swap.cpp
void add_llama_slots(std::vector<http::Route>& routes, ApiContext& context);      // llama/slots.cpp
void add_streams(std::vector<http::Route>& routes, ApiContext& context);          // llama/streams.cpp
void add_health(std::vector<http::Route>& routes, ApiContext& context);           // admin/health.cpp
void add_memory(std::vector<http::Route>& routes, ApiContext& context);           // admin/memory.cpp
void add_stats_history(std::vector<http::Route>& routes, ApiContext& context);    // admin/stats.cpp
void add_load(std::vector<http::Route>& routes, ApiContext& context);             // admin/load.cpp
void add_events(std::vector<http::Route>& routes, ApiContext& context);           // admin/events.cpp
void add_logs(std::vector<http::Route>& routes, ApiContext& context);             // admin/logs.cpp
void add_requests(std::vector<http::Route>& routes, ApiContext& context);         // admin/requests.cpp
void add_metrics(std::vector<http::Route>& routes, ApiContext& context);          // admin/metrics.cpp
void add_options(std::vector<http::Route>& routes, ApiContext& context);          // admin/options.cpp
void add_config(std::vector<http::Route>& routes, ApiContext& context);           // admin/config.cpp
void add_keys(std::vector<http::Route>& routes, ApiContext& context);             // admin/keys.cpp
void add_verify(std::vector<http::Route>& routes, ApiContext& context);           // admin/verify.cpp
void add_mesh(std::vector<http::Route>& routes, ApiContext& context);             // admin/mesh.cpp
void add_mesh_allotment(std::vector<http::Route>& routes, ApiContext& context);   // admin/mesh_allotment.cpp

void add_pull(std::vector<http::Route>& routes, ApiContext& context);       // supply/pull.cpp
void add_downloads(std::vector<http::Route>& routes, ApiContext& context);  // supply/downloads.cpp
void add_removal(std::vector<http::Route>& routes, ApiContext& context);    // supply/removal.cpp
void add_names(std::vector<http::Route>& routes, ApiContext& context);      // supply/names.cpp
void add_import(std::vector<http::Route>& routes, ApiContext& context);     // supply/import.cpp

// Of POST verify, pull, downloads/control, delete, models/register, /internal/aliases, import.
const protocol::FieldTable& verify_fields();
const protocol::FieldTable& pull_fields();
const protocol::FieldTable& download_control_fields();
const protocol::FieldTable& removal_fields();
const protocol::FieldTable& register_fields();
const protocol::FieldTable& alias_fields();
const protocol::FieldTable& import_fields();
// Of POST models/load and models/unload, and of streams/lookup.
const protocol::FieldTable& named_model_fields();
const protocol::FieldTable& lookup_fields();

std::unique_ptr<http::Handler> make_api(ApiContext& context);

}  // namespace corral::api
