// Settings for who may reach the server, and how much one of them may take. See option.h for what a row yields.
#include <array>

#include "config/option_tables.h"
#include "config/origins.h"

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
           .help = "Address to listen on. Other than loopback needs a key, or allow_open.",
           .right = "an address or a host name",
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
           .help = "Listen on this port as well, where programs look for Ollama: 11434 is its own. If it is taken, a "
                   "warning says so and the server does without it. off (0): nowhere else.",
           .range = {0, 65535},
           .zero_name = "off"},
    Option{.key = "api_key",
           .group = Group::access,
           .field = &S::api_key,
           .fallback = "",
           .value_name = "KEY",
           .help =
               "A key that may do everything; more of them, and lesser ones, come from corral key. Other users of the "
               "machine can read flags: better in the environment or in the file.",
           .applies = Applies::now,
           .secret = true,
           .guarded = true},
    Option{.key = "allow_open",
           .group = Group::access,
           .field = &S::allow_open,
           .fallback = "false",
           .help = "Listen beyond loopback without a key. Everybody who reaches the port can use the server.",
           .guarded = true},
    Option{.key = "allowed_origins",
           .group = Group::access,
           .field = &S::allowed_origins,
           .fallback = "",
           .value_name = "ORIGIN",
           .help = "Web pages and apps that may use the server from a browser, beside its own: \"http://localhost:3000 "
                   "app://obsidian.md vscode-webview://*\". localhost: all of this machine's own servers; *: "
                   "everybody's, where "
                   "a key is asked for. Everybody else's are refused.",
           .right = "origins with spaces between, such as http://localhost:3000 or app://obsidian.md",
           .check = check_origins,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "allowed_hosts",
           .group = Group::access,
           .field = &S::allowed_hosts,
           .fallback = "",
           .value_name = "NAME",
           .help =
               "Names that requests may call the server by, beside localhost: \"ai.example.org gpu-box.lan\". Beyond "
               "loopback, addresses are always taken, and without such a list every name where a key is asked for.",
           .right = "host names with spaces between, such as ai.example.org",
           .check = check_hosts,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "max_body_bytes",
           .group = Group::access,
           .field = &S::max_body_bytes,
           .fallback = "32MiB",
           .value_name = "SIZE",
           .help = "Largest request body; more is answered with 413.",
           .range = {1024, 1024 * 1024 * kMiB}},
    Option{.key = "max_bodies_bytes",
           .group = Group::access,
           .field = &S::max_bodies_bytes,
           .fallback = "256MiB",
           .value_name = "SIZE",
           .help = "Request bodies above 64 KiB that may be under way together; more are answered with 503. 0B: no "
                   "limit.",
           .range = {0, 1024 * 1024 * kMiB}},
    Option{.key = "max_upload_bytes",
           .group = Group::access,
           .field = &S::max_upload_bytes,
           .fallback = "512MiB",
           .value_name = "SIZE",
           .help =
               "Largest form with files, such as sound to be written down; more is answered with 413. Files pass by "
               "the memory: what is more than 64 KiB of one waits in state_dir until it is passed on.",
           .range = {1024, 1024 * 1024 * kMiB}},
    Option{.key = "max_uploads_bytes",
           .group = Group::access,
           .field = &S::max_uploads_bytes,
           .fallback = "4GiB",
           .value_name = "SIZE",
           .help = "Disk space for such files of all requests together; more are answered with 503. 0B: no limit.",
           .range = {0, 1024 * 1024 * kMiB}},
    Option{.key = "max_connections",
           .group = Group::access,
           .field = &S::max_connections,
           .fallback = "4096",
           .value_name = "N",
           .help = "Connections at once; more are answered with 503.",
           .range = {1, 1'000'000}},
    Option{.key = "max_connections_per_address",
           .group = Group::access,
           .field = &S::max_connections_per_address,
           .fallback = "1024",
           .value_name = "N",
           .help = "Connections at once from one address (of IPv6, one network of 64 bits). off (0): no limit, for a "
                   "server behind a proxy.",
           .range = {0, 1'000'000},
           .zero_name = "off"},
    Option{.key = "max_in_flight_per_key",
           .group = Group::access,
           .field = &S::max_in_flight_per_key,
           .fallback = "0",
           .value_name = "N",
           .help = "Inference requests that one key may have under way; more are answered with 429 and Retry-After. A "
                   "key that was made with a number of its own has that one. 0: no limit.",
           .range = {0, 1'000'000}},
    Option{.key = "max_event_readers",
           .group = Group::access,
           .field = &S::max_event_readers,
           .fallback = "256",
           .value_name = "N",
           .help = "Readers of events at once; more are answered with 503.",
           .range = {1, 100'000}},
    Option{.key = "head_timeout",
           .group = Group::access,
           .field = &S::head_timeout,
           .fallback = "10s",
           .value_name = "TIME",
           .help = "How long the head of a request may take in all.",
           .range = {1, kHour}},
    Option{.key = "slow_client_timeout",
           .group = Group::access,
           .field = &S::slow_client_timeout,
           .fallback = "30s",
           .value_name = "TIME",
           .help =
               "How long a client may keep the server waiting that sends its body, or takes its answer, slower than "
               "1 KiB a second.",
           .range = {1, 24 * kHour}},
    Option{.key = "io_threads",
           .group = Group::access,
           .field = &S::io_threads,
           .fallback = "auto",
           .value_name = "N",
           .help = "Threads that move bytes between clients and models.",
           .range = {0, 64},
           .zero_name = "auto"},

};

}  // namespace

std::span<const Option> access_options() { return kOptions; }

}  // namespace corral::config
