// What dialects have in common where they write a canonical body. Pure; safe on every thread.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "dialects/own_names.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/fields.h"

namespace corral::dialects {

// The member of that name, if there is one, under the name that it has canonically.
void copy(json::Writer& out, json::View from, std::string_view name, std::string_view canonical);

// A function tool's object up to where its parts follow; end_function() closes it. So "tools" and a "tool_choice" that
// names one are made.
void begin_function(json::Writer& out, std::string_view name);
void end_function(json::Writer& out);

// Checks what was written by its table: rules between fields, and those of all messages together, stand there alone.
// What is wrong is told in the client's own names.
Result<protocol::Peeked> check_written(const std::string& body, const protocol::FieldTable& table,
                                       const OwnNames& names);

}  // namespace corral::dialects
