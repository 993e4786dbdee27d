#include "api/supply/download_json.h"

#include <algorithm>

#include <fmt/format.h>

#include "downloads/cache_layout.h"

namespace corral::api {
namespace {

using downloads::DownloadState;

// The first file that is being downloaded.
std::size_t current_file(const std::vector<downloads::FileView>& files) {
  const auto begun = std::ranges::find_if(files, [](const auto& file) { return !file.whole && file.done > 0; });
  if (begun != files.end()) return static_cast<std::size_t>(begun - files.begin());
  const auto next = std::ranges::find_if(files, [](const auto& file) { return !file.whole; });
  return static_cast<std::size_t>((next == files.end() ? next - 1 : next) - files.begin());
}

std::uint64_t percent(std::uint64_t done, std::uint64_t total) {
  return total == 0 ? 0 : static_cast<std::uint64_t>(100.0 * static_cast<double>(done) / static_cast<double>(total));
}

void write_download_files(json::Writer& out, const std::vector<downloads::FileView>& files) {
  out.key("files").begin_array();
  for (const auto& file : files) {
    out.begin_object().field("path", file.path).field("size", file.size).field("done", file.done);
    out.field("whole", file.whole).field("waiting", file.elsewhere).end_object();
  }
  out.end_array();
}

void write_source(json::Writer& out, const downloads::Revision& at) {
  if (!at.commit.empty()) out.field("commit", at.commit).field("gated", at.gated);
  if (!at.licence.empty()) out.field("licence", at.licence);
}

}  // namespace

std::string_view download_status(DownloadState state) {
  switch (state) {
    case DownloadState::queued:
      return "queued";
    case DownloadState::running:
      return "downloading";
    case DownloadState::paused:
      return "paused";
    case DownloadState::done:
      return "completed";
    case DownloadState::failed:
      return "error";
    case DownloadState::cancelled:
      return "cancelled";
  }
  return "error";
}

void write_download(json::Writer& out, const downloads::DownloadRow& row, std::string_view name, bool with_files) {
  const auto& view = row.view;
  const auto& files = view.files;
  const bool complete = view.state == DownloadState::done;
  const auto done = view.bytes_done(), total = view.bytes();
  out.field("id", fmt::format("{}{}", kDownloadPrefix, view.name)).field("type", "model");
  out.field("model_name", name.empty() ? std::string_view(view.name) : name);
  out.field("status", download_status(view.state)).field("running", view.state == DownloadState::running);
  const std::size_t at = files.empty() ? 0 : current_file(files);
  out.field("file", files.empty() ? "" : files[at].path).field("file_index", files.empty() ? 0 : at + 1);
  out.field("total_files", files.size());
  out.field("bytes_downloaded", files.empty() ? 0 : files[at].done);
  out.field("bytes_total", files.empty() ? 0 : files[at].size).field("total_download_size", total);
  std::uint64_t whole = 0;
  for (const auto& file : files) whole += file.whole ? file.size : 0;
  out.field("bytes_previously_downloaded", view.bytes_before()).field("completed_files_bytes", whole);
  out.field("cumulative_bytes_downloaded", done).field("overall_bytes_downloaded", done);
  out.field("percent", complete ? 100 : percent(done, total)).field("complete", complete);
  if (row.rate) out.field("bytes_per_second", *row.rate);
  if (const auto left = row.seconds_left()) out.field("seconds_left", *left);
  if (with_files) write_download_files(out, files);
  if (view.state == DownloadState::failed && view.error)
    out.field("error", view.error->message).field("code", view.error->code.message());
}

std::string download_body(const downloads::DownloadRow& row, std::string_view name) {
  std::string body;
  json::Writer out(body);
  out.begin_object();
  write_download(out, row, name);
  out.end_object();
  return body;
}

std::string plan_body(const downloads::Plan& plan, std::uint64_t memory, std::string_view called) {
  std::string body;
  json::Writer out(body);
  out.begin_object().field("model_name", called).field("checkpoint", plan.checkpoint).field("repo", plan.repo);
  write_source(out, plan.at);
  out.field("variant", plan.tag).key("files").begin_array();
  for (const auto& file : plan.files) {
    out.begin_object().field("path", file.path).field("size", file.size);
    out.field("here", file.here == file.size).end_object();
  }
  out.end_array();
  const auto total = plan.bytes(), here = plan.bytes_here(), needs = downloads::memory_by_size(total);
  out.field("bytes_total", total).field("bytes_to_fetch", total - here);
  out.key("disk").begin_object().field("path", plan.cache.native()).field("needed_bytes", plan.disk_needed());
  out.field("keep_free_bytes", plan.keep_free).field("free_bytes", plan.free_disk);
  out.field("fits", plan.fits_disk()).end_object();
  out.key("memory").begin_object().field("bytes", needs).field("have_bytes", memory);
  out.field("fits", needs <= memory).field("by", "size").end_object().end_object();
  return body;
}

std::string variants_body(const downloads::Listing& listing, std::string_view checkpoint, std::uint64_t memory,
                          const std::filesystem::path& cache, std::uint64_t free_disk) {
  const auto variants = downloads::variants_of(listing.tree);
  const downloads::RepoFolder folder(cache, listing.repo);
  const auto* largest = downloads::largest_within(variants, downloads::size_for_memory(memory));
  const auto usual = downloads::choose(listing.tree, listing.repo, {}, {});
  std::string body;
  json::Writer out(body);
  out.begin_object().field("checkpoint", checkpoint).field("recipe", "llamacpp").field("source", "huggingface");
  const auto slash = listing.repo.rfind('/');
  out.field("suggested_name", slash == std::string::npos ? listing.repo : listing.repo.substr(slash + 1));
  bool sees = false;
  for (const auto& variant : variants) sees = sees || variant.projector;
  out.key("suggested_labels").begin_array().value("chat");
  if (sees) out.value("vision");
  out.end_array();
  const auto tag_or_null = [&](std::string_view key, const downloads::Variant* variant) {
    out.key(key);
    variant != nullptr ? out.value(variant->tag) : out.null();
  };
  tag_or_null("suggested", largest);
  tag_or_null("usual", usual ? &*usual : nullptr);
  write_source(out, listing.at);
  out.key("mmproj_files").begin_array();
  for (const auto& file : listing.tree)
    if (downloads::is_projector_file(file.path)) out.value(file.path);
  out.end_array().field("memory_bytes", memory).field("free_disk_bytes", free_disk);
  out.key("variants").begin_array();
  for (const auto& variant : variants) {
    out.begin_object().field("name", variant.tag).field("primary_file", variant.files.front().path);
    out.key("files").begin_array();
    bool here = true;
    for (const auto& file : variant.in_order()) {
      out.value(file.path);
      here = here && downloads::has_blob(folder, file.oid, file.size);
    }
    out.end_array().field("sharded", variant.files.size() > 1).field("size_bytes", variant.bytes);
    const auto needs = downloads::memory_by_size(variant.bytes);
    out.field("memory_bytes", needs).field("fits", needs <= memory).field("here", here).end_object();
  }
  out.end_array().end_object();
  return body;
}

}  // namespace corral::api
