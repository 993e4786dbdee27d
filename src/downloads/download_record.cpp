#include "downloads/download_record.h"

#include <algorithm>
#include <utility>

#include "downloads/errors.h"
#include "downloads/names.h"
#include "json/count.h"
#include "json/value.h"
#include "json/writer.h"

namespace corral::downloads {
namespace {

constexpr std::size_t kMaxDownloads = 100, kMaxFiles = 10'000;

std::error_code code_named(std::string_view name) {
  for (int value = 1; value <= static_cast<int>(errc::in_use); ++value)
    if (const auto code = make_error_code(static_cast<errc>(value)); code.message() == name) return code;
  return make_error_code(errc::disk_failed);
}

std::optional<FileView> read_file(const json::Value& value) {
  const json::Value* const size = json::find(value, "size");
  const auto bytes = size && size->is_number() ? json::to_count(size->to_number<double>()) : std::nullopt;
  FileView file{.path = std::string(json::text_or(value, "path", "")),
                .size = bytes.value_or(0),
                .oid = std::string(json::text_or(value, "oid", ""))};
  return bytes && is_safe_path(file.path) && is_safe_oid(file.oid) ? std::optional(std::move(file)) : std::nullopt;
}

// False: a file is invalid.
bool read_files(const json::Value& entry, EarlierDownload& download) {
  const json::Value* const files = json::find(entry, "files");
  if (!files || !files->is_array() || files->get_array().size() > kMaxFiles) return false;
  for (const auto& value : files->get_array()) {
    auto file = read_file(value);
    if (!file) return false;
    download.files.push_back(std::move(*file));
  }
  return is_safe_path(download.repo);
}

}  // namespace

std::string write_record(std::span<const EarlierDownload> downloads) {
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (const EarlierDownload& download : downloads) {
    out.begin_object().field("name", download.name).field("paused", download.paused);
    if (!download.files.empty()) {
      out.field("repo", download.repo).key("files").begin_array();
      for (const FileView& file : download.files)
        out.begin_object().field("path", file.path).field("size", file.size).field("oid", file.oid).end_object();
      out.end_array();
    }
    if (download.error) out.field("error", download.error->message).field("code", download.error->code.message());
    out.end_object();
  }
  out.end_array();
  return text;
}

std::vector<EarlierDownload> read_record(std::string_view text) {
  std::vector<EarlierDownload> all;
  const auto parsed = json::parse(text);
  if (!parsed || !parsed->is_array()) return all;
  for (const auto& entry : parsed->get_array()) {
    EarlierDownload download{.name = std::string(json::text_or(entry, "name", "")),
                             .paused = json::bool_or(entry, "paused", true),
                             .repo = std::string(json::text_or(entry, "repo", ""))};
    if (download.name.empty() || all.size() == kMaxDownloads) continue;
    if (!read_files(entry, download)) {
      download.repo.clear();
      download.files.clear();
    }
    if (const auto error = json::text_or(entry, "error", ""); !error.empty())
      download.error = Error(code_named(json::text_or(entry, "code", "")), std::string(error));
    all.push_back(std::move(download));
  }
  return all;
}

}  // namespace corral::downloads
