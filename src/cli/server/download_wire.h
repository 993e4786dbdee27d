// Parses the server's answers about downloads, removals and known models. Pure; docs/downloads.md describes the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace corral::cli {

// Size and files of a download, before its first byte.
struct PullPlan {
  struct File {
    std::string path = {};
    std::uint64_t size = 0;
    bool here = false;  // already in the cache
  };
  std::string model_name = {};
  std::string licence = {};
  bool gated = false;
  std::vector<File> files = {};
  std::uint64_t bytes_total = 0;
  std::uint64_t bytes_to_fetch = 0;
  std::string disk_path = {};
  std::optional<std::uint64_t> free_disk = {};
  std::uint64_t needs_disk = 0, keep_free = 0;  // bytes; keep_free: bytes that no download uses
  bool fits_disk = true;
  std::optional<std::uint64_t> memory = {};  // bytes of the loaded model
  std::optional<std::uint64_t> have_memory = {};
  bool fits_memory = true;
  bool memory_by_size = false;  // estimated from the sizes of its files
};

struct FileProgress {
  std::string path = {};
  std::uint64_t size = 0;
  std::uint64_t done = 0;
  bool whole = false;
  bool waiting = false;  // another program downloads it
};

struct DownloadProgress {
  std::string id = {};
  std::string model_name = {};
  std::string status = {};
  std::vector<FileProgress> files = {};  // empty until known
  std::uint64_t done = 0;                // bytes of all files
  std::uint64_t total = 0;
  std::optional<std::uint64_t> rate = {};  // bytes a second
  std::optional<std::int64_t> seconds_left = {};
  std::string error = {};

  double share() const { return total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0; }
};

// The variants in a repository.
struct Variants {
  struct Row {
    std::string name = {};
    std::uint64_t size = 0;
    std::optional<std::uint64_t> memory = {};
    bool fits = true;
    bool here = false;
  };
  std::string checkpoint = {};
  std::string suggested = {};  // the largest that fits the machine's memory
  std::string usual = {};      // the variant that the name alone downloads
  std::string licence = {};
  bool gated = false;
  std::vector<Row> rows = {};

  const Row* find(std::string_view name) const;
};

struct FoundRepo {
  std::string checkpoint = {};
  std::optional<std::int64_t> downloads = {}, likes = {};
  bool gated = false;
};

// The result of removing a model, or its prediction.
struct Removal {
  std::string message = {};
  std::string model_name = {};  // its own name
  std::string name_of = {};     // only a name was removed: of this model or file, which stays
  std::uint64_t freed = 0;
  std::vector<std::string> files = {};
  std::vector<std::pair<std::string, std::vector<std::string>>> kept = {};  // a file, and the models that need it
};

struct ModelAlias {
  std::string alias = {};
  std::string target = {};
  bool here = false;
  std::string defaults = {};  // a JSON object; empty: none
};

struct Imported {
  std::string model_name = {};
  std::string path = {};
  std::string how = {};  // "link", "copy"
  std::uint64_t bytes = 0;
};

// Errors of all: bad_answer.
Result<PullPlan> parse_plan(std::string_view text);
Result<DownloadProgress> parse_download(std::string_view text);
Result<std::vector<DownloadProgress>> parse_downloads(std::string_view text);
Result<Variants> parse_variants(std::string_view text);
Result<std::vector<FoundRepo>> parse_found(std::string_view text);
Result<Removal> parse_removal(std::string_view text);
Result<std::vector<ModelAlias>> parse_aliases(std::string_view text);
Result<Imported> parse_imported(std::string_view text);

struct PullBody {
  std::string model_name = {};
  std::string checkpoint = {};  // if the name differs from it
  bool dry_run = false;
  bool stream = false;
  bool no_mmproj = false;  // leave the projector out
  bool subscribe = true;   // false: the download continues without this request
};
std::string pull_body(const PullBody& body);

}  // namespace corral::cli
