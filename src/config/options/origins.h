// Origins of browsers' requests and host names of the server: the lists in the settings, and their matching. Pure
// functions.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace corral::config {

// A list separated by spaces or commas. An origin is "scheme://host[:port]", exactly as browsers send it. For schemes
// that no web page can have (app, tauri, vscode-webview, ...), "scheme://*" matches all origins. "localhost" matches
// every page of this machine's own servers. "*" matches all pages if the server requires a key: a page without a key
// can do nothing. Errors: invalid_value.
Result<std::vector<std::string>> parse_origins(std::string_view text);
// Names or addresses, without a port. Errors: invalid_value.
Result<std::vector<std::string>> parse_hosts(std::string_view text);

// `keyed`: every request needs a key.
bool is_listed_origin(std::string_view origin, std::span<const std::string> listed, bool keyed = false);
bool is_listed_host(std::string_view name, std::span<const std::string> listed);

// "http://[::1]:8000" -> "::1", "localhost:8000" -> "localhost".
std::string_view host_name(std::string_view authority);
// Hosts that only this machine reaches: localhost, names below it, 127.0.0.0/8 and ::1 in every spelling, in brackets
// or not. Addresses only: "127.0.0.1.example.com" is a foreign host.
bool is_loopback(std::string_view host);
// Names by which container runtimes and virtual machines call the machine that runs them, such as host.docker.internal.
// No public name server has them, so no foreign page can have such a host.
bool is_container_gateway(std::string_view host);
// Names that only a private network resolves: one label without a dot, or below .local, .lan, .internal, .home.arpa or
// .localdomain.
bool is_private_name(std::string_view host);
// A literal address, which no name server can redirect.
bool is_address(std::string_view host);
// Whether a page belongs to the server with the host `host` ("name:port"), over HTTP or over a proxy's TLS.
bool is_same_origin(std::string_view origin, std::string_view host);

}  // namespace corral::config
