// The client's names for the fields of a canonical request, for errors. Pure; safe on every thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "http/handler.h"

namespace corral::dialects {

// A field of a canonical body and its name for the client.
struct Renamed {
  std::string_view canonical, own;
  bool inside = true;          // the path below the name is the same for the client; else only the field is named
  std::string_view code = {};  // only for errors with this code; empty: for all
};
// Uses the first row that matches. `code`: the name of the error's cause.
std::string own_name(std::string_view canonical, std::span<const Renamed> rows, std::string_view code = {});

// The names of one request.
struct OwnNames {
  std::string (*field)(std::string_view canonical, std::string_view code) = nullptr;  // a table of the dialect
  // For each canonical tool its place in the client's body: "tools[2]". Empty: use the table.
  std::vector<std::string> tools = {};
  std::string_view schema = "parameters";  // of a tool

  std::string of(std::string_view canonical, std::string_view code) const;
};

// Puts the client's name of the field into `param`, and into the message, in place of the quoted name.
void rename_field(Error& error, const OwnNames& names);
// The same for an error answer in OpenAI's shape. Other answers, and everything else in it, stay unchanged.
http::Response in_own_names(http::Response answer, const OwnNames& names);

}  // namespace corral::dialects
