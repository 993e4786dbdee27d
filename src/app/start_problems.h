// Messages for failures at the start of the server: one line each, with the problem and what to do. Pure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"

namespace corral::app {

// The server can't listen: see http::Server::listen_tcp(). `file` is its configuration file.
std::string explain_listen(const Error& error, int port, const std::filesystem::path& file);
// The folder can't be made or used by that user.
std::string explain_state_dir(const Error& error, const std::filesystem::path& folder, const std::string& user);
// nullopt: enough space for the server's own files.
std::optional<std::string> explain_free_space(std::uint64_t free, const std::filesystem::path& folder);

}  // namespace corral::app
