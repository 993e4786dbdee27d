#include "backends/external/sd_requests.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "backends/external/form_fields.h"
#include "dialects/form.h"
#include "json/peek.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::backends {
namespace {

constexpr std::string_view kTag = "sd_cpp_extra_args";
// Fields that it knows itself.
constexpr auto kPlain = std::to_array<std::string_view>({"n", "size", "output_format", "output_compression"});
constexpr std::size_t kMaxBytes = 1 << 20;  // of all fields of a form, which are already checked
constexpr std::string_view kLineEnd = "\r\n", kEndOfHead = "\r\n\r\n";

// Values as texts: without quotes.
using Fields = std::map<std::string, std::string, std::less<>>;

// Without the word of the tag, also if its removal leaves another one.
std::string without_tag(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  for (const char c : text) {
    kept.push_back(c);
    if (kept.ends_with(kTag)) kept.resize(kept.size() - kTag.size());
  }
  return kept;
}

// Its search for the tag takes stack for each character, and escapes make six of one.
std::string without_controls(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  return text;
}

class Parameters {
 public:
  explicit Parameters(const Fields& fields) : fields_(fields), out_(text_) {}

  std::string json(std::uint32_t any_seed) {
    out_.begin_object();
    if (!number("seed", "seed")) out_.field("seed", any_seed);
    text("negative_prompt", "negative_prompt");
    number("strength", "strength");
    out_.key("sample_params").begin_object();
    number("steps", "sample_steps");
    text("sampler", "sample_method");
    text("scheduler", "scheduler");
    out_.key("guidance").begin_object();
    number("cfg_scale", "txt_cfg");
    out_.end_object().end_object().end_object();
    return text_;
  }

 private:
  bool number(std::string_view field, std::string_view name) {
    const auto found = fields_.find(field);
    if (found == fields_.end() || !dialects::is_json_number(found->second)) return false;
    out_.key(name).raw(found->second);
    return true;
  }
  void text(std::string_view field, std::string_view name) {
    const auto found = fields_.find(field);
    if (found != fields_.end()) out_.field(name, without_controls(without_tag(found->second)));
  }

  const Fields& fields_;
  std::string text_;
  json::Writer out_;
};

// The tag comes first: only the first one counts.
std::string prompt_of(const Fields& fields, std::uint32_t any_seed) {
  const auto found = fields.find("prompt");
  const auto prompt = found == fields.end() ? std::string() : without_tag(found->second);
  return fmt::format("<{}>{}</{}>{}", kTag, Parameters(fields).json(any_seed), kTag, prompt);
}

std::unexpected<Error> not_a_form() {
  return fail(protocol::errc::bad_value, "the form is not readable: its fields must come before its files");
}

}  // namespace

std::uint32_t random_seed() {
  std::random_device random;
  return random() >> 1;
}

std::string sd_body(std::string_view body, std::uint32_t any_seed) {
  const auto peek = json::Peek::open(std::string(body));
  if (!peek || !peek->root().is_object()) return std::string(body);
  Fields fields;
  peek->root().each_member([&](std::string_view name, json::View value) {
    if (!value.is_null())
      fields.insert_or_assign(std::string(name), value.is_string() ? std::string(value.as_string()) : value.text());
  });
  std::string theirs;
  json::Writer out(theirs);
  out.begin_object().field("prompt", prompt_of(fields, any_seed));
  for (const auto name : kPlain) {
    const auto found = fields.find(name);
    if (found == fields.end()) continue;
    out.key(name);
    dialects::is_json_number(found->second) ? out.raw(found->second) : out.value(found->second);
  }
  out.end_object();
  return theirs;
}

SdForm::SdForm(http::BodySource& form, std::string_view content_type, std::uint32_t any_seed)
    : form_(form), delimiter_(delimiter_of(content_type)), any_seed_(any_seed) {}

async::Task<Result<>> SdForm::find() {
  if (delimiter_.empty()) co_return not_a_form();
  Fields fields;
  while (!is_found_) {
    if (next_field(fields)) continue;
    if (is_found_) break;
    if (held_.size() > kMaxBytes) co_return not_a_form();
    const auto piece = co_await form_.read();
    if (!piece) co_return std::unexpected(piece.error());
    if (piece->empty()) co_return not_a_form();
    held_.append(*piece);
  }
  auto text = written(fields);
  longer_ = static_cast<std::int64_t>(text.size()) - static_cast<std::int64_t>(at_);
  // The line end before the delimiter is that of the last field.
  held_.replace(0, at_ + kLineEnd.size(), text);
  co_return Result<>();
}

bool SdForm::next_field(Fields& fields) {
  const auto rest = std::string_view(held_).substr(at_);
  if (rest.size() < delimiter_.size() + kLineEnd.size()) return false;
  if (!rest.starts_with(delimiter_)) return false;  // not a form; more bytes don't help, and their number is limited
  const auto behind = rest.substr(delimiter_.size());
  const auto end = behind.find(kEndOfHead);
  const bool is_last = behind.starts_with("--");
  if (!is_last && end == behind.npos) return false;
  const auto head = is_last ? std::string_view() : behind.substr(0, end);
  const auto name = is_last ? std::string() : form_field_of(head);
  is_found_ = name.empty();
  if (is_found_) return false;
  // A part without a value: the delimiter follows the head directly.
  const auto line = end + kLineEnd.size();
  const auto next = behind.find(delimiter_, line);
  if (next == behind.npos) return false;
  const auto value = end + kEndOfHead.size();
  if (next >= value) fields.insert_or_assign(name, std::string(behind.substr(value, next - value)));
  at_ += delimiter_.size() + next;
  return true;
}

std::string SdForm::written(const Fields& fields) const {
  const auto boundary = std::string_view(delimiter_).substr(kLineEnd.size());
  std::string text;
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("{}\r\nContent-Disposition: form-data; name=\"{}\"\r\n\r\n{}\r\n", boundary, name, value);
  };
  add("prompt", prompt_of(fields, any_seed_));
  for (const auto name : kPlain) {
    const auto found = fields.find(name);
    if (found != fields.end()) add(name, found->second);
  }
  return text;
}

async::Task<Result<std::string_view>> SdForm::read() {
  if (!held_.empty()) {
    given_ = std::exchange(held_, {});
    co_return std::string_view(given_);
  }
  co_return co_await form_.read();
}

std::optional<std::uint64_t> SdForm::length() const {
  const auto length = form_.length();
  if (!length) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(*length) + longer_);
}

}  // namespace corral::backends
