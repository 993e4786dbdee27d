// Bodies and answers of Anthropic's dialect. What is read is a canonical request that its table takes; what is told is
// valid JSON, and events in their order, whatever the backend says.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "dialects/anthropic/count_translator.h"
#include "dialects/anthropic/message_translator.h"
#include "dialects/anthropic/read.h"
#include "http/sse.h"
#include "json/peek.h"
#include "protocol/errors.h"
#include "protocol/fields.h"

namespace {

using namespace corral;

void must(bool fine) {
  if (!fine) std::abort();
}

bool is_json(const std::string& text) { return json::Peek::open(text).has_value(); }

// Every event says its name twice, blocks don't overlap, and nothing follows `last`.
void check_stream(const std::string& stream, std::string_view last) {
  bool started = false, open = false, stopped = false;
  http::SseParser parser([&](std::string_view name, std::string_view data) {
    const std::string text(data);
    const auto peek = json::Peek::open(text);
    must(peek && peek->root().find("type").as_string() == name);
    must(!stopped);
    must(started || name == "message_start" || name == "error");
    if (name == "message_start") must(!std::exchange(started, true));
    if (name == "content_block_start") must(!std::exchange(open, true));
    if (name == "content_block_delta") must(open);
    if (name == "content_block_stop") must(std::exchange(open, false));
    if (name == "message_delta") must(!open);
    if (name == "message_stop" || name == "error") must(name == last);
    if (name == last) stopped = true;
  });
  parser.feed(stream);
  must(stopped);
}

}  // namespace

// A body, and behind the first zero byte answers, each ended by a zero byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto zero = std::min(input.find('\0'), input.size());
  const std::string body(input.substr(0, zero));
  for (auto* read : {dialects::anthropic::read_message, dialects::anthropic::read_count}) {
    const auto asked = read(body);
    if (asked) must(protocol::check(asked->body, protocol::chat_fields()).has_value());
    must(asked || !asked.error().message.empty());
  }
  auto asked = dialects::anthropic::read_message(body);
  if (!asked) {
    asked = dialects::anthropic::read_message(
        R"({"max_tokens":9,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"x"}]})");
  }
  auto rest = input.substr(std::min(zero + 1, input.size()));
  const auto translator = dialects::anthropic::make_message_translator(*asked);
  std::string stream;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\0'), rest.size());
    const auto piece = protocol::read_answer(std::string(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (!piece) {
      translator->ping(stream);
      continue;
    }
    translator->piece(stream, *piece);
    must(is_json(dialects::anthropic::make_message_translator(*asked)->whole(*piece)));
    must(is_json(dialects::anthropic::make_count_translator(*asked)->whole(*piece)));
  }
  auto broken = stream;
  dialects::anthropic::make_message_translator(*asked)->failure(broken,
                                                                {make_error_code(protocol::errc::bad_value), body});
  check_stream(broken, "error");
  translator->end(stream);
  check_stream(stream, "message_stop");
  return 0;
}
