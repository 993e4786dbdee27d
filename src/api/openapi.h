// GET /openapi.json: the API as an OpenAPI 3.1 description, made once from the routes, their rights and the field
// tables that check bodies. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "http/route_table.h"
#include "json/writer.h"
#include "protocol/fields.h"

namespace corral::api {

// `routes` with their rights. If a path exists under several core prefixes, only the one under /v1 is listed.
std::string openapi_description(std::span<const http::Route> routes, std::string_view version);

// A table of fields as a JSON schema, without the rules between fields.
void write_schema(json::Writer& out, const protocol::FieldTable& table);
// Its fields, in an object that is open.
void write_properties(json::Writer& out, const protocol::FieldTable& table);

}  // namespace corral::api
