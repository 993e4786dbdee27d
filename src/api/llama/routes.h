// The routes of this room.
#pragma once

#include <vector>

#include "api/llama/context.h"
#include "http/route_table.h"
#include "protocol/fields.h"

namespace corral::api {

// One function per resource, each in its own file. `context` must outlive the routes.
void add_llama_models(std::vector<http::Route>& routes, LlamaContext& context);  // models.cpp
void add_llama_swap(std::vector<http::Route>& routes, LlamaContext& context);    // swap.cpp
void add_llama_slots(std::vector<http::Route>& routes, LlamaContext& context);   // slots.cpp
void add_streams(std::vector<http::Route>& routes, LlamaContext& context);       // streams.cpp

// Of POST models/load and models/unload, and of streams/lookup.
const protocol::FieldTable& named_model_fields();
const protocol::FieldTable& lookup_fields();

}  // namespace corral::api
