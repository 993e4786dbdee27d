// What dialects have in common where they write a canonical body. Pure; safe on every thread.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
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

// A field of a canonical body as a client knows it.
struct Renamed {
  std::string_view canonical, own;
  bool inside = true;  // what stands behind the name is the same there; else the field is named alone
};
// By the first row that fits.
std::string own_name(std::string_view canonical, std::span<const Renamed> rows);

// Checks what was written by its table: rules between fields, and those of all messages together, stand there alone.
// What is wrong is told in the client's own names.
Result<protocol::Peeked> check_written(const std::string& body, const protocol::FieldTable& table,
                                       std::string (*own_name)(std::string_view canonical));

}  // namespace corral::dialects
