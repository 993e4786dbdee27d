#include "api/ollama/pull.h"

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "api/supply/pulling.h"
#include "dialects/error_filter.h"
#include "json/writer.h"

namespace corral::api::ollama {
namespace {

constexpr Millis kLineInterval{1'000};
constexpr std::size_t kShownDigits = 12;

std::string status_line(std::string_view word) { return fmt::format("{{\"status\":\"{}\"}}\n", word); }

std::string file_line(const downloads::FileView& file) {
  std::string line;
  json::Writer out(line);
  out.begin_object().field("status", fmt::format("pulling {}", file.oid.substr(0, kShownDigits)));
  out.field("digest", fmt::format("sha256:{}", file.oid)).field("total", file.size).field("completed", file.done);
  out.end_object();
  return line + "\n";
}

std::string error_line(const Error& error) {
  std::string line;
  json::Writer out(line);
  out.begin_object().field("error", error.message).end_object();
  return line + "\n";
}

class PullLines final : public http::BodySource {
 public:
  explicit PullLines(std::unique_ptr<Pull> pull) : pull_(std::move(pull)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!pull_) co_return std::string_view();
    text_.clear();
    if (!std::exchange(begun_, true)) {
      text_ = status_line("pulling manifest");
      co_return text_;
    }
    if (std::exchange(sent_, true)) co_await pull_->next(kLineInterval);
    add_files();
    if (!pull_->ended()) {
      if (text_.empty()) text_ = status_line("pulling manifest");
      co_return text_;
    }
    const auto name = co_await pull_->result();
    if (name) {
      text_ += status_line("verifying sha256 digest") + status_line("writing manifest") + status_line("success");
    } else {
      text_ += error_line(name.error());
    }
    pull_.reset();
    co_return text_;
  }

 private:
  // Files with progress since their last line; the last file if there are none, so that a line is sent.
  void add_files() {
    const auto& files = pull_->row().view.files;
    for (const auto& file : files) {
      const auto [known, fresh] = sent_bytes_.try_emplace(file.path, file.done);
      if (fresh || std::exchange(known->second, file.done) != file.done) text_ += file_line(file);
    }
    if (text_.empty() && !files.empty()) text_ = file_line(files.back());
  }

  std::unique_ptr<Pull> pull_;
  std::map<std::string, std::uint64_t> sent_bytes_;  // bytes of each file
  std::string text_;
  bool begun_ = false, sent_ = false;
};

}  // namespace

std::string source_of(std::string name) {
  const bool elsewhere = name.find('/') != std::string::npos;
  return elsewhere ? name : fmt::format("ollama.com/library/{}", name);
}

async::Task<http::Response> pull(SupplyContext& context, std::string name, bool streams) {
  PullRequest wanted{.source = source_of(std::move(name))};
  auto plan = co_await Pull::plan(context, wanted.source);
  if (!plan) co_return dialects::error_response(plan.error());
  auto pull = co_await Pull::begin(context, std::move(wanted), std::move(*plan));
  if (!pull) co_return dialects::error_response(pull.error());
  auto& pulling = **pull;
  co_await pulling.first();
  if (pulling.row().view.state == downloads::DownloadState::failed && pulling.row().view.error)
    co_return dialects::error_response(*pulling.row().view.error);
  if (streams) {
    auto response = http::Response::text(200, "application/x-ndjson", "");
    response.body = http::Body(std::make_unique<PullLines>(std::move(*pull)));
    co_return response;
  }
  while (!pulling.ended()) co_await pulling.next(kLineInterval);
  const auto ended = co_await pulling.result();
  if (!ended) co_return dialects::error_response(ended.error());
  co_return http::Response::json(200, R"({"status":"success"})");
}

}  // namespace corral::api::ollama
