#include <algorithm>
#include <random>
#include <stdexcept>

#include <fmt/format.h>

#include "base/excerpt.h"
#include "engine_server/errors.h"
#include "engine_server/templates/nesting.h"
#include "engine_server/templates/parser_spec.h"

namespace corral::engine_server {
namespace {

std::string random_id() {
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  thread_local std::mt19937_64 random{std::random_device{}()};
  std::string id(32, '\0');
  for (auto& c : id) c = kLetters[random() % kLetters.size()];
  return id;
}

// The library takes 1,750 bytes of stack for each bracket in another one, where it reads JSON.
constexpr std::size_t kReadingStack = 4096;

// Reads the end of the prompt and the answer as one text. Throws what the library throws.
common_chat_msg read(const std::string& text, bool partial, const common_chat_parser_params& params) {
  const auto levels = open_brackets(params.generation_prompt) + open_brackets(text);
  common_chat_msg message;
  with_stack_for(levels, kReadingStack, [&] { message = common_chat_parse(text, partial, params); });
  return message;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

}  // namespace

// The library parses the whole answer again each time, which gets slower with every token. If new text can only
// continue the last part (no tool calls possible, no tag that could begin, nothing held back), it is appended directly.
// Otherwise each new byte adds a budget of so many parsed bytes, and an answer starts with a base budget. So short
// answers are parsed at every piece, one of 64 KiB at each half KiB, and the total work is linear in the length of the
// answer.
constexpr std::uint64_t kReadForEach = 128;
constexpr std::uint64_t kReadAtFirst = 4 << 20;

struct ChatParser::Impl {
  std::shared_ptr<const ParserSpec> spec;
  common_chat_parser_params params;
  std::string text;       // the answer so far
  common_chat_msg known;  // its parsed form
  std::uint64_t may_read = kReadAtFirst;
  std::uint64_t has_read = 0;
  std::vector<std::string> call_ids;
  protocol::ChatMessage message;

  // Bytes in which an end tag could begin.
  std::size_t tag_window() const {
    std::size_t longest = 1;
    for (const auto& tag : spec->end_tags) longest = std::max(longest, tag.size());
    return longest;
  }

  bool tag_possible(std::size_t from) const {
    const auto begin = from > tag_window() ? from - tag_window() : 0;
    const auto tail = std::string_view(text).substr(begin);
    for (const auto& tag : spec->end_tags) {
      if (!tag.empty() && tail.find(tag.front()) != std::string_view::npos) return true;
    }
    return tail.find('<') != std::string_view::npos || tail.find('[') != std::string_view::npos;
  }

  // Whether `added` bytes at the end of the text continue `part`, the last one that has anything in it.
  bool continues(const std::string& part, std::size_t added) const {
    constexpr std::size_t kCompared = 64;
    const auto before = std::string_view(text).substr(0, text.size() - added);
    const auto length = std::min(part.size(), kCompared);
    return length > 0 && before.ends_with(std::string_view(part).substr(part.size() - length));
  }

  bool push_fast(std::string_view added, std::vector<protocol::ChatDelta>& deltas) {
    if (spec->has_tools || added.empty() || is_space(added.back())) return false;
    if (!known.content.empty()) {
      if (!continues(known.content, added.size())) return false;
      known.content.append(added);
      deltas.push_back({.content = std::string(added)});
      return true;
    }
    if (known.reasoning_content.empty() || spec->end_tags.empty()) return false;
    if (tag_possible(text.size() - added.size()) || !continues(known.reasoning_content, added.size())) return false;
    known.reasoning_content.append(added);
    deltas.push_back({.reasoning_content = std::string(added)});
    return true;
  }

  void parse_end(bool cut_off, std::vector<protocol::ChatDelta>& deltas) {
    try {
      return parse(false, deltas);
    } catch (const std::exception&) {
      if (!cut_off) throw;
    }
    parse(true, deltas);
  }

  void parse(bool partial, std::vector<protocol::ChatDelta>& deltas) {
    has_read += text.size();
    auto now = read(text, partial, params);
    if (now.empty()) return;
    now.set_tool_call_ids(call_ids, random_id);
    for (auto& diff : common_chat_msg_diff::compute_diffs(known, now)) {
      protocol::ChatDelta delta{.content = std::move(diff.content_delta),
                                .reasoning_content = std::move(diff.reasoning_content_delta)};
      if (diff.tool_call_index != std::string::npos) {
        delta.tool_index = static_cast<std::uint32_t>(diff.tool_call_index);
        auto& call = diff.tool_call_delta;
        delta.tool = {std::move(call.id), std::move(call.name), std::move(call.arguments)};
      }
      deltas.push_back(std::move(delta));
    }
    known = std::move(now);
  }
};

ChatParser::ChatParser(std::shared_ptr<const ParserSpec> spec, bool stream) : impl_(std::make_unique<Impl>()) {
  impl_->params = spec->params;
  impl_->params.reasoning_in_content = stream && spec->legacy_reasoning;
  impl_->spec = std::move(spec);
  if (!impl_->params.is_continuation || impl_->params.echo) return;
  try {
    impl_->known = read({}, true, impl_->params);
  } catch (const std::exception&) {
    // As in push(): nothing is known yet.
  }
}
ChatParser::~ChatParser() = default;
ChatParser::ChatParser(ChatParser&&) noexcept = default;
ChatParser& ChatParser::operator=(ChatParser&&) noexcept = default;

void ChatParser::append(std::string_view text) { impl_->text.append(text); }

void ChatParser::push(std::string_view text, std::vector<protocol::ChatDelta>& deltas) {
  impl_->text.append(text);
  impl_->may_read += kReadForEach * text.size();
  if (impl_->push_fast(text, deltas)) return;
  if (impl_->may_read < impl_->text.size()) return;  // later text will parse it
  impl_->may_read -= impl_->text.size();
  try {
    impl_->parse(true, deltas);
  } catch (const std::exception&) {
    // The text matches no rule yet: later text decides, and finish() reports what stays unreadable.
  }
}

Result<> ChatParser::finish(std::vector<protocol::ChatDelta>& deltas, bool cut_off) {
  try {
    impl_->parse_end(cut_off, deltas);
  } catch (const std::exception& thrown) {
    return fail(errc::answer_unreadable,
                fmt::format("the output of the model cannot be parsed: {}", excerpt(thrown.what())));
  }
  const auto& known = impl_->known;
  impl_->message.content = known.render_content();
  impl_->message.reasoning_content = known.reasoning_content;
  for (const auto& call : known.tool_calls) impl_->message.tool_calls.push_back({call.id, call.name, call.arguments});
  return {};
}

std::uint64_t ChatParser::read_bytes() const { return impl_->has_read; }

const protocol::ChatMessage& ChatParser::message() const { return impl_->message; }

}  // namespace corral::engine_server
