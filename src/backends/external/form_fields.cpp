#include "backends/external/form_fields.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "dialects/form.h"
#include "json/peek.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLongestHead = 16 * 1024;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kReadAhead = 64 * 1024;
constexpr std::string_view kLineEnd = "\r\n", kEndOfHead = "\r\n\r\n";

std::string value_text(const std::string& json) {
  const auto peek = json::Peek::open(json);
  return peek && peek->root().is_string() ? std::string(peek->root().as_string()) : json;
}

}  // namespace

std::string delimiter_of(std::string_view content_type) {
  const auto boundary = dialects::boundary_of(content_type);
  return boundary ? "\r\n--" + *boundary : std::string();
}

std::string form_field_of(std::string_view head) {
  const std::string lower = to_lower(head);
  if (lower.contains("filename")) return {};
  const auto at = lower.find("name=");
  if (at == lower.npos) return {};
  auto rest = head.substr(at + std::string_view("name=").size());
  const bool quoted = rest.starts_with('"');
  if (quoted) rest.remove_prefix(1);
  return std::string(rest.substr(0, rest.find_first_of(quoted ? "\"" : "; \t\r\n")));
}

ChangedForm::ChangedForm(http::BodySource& form, std::string_view content_type, FormChanges changes)
    : form_(form), delimiter_(delimiter_of(content_type)), changes_(std::move(changes)) {
  const bool nothing = changes_.model.empty() && changes_.strip.empty() && changes_.set.empty();
  state_ = nothing || delimiter_.empty() ? State::passing : State::outside;
  // Unlike the others, the first delimiter has no line end before it.
  if (state_ == State::outside) held_ = kLineEnd;
  if (state_ == State::outside) longer_ = static_cast<std::int64_t>(kLineEnd.size());
}

async::Task<Result<>> ChangedForm::find() {
  while (state_ != State::passing && ready_.size() + held_.size() < kReadAhead) {
    auto pulled = co_await pull();
    if (!pulled) co_return pulled;
  }
  co_return Result<>();
}

std::optional<std::uint64_t> ChangedForm::length() const {
  const auto length = form_.length();
  if (!length || state_ != State::passing) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(*length) + longer_);
}

async::Task<Result<>> ChangedForm::pull() {
  const auto piece = co_await form_.read();
  if (!piece) co_return std::unexpected(piece.error());
  held_.append(*piece);
  if (piece->empty()) {
    ended_ = true;
    // A part that isn't complete passes, unless it was being removed.
    if (state_ == State::dropping) drop(held_.size());
    state_ = State::passing;
  }
  advance();
  co_return Result<>();
}

async::Task<Result<std::string_view>> ChangedForm::read() {
  while (ready_.empty() && state_ != State::passing) {
    const auto pulled = co_await pull();
    if (!pulled) co_return std::unexpected(pulled.error());
  }
  if (ready_.empty()) {
    if (ended_) co_return std::string_view();
    co_return co_await form_.read();
  }
  given_ = std::exchange(ready_, {});
  co_return std::string_view(given_);
}

void ChangedForm::put(std::string_view text) {
  longer_ += static_cast<std::int64_t>(text.size());
  ready_.append(text);
  if (begun_ || ready_.size() < kLineEnd.size()) return;
  ready_.erase(0, kLineEnd.size());
  longer_ -= static_cast<std::int64_t>(kLineEnd.size());
  begun_ = true;
}

void ChangedForm::drop(std::size_t bytes) {
  longer_ -= static_cast<std::int64_t>(bytes);
  held_.erase(0, bytes);
}

void ChangedForm::pass(std::size_t bytes) {
  put(std::string_view(held_).substr(0, bytes));
  drop(bytes);
}

bool ChangedForm::is_dropped(std::string_view field) const {
  // Clients send lists as NAME[].
  if (field.ends_with("[]")) field.remove_suffix(2);
  return !field.empty() && (std::ranges::find(changes_.strip, field) != changes_.strip.end() ||
                            changes_.set.contains(std::string(field)));
}

// Moves to the next delimiter, which stays in `held_` until the head behind it is complete. False: more is needed.
bool ChangedForm::skip_value() {
  const auto at = held_.find(delimiter_);
  const auto skipped = at == std::string::npos ? held_.size() - std::min(held_.size(), delimiter_.size() - 1) : at;
  state_ == State::dropping ? drop(skipped) : pass(skipped);
  if (at == std::string::npos) return false;
  for (const auto& [name, value] : changes_.set) {
    if (is_set_) break;
    put(fmt::format("{}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{}", delimiter_, name,
                    value_text(value)));
  }
  is_set_ = true;
  state_ = State::in_head;
  return true;
}

bool ChangedForm::read_head() {
  const auto behind = std::string_view(held_).substr(delimiter_.size());
  const auto end = held_.find(kEndOfHead, delimiter_.size());
  if (behind.starts_with("--") || (end == std::string::npos && behind.size() > kLongestHead)) {
    state_ = State::passing;
    return true;
  }
  if (end == std::string::npos) return false;
  const auto field = form_field_of(behind.substr(0, end - delimiter_.size()));
  const bool dropped = is_dropped(field);
  const bool is_model = field == "model" && !changes_.model.empty();
  // The line end stays: in a part without a value, the delimiter follows the head directly.
  const auto bytes = end + kLineEnd.size();
  dropped ? drop(bytes) : pass(bytes);
  state_ = dropped ? State::dropping : is_model ? State::in_value : State::outside;
  return true;
}

bool ChangedForm::replace_value() {
  const auto at = held_.find(delimiter_);
  if (at == std::string::npos && held_.size() <= kLongestName) return false;
  if (at != std::string::npos) {
    // The line end of the empty line, then the value.
    drop(at);
    put(kLineEnd);
    put(changes_.model);
  }
  const bool more = !changes_.strip.empty() || !changes_.set.empty();
  state_ = more ? State::outside : State::passing;
  return true;
}

void ChangedForm::advance() {
  while (state_ != State::passing) {
    const bool moved = state_ == State::in_head    ? read_head()
                       : state_ == State::in_value ? replace_value()
                                                   : skip_value();
    if (!moved) return;
  }
  pass(held_.size());
}

}  // namespace corral::backends
