// Settings of access to the server, and limits of each client. See option.h for what a row yields.
#include <array>

#include <fmt/format.h>

#include "config/errors.h"
#include "config/load/request_defaults.h"
#include "config/options/option_tables.h"
#include "config/options/origins.h"

namespace corral::config {
namespace {

using S = ServeSettings;

constexpr std::int64_t kHour = 3'600 * 1'000;
constexpr std::int64_t kMiB = 1 << 20;

Result<> check_origins(const std::string& text) {
  const auto origins = parse_origins(text);
  if (!origins) return std::unexpected(origins.error());
  return {};
}

Result<> check_listen_addresses(const std::string& text) {
  if (!names_in(text).empty()) return {};
  return fail(errc::invalid_value, fmt::format("'{}' contains no address", text), "host");
}

Result<> check_hosts(const std::string& text) {
  const auto hosts = parse_hosts(text);
  if (!hosts) return std::unexpected(hosts.error());
  return {};
}

const std::array kOptions = {
    Option{.key = "host",
           .group = Group::access,
           .field = &S::host,
           .fallback = "127.0.0.1",
           .value_name = "ADDRESS",
           .help = "Addresses to listen on, separated by commas. An address other than loopback needs a key, or "
                   "allow_open.",
           .right = "an address, or several with commas between them, such as 127.0.0.1,::1",
           .check = check_listen_addresses,
           .guarded = true},
    Option{.key = "port",
           .group = Group::access,
           .field = &S::port,
           .fallback = "8000",
           .value_name = "N",
           .help = "TCP port to listen on; 0 picks a free one.",
           .range = {0, 65535}},
    Option{.key = "ollama_port",
           .group = Group::access,
           .field = &S::ollama_port,
           .fallback = "off",
           .value_name = "N",
           .help = "Additional port for Ollama clients, usually 11434. If another program uses the port, the server "
                   "logs a warning and does not listen on it. off (0): none.",
           .range = {0, 65535},
           .zero_name = "off"},
    Option{.key = "api_key",
           .group = Group::access,
           .field = &S::api_key,
           .fallback = "",
           .value_name = "KEY",
           .help = "API key with all scopes; corral key create makes others. Other users of the machine can read "
                   "flags: use the environment variable or the file.",
           .applies = Applies::now,
           .secret = true,
           .guarded = true},
    Option{.key = "allow_open",
           .group = Group::access,
           .field = &S::allow_open,
           .fallback = "false",
           .help = "Listen beyond loopback without a key. Every client that can reach the port can use the server.",
           .guarded = true},
    Option{.key = "allowed_origins",
           .group = Group::access,
           .field = &S::allowed_origins,
           .fallback = "",
           .value_name = "ORIGIN",
           .help = "Origins of web pages and apps that may use the server from a browser, besides its own pages: "
                   "\"http://localhost:3000 app://obsidian.md vscode-webview://*\". localhost: all servers of this "
                   "machine. *: all origins, if the server requires keys. Other origins are rejected.",
           .right = "origins separated by spaces, such as http://localhost:3000 or app://obsidian.md",
           .check = check_origins,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "allowed_hosts",
           .group = Group::access,
           .field = &S::allowed_hosts,
           .fallback = "",
           .value_name = "NAME",
           .help = "Host names of the server in requests, besides localhost and the names that containers have for "
                   "their machine, such as host.docker.internal: \"ai.example.org gpu-box.lan\". Beyond loopback, IP "
                   "addresses are always accepted. If this list is empty, names of private networks (one word, .local, "
                   ".lan, .internal) are accepted beyond loopback, and every name if the server requires keys.",
           .right = "host names separated by spaces, such as ai.example.org",
           .check = check_hosts,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "max_body_bytes",
           .group = Group::access,
           .field = &S::max_body_bytes,
           .fallback = "32MiB",
           .value_name = "SIZE",
           .help = "Largest request body; larger ones get 413.",
           .range = {1024, 1024 * 1024 * kMiB}},
    Option{.key = "max_bodies_bytes",
           .group = Group::access,
           .field = &S::max_bodies_bytes,
           .fallback = "256MiB",
           .value_name = "SIZE",
           .help = "Total size of concurrent request bodies above 64 KiB; more get 503. 0B: no limit.",
           .range = {0, 1024 * 1024 * kMiB}},
    Option{.key = "max_upload_bytes",
           .group = Group::access,
           .field = &S::max_upload_bytes,
           .fallback = "512MiB",
           .value_name = "SIZE",
           .help = "Largest form with files, such as audio; larger ones get 413. Files above 64 KiB are stored in "
                   "state_dir, not in memory, until they are forwarded.",
           .range = {1024, 1024 * 1024 * kMiB}},
    Option{.key = "max_uploads_bytes",
           .group = Group::access,
           .field = &S::max_uploads_bytes,
           .fallback = "4GiB",
           .value_name = "SIZE",
           .help = "Disk space for such files of all requests; more get 503. 0B: no limit.",
           .range = {0, 1024 * 1024 * kMiB}},
    Option{.key = "fetch_images",
           .group = Group::access,
           .field = &S::fetch_images,
           .fallback = "false",
           .help = "Pictures in requests may be http or https URLs, which the server downloads: from public addresses "
                   "outside of its own networks only, 20 MiB, 10 s and 3 redirects each. Otherwise pictures must be in "
                   "the request."},
    Option{.key = "max_connections",
           .group = Group::access,
           .field = &S::max_connections,
           .fallback = "4096",
           .value_name = "N",
           .help = "Maximum number of connections; more get 503.",
           .range = {1, 1'000'000}},
    Option{.key = "max_connections_per_address",
           .group = Group::access,
           .field = &S::max_connections_per_address,
           .fallback = "1024",
           .value_name = "N",
           .help = "Maximum number of connections per address (IPv6: per /64 network). off (0): no limit, for a server "
                   "behind a proxy.",
           .range = {0, 1'000'000},
           .zero_name = "off"},
    Option{.key = "max_in_flight_per_key",
           .group = Group::access,
           .field = &S::max_in_flight_per_key,
           .fallback = "0",
           .value_name = "N",
           .help = "Concurrent inference requests per key; more get 429 with Retry-After. A key can have its own "
                   "limit. 0: no limit.",
           .range = {0, 1'000'000}},
    Option{.key = "max_event_readers",
           .group = Group::access,
           .field = &S::max_event_readers,
           .fallback = "256",
           .value_name = "N",
           .help = "Maximum number of event readers; more get 503.",
           .range = {1, 100'000}},
    Option{.key = "head_timeout",
           .group = Group::access,
           .field = &S::head_timeout,
           .fallback = "10s",
           .value_name = "TIME",
           .help = "Time limit for the head of a request.",
           .range = {1, kHour}},
    Option{.key = "slow_client_timeout",
           .group = Group::access,
           .field = &S::slow_client_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help = "Disconnect clients slower than 1 KiB/s after this time, while they send a body or read a response.",
           .range = {1, 24 * kHour}},
    Option{.key = "slots",
           .group = Group::access,
           .field = &S::slots,
           .fallback = "true",
           .help = "Clients may read /slots, which shows running requests; otherwise it returns 501."},
    Option{.key = "console",
           .group = Group::access,
           .field = &S::console,
           .fallback = "true",
           .help = "Browsers get the console, a page that shows the models in memory, at / and /console/."},
    Option{.key = "io_threads",
           .group = Group::access,
           .field = &S::io_threads,
           .fallback = "auto",
           .value_name = "N",
           .help = "Threads for traffic between clients and models.",
           .range = {0, 64},
           .zero_name = "auto"},

};

}  // namespace

std::span<const Option> access_options() { return kOptions; }

}  // namespace corral::config
