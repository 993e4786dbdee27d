// GET /openapi.json: the API as an OpenAPI 3.1 description, made once of the routes, the rights they need and the
// tables of fields that bodies are checked by. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/route_table.h"
#include "json/writer.h"
#include "protocol/fields.h"

namespace corral::api {

// `routes` with their rights. Of a path under several core prefixes the one under /v1 stands for all.
std::string openapi_description(std::span<const http::Route> routes, std::string_view version);

// A table of fields as a JSON schema. What the rules between fields say isn't in it.
void write_schema(json::Writer& out, const protocol::FieldTable& table);

}  // namespace corral::api
