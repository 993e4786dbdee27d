// Shared code of dialects that write canonical bodies. Pure; safe on every thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "dialects/own_names.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/fields.h"

namespace corral::dialects {

// Copies the member `name`, if present, under its canonical name.
void copy(json::Writer& out, json::View from, std::string_view name, std::string_view canonical);

// Begins a function tool's object, for "tools" and for a "tool_choice" with a name; end_function() closes it.
void begin_function(json::Writer& out, std::string_view name);
void end_function(json::Writer& out);

// Checks the written body by its table: rules between fields, and limits of all messages together, exist only there.
// Errors have the client's names.
Result<protocol::Peeked> check_written(const std::string& body, const protocol::FieldTable& table,
                                       const OwnNames& names);

}  // namespace corral::dialects
