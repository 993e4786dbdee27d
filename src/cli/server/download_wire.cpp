#include "cli/server/download_wire.h"

#include <algorithm>

#include "cli/errors.h"
#include "cli/server/answer_fields.h"
#include "json/writer.h"

namespace corral::cli {
namespace {

std::uint64_t size_in(const json::Value& object, std::string_view name) { return bytes_of(object, name).value_or(0); }

DownloadProgress download_in(const json::Value& value) {
  DownloadProgress download{.id = text_of(value, "id"),
                            .model_name = text_of(value, "model_name"),
                            .status = text_of(value, "status"),
                            .done = size_in(value, "overall_bytes_downloaded"),
                            .total = size_in(value, "total_download_size"),
                            .rate = bytes_of(value, "bytes_per_second"),
                            .seconds_left = integer_of(value, "seconds_left"),
                            .error = text_of(value, "error")};
  each(value, "files", [&](const json::Value& file) {
    download.files.push_back({.path = text_of(file, "path"),
                              .size = size_in(file, "size"),
                              .done = size_in(file, "done"),
                              .whole = flag_of(file, "whole"),
                              .waiting = flag_of(file, "waiting")});
  });
  return download;
}

bool fits_in(const json::Value& object) { return json::bool_or(object, "fits", true); }

}  // namespace

const Variants::Row* Variants::find(std::string_view name) const {
  const auto found = std::ranges::find(rows, name, &Row::name);
  return found == rows.end() ? nullptr : &*found;
}

Result<PullPlan> parse_plan(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    PullPlan plan{.model_name = text_of(value, "model_name"),
                  .licence = text_of(value, "licence"),
                  .gated = flag_of(value, "gated"),
                  .bytes_total = size_in(value, "bytes_total"),
                  .bytes_to_fetch = size_in(value, "bytes_to_fetch")};
    each(value, "files", [&](const json::Value& file) {
      plan.files.push_back({text_of(file, "path"), size_in(file, "size"), flag_of(file, "here")});
    });
    if (const auto* disk = json::find(value, "disk")) {
      plan.disk_path = text_of(*disk, "path");
      plan.free_disk = bytes_of(*disk, "free_bytes");
      plan.needs_disk = bytes_of(*disk, "needed_bytes").value_or(plan.bytes_to_fetch);
      plan.keep_free = bytes_of(*disk, "keep_free_bytes").value_or(0);
      plan.fits_disk = fits_in(*disk);
    }
    if (const auto* memory = json::find(value, "memory")) {
      plan.memory = bytes_of(*memory, "bytes");
      plan.have_memory = bytes_of(*memory, "have_bytes");
      plan.fits_memory = fits_in(*memory);
      plan.memory_by_size = text_of(*memory, "by") == "size";
    }
    return plan;
  });
}

Result<DownloadProgress> parse_download(std::string_view text) { return parse_as(text, download_in); }

Result<std::vector<DownloadProgress>> parse_downloads(std::string_view text) {
  const auto value = parse_answer(text);
  if (!value) return std::unexpected(value.error());
  const auto* array = value->if_array();
  if (array == nullptr) return fail(errc::bad_answer, "the server's list of downloads is not a list");
  std::vector<DownloadProgress> downloads;
  for (const json::Value& item : *array) downloads.push_back(download_in(item));
  return downloads;
}

Result<Variants> parse_variants(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    Variants variants{.checkpoint = text_of(value, "checkpoint"),
                      .suggested = text_of(value, "suggested"),
                      .usual = text_of(value, "usual"),
                      .licence = text_of(value, "licence"),
                      .gated = flag_of(value, "gated")};
    each(value, "variants", [&](const json::Value& row) {
      variants.rows.push_back({.name = text_of(row, "name"),
                               .size = size_in(row, "size_bytes"),
                               .memory = bytes_of(row, "memory_bytes"),
                               .fits = fits_in(row),
                               .here = flag_of(row, "here")});
    });
    return variants;
  });
}

Result<std::vector<FoundRepo>> parse_found(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    std::vector<FoundRepo> found;
    each(value, "models", [&](const json::Value& row) {
      found.push_back({.checkpoint = text_of(row, "checkpoint"),
                       .downloads = integer_of(row, "downloads"),
                       .likes = integer_of(row, "likes"),
                       .gated = flag_of(row, "gated")});
    });
    return found;
  });
}

Result<Removal> parse_removal(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    Removal removal{.message = text_of(value, "message"),
                    .model_name = text_of(value, "model_name"),
                    .name_of = text_of(value, "name_of"),
                    .freed = size_in(value, "freed_bytes"),
                    .files = names_of(value, "files")};
    each(value, "kept",
         [&](const json::Value& row) { removal.kept.emplace_back(text_of(row, "path"), names_of(row, "needed_by")); });
    return removal;
  });
}

Result<std::vector<ModelAlias>> parse_aliases(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    std::vector<ModelAlias> aliases;
    each(value, "aliases", [&](const json::Value& row) {
      const auto* const defaults = json::find(row, "defaults");
      const bool has_defaults = defaults != nullptr && defaults->is_object() && !defaults->get_object().empty();
      aliases.push_back({.alias = text_of(row, "alias"),
                         .target = text_of(row, "target"),
                         .here = flag_of(row, "downloaded"),
                         .defaults = has_defaults ? json::serialize(*defaults) : std::string()});
    });
    return aliases;
  });
}

Result<Imported> parse_imported(std::string_view text) {
  return parse_as(text, [](const json::Value& value) {
    return Imported{.model_name = text_of(value, "model_name"),
                    .path = text_of(value, "path"),
                    .how = text_of(value, "how"),
                    .bytes = size_in(value, "bytes")};
  });
}

std::string pull_body(const PullBody& body) {
  std::string text;
  json::Writer out(text);
  out.begin_object().field("model_name", body.model_name);
  if (!body.checkpoint.empty()) out.field("checkpoint", body.checkpoint);
  if (body.dry_run) out.field("dry_run", true);
  if (body.stream) out.field("stream", true);
  if (body.no_mmproj) out.field("no_mmproj", true);
  if (!body.subscribe) out.field("subscribe", false);
  out.end_object();
  return text;
}

}  // namespace corral::cli
