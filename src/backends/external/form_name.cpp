#include "backends/external/form_name.h"

#include <algorithm>

#include "dialects/form.h"

namespace corral::backends {
namespace {

constexpr std::size_t kLongestHead = 16 * 1024;
constexpr std::size_t kLongestName = 4096;
constexpr std::size_t kReadAhead = 64 * 1024;

// Whether the lines of a part are those of the field "model", and of no file.
bool says_model(std::string lines) {
  std::ranges::transform(lines, lines.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (lines.contains("filename")) return false;
  return lines.contains("name=\"model\"") || lines.ends_with("name=model") || lines.contains("name=model\r\n") ||
         lines.contains("name=model;");
}

std::string delimiter_of(std::string_view content_type) {
  const auto boundary = dialects::boundary_of(content_type);
  return boundary ? "\r\n--" + *boundary : std::string();
}

}  // namespace

RenamedForm::RenamedForm(http::BodySource& form, std::string_view content_type, std::string name)
    : form_(form),
      delimiter_(delimiter_of(content_type)),
      name_(std::move(name)),
      state_(name_.empty() || delimiter_.empty() ? State::passing : State::outside) {
  // Unlike the others, the first delimiter has no line end before it.
  if (state_ == State::outside) held_ = "\r\n";
}

async::Task<Result<>> RenamedForm::find() {
  while (state_ != State::passing && ready_.size() + held_.size() < kReadAhead) {
    auto pulled = co_await pull();
    if (!pulled) co_return pulled;
  }
  co_return Result<>();
}

std::optional<std::uint64_t> RenamedForm::length() const {
  const auto length = form_.length();
  if (!length || state_ != State::passing) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(*length) + longer_);
}

async::Task<Result<>> RenamedForm::pull() {
  const auto piece = co_await form_.read();
  if (!piece) co_return std::unexpected(piece.error());
  if (piece->empty()) {
    ended_ = true;
    state_ = State::passing;
  }
  held_.append(*piece);
  advance();
  co_return Result<>();
}

async::Task<Result<std::string_view>> RenamedForm::read() {
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

void RenamedForm::advance() {
  const auto pass = [this](std::size_t bytes) {
    ready_.append(held_, 0, bytes);
    held_.erase(0, bytes);
    if (!begun_ && ready_.size() >= 2) {
      ready_.erase(0, 2);
      begun_ = true;
    }
  };
  while (state_ != State::passing) {
    if (state_ == State::outside) {
      const auto at = held_.find(delimiter_);
      if (at == std::string::npos) return pass(held_.size() - std::min(held_.size(), delimiter_.size() - 1));
      pass(at + delimiter_.size());
      state_ = State::in_head;
    } else if (state_ == State::in_head) {
      const auto end = held_.find("\r\n\r\n");
      if (held_.starts_with("--") || (end == std::string::npos && held_.size() > kLongestHead)) {
        state_ = State::passing;
      } else if (end == std::string::npos) {
        return;
      } else {
        const bool wanted = says_model(held_.substr(0, end));
        // In a part without a value, the delimiter follows the head directly.
        pass(end + 2);
        state_ = wanted ? State::in_value : State::outside;
      }
    } else {
      const auto at = held_.find(delimiter_);
      if (at == std::string::npos) {
        if (held_.size() <= kLongestName) return;
      } else {
        // "\r\n" of the empty line, then the value.
        held_.erase(0, at);
        ready_.append("\r\n").append(name_);
        longer_ = static_cast<std::int64_t>(name_.size() + 2) - static_cast<std::int64_t>(at);
      }
      state_ = State::passing;
    }
  }
  pass(held_.size());
}

}  // namespace corral::backends
