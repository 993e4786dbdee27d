// JSON of downloads and of planned downloads: docs/downloads.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "downloads/download_manager.h"
#include "json/writer.h"

namespace corral::api {

inline constexpr std::string_view kDownloadPrefix = "model:";  // of ids

std::string_view download_status(downloads::DownloadState state);
// Writes the members of a download into an open object. `name`: replaces the requested name.
void write_download(json::Writer& out, const downloads::DownloadRow& row, std::string_view name = {},
                    bool with_files = true);
std::string download_body(const downloads::DownloadRow& row, std::string_view name = {});
// `memory`: of this machine; `called`: the name that the model will have.
std::string plan_body(const downloads::Plan& plan, std::uint64_t memory, std::string_view called);
// The variants in a repository.
std::string variants_body(const downloads::Listing& listing, std::string_view checkpoint, std::uint64_t memory,
                          const std::filesystem::path& cache, std::uint64_t free_disk);

}  // namespace corral::api
