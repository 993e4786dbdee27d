// How a client calls the fields of a canonical request: the names in errors about it. Pure; safe on every thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/handler.h"

namespace corral::dialects {

// A field of a canonical body as a client knows it.
struct Renamed {
  std::string_view canonical, own;
  bool inside = true;          // what stands behind the name is the same there; else the field is named alone
  std::string_view code = {};  // of errors with this code only; empty: of all
};
// By the first row that fits. `code`: the name of the error's cause.
std::string own_name(std::string_view canonical, std::span<const Renamed> rows, std::string_view code = {});

// The names of one request.
struct OwnNames {
  std::string (*field)(std::string_view canonical, std::string_view code) = nullptr;  // a table of the dialect
  // For each canonical tool the place of the client's: "tools[2]". Empty: the table has them.
  std::vector<std::string> tools = {};
  std::string_view schema = "parameters";  // of a tool

  std::string of(std::string_view canonical, std::string_view code) const;
};

// Puts the client's name for its field at fault into `param` and into the message, where the name stands in quotes.
void rename_field(Error& error, const OwnNames& names);
// The same of an answer that says no, in OpenAI's shape. Others stay as they are, and so does everything else of it.
http::Response in_own_names(http::Response answer, const OwnNames& names);

}  // namespace corral::dialects
