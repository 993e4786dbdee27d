// Where browsers' requests come from and what they call the server by: the lists in the settings, and what is on them.
// Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

// A list with spaces or commas between. An origin is "scheme://host[:port]", exactly as browsers send it; for schemes
// that no web page can have (app, tauri, vscode-webview, ...), "scheme://*" stands for all of them. "localhost" is
// every page of this machine's own servers; "*" is everybody's, where a key is asked for: a page without one can do
// nothing. Errors: invalid_value.
Result<std::vector<std::string>> parse_origins(std::string_view text);
// Names or addresses, without a port. Errors: invalid_value.
Result<std::vector<std::string>> parse_hosts(std::string_view text);

// `keyed`: nobody gets anything without a key.
bool is_listed_origin(std::string_view origin, std::span<const std::string> listed, bool keyed = false);
bool is_listed_host(std::string_view name, std::span<const std::string> listed);

// "http://[::1]:8000" -> "::1", "localhost:8000" -> "localhost".
std::string_view host_name(std::string_view authority);
// What only this machine reaches: localhost, names below it, 127.0.0.0/8 and ::1 in every spelling, in brackets or not.
// Addresses as such: "127.0.0.1.example.com" is somebody else's.
bool is_loopback(std::string_view host);
// An address as such, which nobody's name server can say something else for.
bool is_address(std::string_view host);
// A page of the server that is called by `host` ("name:port"), over HTTP or over a proxy's TLS.
bool is_same_origin(std::string_view origin, std::string_view host);

}  // namespace corral::config
