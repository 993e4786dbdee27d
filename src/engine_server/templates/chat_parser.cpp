#include <algorithm>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>
#include <variant>

#include <chat-peg-parser.h>
#include <fmt/format.h>

#include "base/excerpt.h"
#include "base/utf8.h"
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

using Delimiters = std::vector<std::string>;

// The texts that end this part of an answer, if it runs until one of them; none: it runs to the end of the answer.
// No value: the part has rules of its own, such as those of JSON.
std::optional<Delimiters> delimiters_of(const common_peg_arena& parser, common_peg_parser_id part) {
  for (std::size_t steps = 0; steps < parser.size(); ++steps) {
    const auto& rules = parser.get(part);
    if (const auto* until = std::get_if<common_peg_until_parser>(&rules)) return until->delimiters;
    if (const auto* named = std::get_if<common_peg_rule_parser>(&rules)) {
      part = named->child;
    } else if (const auto* reference = std::get_if<common_peg_ref_parser>(&rules)) {
      part = parser.get_rule(reference->name);
    } else {
      break;
    }
  }
  return std::nullopt;
}

// The same of all parts with this tag.
std::optional<Delimiters> delimiters_of(const common_peg_arena& parser, std::string_view tag) {
  Delimiters all;
  for (common_peg_parser_id id = 0; id < parser.size(); ++id) {
    const auto* tagged = std::get_if<common_peg_tag_parser>(&parser.get(id));
    if (!tagged || tagged->tag != tag) continue;
    const auto delimiters = delimiters_of(parser, tagged->child);
    if (!delimiters || std::ranges::any_of(*delimiters, &std::string::empty)) return std::nullopt;
    all.insert(all.end(), delimiters->begin(), delimiters->end());
  }
  return all;
}

}  // namespace

// The library parses the whole answer again each time, which gets slower with every token. If new text can only
// continue the part that took the text before it (no tool calls possible, no delimiter that could begin), it is
// appended directly. Otherwise each new byte adds a budget of so many parsed bytes, and an answer starts with a base
// budget. So short answers are parsed at every piece, one of 64 KiB at each half KiB, and the total work is linear in
// the length of the answer.
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

  enum class Part { none, content, reasoning };
  Part growing = Part::none;  // the part that took all text between the last two parses
  std::size_t parsed_to = 0;  // bytes of the text that `known` is of
  std::optional<Delimiters> content_ends, reasoning_ends;

  // Whether a delimiter could begin in the last `added` bytes, or before and end in them.
  bool end_possible(const Delimiters& ends, std::size_t added) const {
    std::size_t longest = 0;
    for (const auto& end : ends) longest = std::max(longest, end.size());
    const auto tail = std::string_view(text).substr(text.size() - std::min(text.size(), added + longest));
    return std::ranges::any_of(ends, [&](const auto& end) { return tail.contains(end.front()); });
  }

  bool push_fast(std::string_view added, std::vector<protocol::ChatDelta>& deltas) {
    if (growing == Part::none || added.empty() || parsed_to + added.size() != text.size()) return false;
    const auto& ends = growing == Part::content ? content_ends : reasoning_ends;
    if (!ends || end_possible(*ends, added.size()) || valid_utf8(added) != added) return false;
    auto& delta = deltas.emplace_back();
    if (growing == Part::content) {
      known.content.append(added);
      delta.content = added;
    } else {
      known.reasoning_content.append(added);
      delta.reasoning_content = added;
    }
    parsed_to = text.size();
    return true;
  }

  Part part_that_took(std::string_view added, const std::vector<common_chat_msg_diff>& diffs) const {
    if (spec->has_tools || added.empty() || diffs.size() != 1) return Part::none;
    if (diffs.front().content_delta == added) return Part::content;
    return diffs.front().reasoning_content_delta == added ? Part::reasoning : Part::none;
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
    growing = Part::none;
    auto now = read(text, partial, params);
    if (now.empty()) return;
    now.set_tool_call_ids(call_ids, random_id);
    auto diffs = common_chat_msg_diff::compute_diffs(known, now);
    growing = part_that_took(std::string_view(text).substr(std::exchange(parsed_to, text.size())), diffs);
    for (auto& diff : diffs) {
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
  impl_->content_ends = delimiters_of(impl_->params.parser, common_chat_peg_builder::CONTENT);
  impl_->reasoning_ends = delimiters_of(impl_->params.parser, common_chat_peg_builder::REASONING);
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
