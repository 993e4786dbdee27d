#include "dialects/form.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "http/errors.h"
#include "http/message.h"
#include "protocol/errors.h"

namespace corral::dialects {
namespace {

constexpr std::size_t kLongestBoundary = 70;  // RFC 2046 §5.1.1

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// The parameter of that name of a field's value: `form-data; name="model"`.
std::optional<std::string_view> parameter(std::string_view value, std::string_view name) {
  while (true) {
    const auto next = value.find(';');
    if (next == std::string_view::npos) return std::nullopt;
    value = trimmed(value.substr(next + 1));
    const auto equals = std::min(value.find('='), value.size());
    const bool wanted = http::same_name(trimmed(value.substr(0, equals)), name);
    value.remove_prefix(std::min(equals + 1, value.size()));
    if (value.starts_with('"')) {
      const auto end = value.find('"', 1);
      if (end == std::string_view::npos) return std::nullopt;
      if (wanted) return value.substr(1, end - 1);
      value.remove_prefix(end + 1);
    } else if (wanted) {
      return trimmed(value.substr(0, value.find(';')));
    }
  }
}

// The value of a header line of that name; empty: there is none.
std::string_view header(std::string_view lines, std::string_view name) {
  while (!lines.empty()) {
    const auto end = std::min(lines.find("\r\n"), lines.size());
    const auto line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const auto colon = line.find(':');
    if (colon != std::string_view::npos && http::same_name(line.substr(0, colon), name))
      return trimmed(line.substr(colon + 1));
  }
  return {};
}

// What was read ahead, then the rest.
class AheadBody final : public http::BodySource {
 public:
  AheadBody(std::string ahead, std::unique_ptr<http::BodySource> rest)
      : ahead_(std::move(ahead)), rest_(std::move(rest)) {}

  async::Task<Result<std::string_view>> read() override {
    if (!std::exchange(given_, true) && !ahead_.empty()) co_return std::string_view(ahead_);
    if (!ahead_.empty()) ahead_ = std::string();
    co_return co_await rest_->read();
  }
  void abort() override { rest_->abort(); }
  std::optional<std::uint64_t> length() const override { return rest_->length(); }

 private:
  std::string ahead_;
  const std::unique_ptr<http::BodySource> rest_;
  bool given_ = false;
};

}  // namespace

std::optional<std::string> boundary_of(std::string_view content_type) {
  if (!http::same_name(trimmed(content_type.substr(0, content_type.find(';'))), "multipart/form-data"))
    return std::nullopt;
  const auto boundary = parameter(content_type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kLongestBoundary) return std::nullopt;
  return std::string(*boundary);
}

void FormScan::look(std::string_view form) {
  const auto first = std::string_view(delimiter_).substr(2);  // nothing stands before it, not even the end of a line
  if (!begun_ && form.size() >= first.size() + 2) {
    if (!form.starts_with(first)) {
      ended_ = true;
      return;
    }
    begun_ = true;
    part_ = searched_ = first.size() + 2;
  }
  while (begun_ && !ended_) {
    const auto end = form.find(delimiter_, searched_);
    if (end == std::string_view::npos) {
      searched_ = std::max(part_, form.size() - std::min(form.size(), delimiter_.size() - 1));
      return;
    }
    searched_ = end;
    const auto behind = end + delimiter_.size();
    if (form.size() < behind + 2) return;
    take_part(form.substr(part_, end - part_));
    ended_ = form.substr(behind, 2) == "--";
    part_ = searched_ = behind + 2;
  }
}

void FormScan::take_part(std::string_view part) {
  const auto gap = part.find("\r\n\r\n");
  if (gap == std::string_view::npos || part.size() - gap > kLongestField + 4) return;
  const auto about = header(part.substr(0, gap), "Content-Disposition");
  const auto name = parameter(about, "name");
  if (name == wanted_ && !value_ && !parameter(about, "filename")) value_ = part.substr(gap + 4);
}

async::Task<Result<Form>> find_in_form(std::string content_type, std::unique_ptr<http::BodySource> body,
                                       std::string name, std::size_t limit) {
  const auto boundary = boundary_of(content_type);
  if (!boundary || !body) {
    co_return fail(protocol::errc::bad_value,
                   "the body must be a form: 'Content-Type: multipart/form-data; boundary=...'", "Content-Type");
  }
  FormScan scan(*boundary, name);
  std::string ahead;
  while (!scan.ended() && !scan.value()) {
    const auto piece = co_await body->read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) break;
    if (ahead.size() + piece->size() > limit) {
      co_return fail(http::errc::too_large,
                     fmt::format("'{}' didn't come within {} bytes of the form: put it before the files", name, limit),
                     name);
    }
    ahead.append(*piece);
    scan.look(ahead);
  }
  co_return Form{scan.value().value_or(std::string()), std::make_unique<AheadBody>(std::move(ahead), std::move(body))};
}

}  // namespace corral::dialects
