// Bodies and answers of the Responses dialect. What is read is a canonical request that its table takes; what is told
// is valid JSON, and events in their order, numbered, whatever the backend says.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "dialects/responses/kept_items.h"
#include "dialects/responses/read.h"
#include "dialects/responses/response_translator.h"
#include "http/sse.h"
#include "json/peek.h"
#include "protocol/errors.h"
#include "protocol/fields.h"
#include "protocol/responses/responses_fields.h"

namespace {

using namespace corral;

void must(bool fine) {
  if (!fine) std::abort();
}

bool is_json(const std::string& text) { return json::Peek::open(text).has_value(); }

bool ends(std::string_view name) {
  return name == "response.completed" || name == "response.incomplete" || name == "response.failed";
}

// Every event says its name twice and has the next number, items don't overlap, and nothing follows the last one.
void check_stream(const std::string& stream, bool failed) {
  std::int64_t number = 0, items = 0;
  bool open = false, ended = false;
  http::SseParser parser([&](std::string_view name, std::string_view data) {
    const std::string text(data);
    const auto peek = json::Peek::open(text);
    must(peek.has_value());
    const auto root = peek->root();
    must(root.find("type").as_string() == name);
    must(root.find("sequence_number").as_integer() == number);
    must((number == 0) == (name == "response.created"));
    must((number == 1) == (name == "response.in_progress"));
    ++number;
    must(!ended);
    if (name == "response.output_item.added") {
      must(!std::exchange(open, true));
      must(root.find("output_index").as_integer() == items);
    }
    if (name.ends_with(".delta")) must(open);
    if (name == "response.output_item.done") {
      must(std::exchange(open, false));
      must(root.find("output_index").as_integer() == items++);
    }
    if (ends(name)) {
      must((name == "response.failed") == failed);
      must(failed || !open);
      ended = true;
    }
  });
  parser.feed(stream);
  must(ended);
  const auto last = dialects::responses::last_answer(stream);
  must(last && is_json(std::string(last->doc)) && (last->status == "failed") == failed);
}

}  // namespace

// Whatever was kept, what is made of it is a canonical request, and what is kept of that is JSON.
void check_kept(const std::string& body, const std::string& earlier) {
  using namespace dialects::responses;
  dialects::Before before{.id = "req-1", .keeps = true};
  const auto first = read_response_on(body, before);
  if (!first) return;
  before.found = true;
  // What is kept has been looked at when it came.
  const bool fine = is_json(earlier) && protocol::check(R"({"input":)" + earlier + "}", protocol::responses_fields());
  if (fine) before.earlier = {earlier};
  for (const auto& item : first->storage->references) before.items[item] = R"({"role":"assistant","content":"kept"})";
  const auto asked = read_response_on(body, before);
  if (!asked) return must(!asked.error().message.empty());
  must(protocol::check(asked->body, protocol::chat_fields()).has_value());
  must(asked->storage->input.empty() || is_json(asked->storage->input));
  for (const auto& item : items_in(asked->storage->input)) must(is_json(item.doc) && !item.id.empty());
  must(is_json(response_document(*asked, "queued")));
}

// A body, and behind the first zero byte answers, each ended by a zero byte.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto zero = std::min(input.find('\0'), input.size());
  const std::string body(input.substr(0, zero));
  for (auto* read : {dialects::responses::read_response, dialects::responses::read_response_count}) {
    const auto asked = read(body);
    if (asked) must(protocol::check(asked->body, protocol::chat_fields()).has_value());
    must(asked || !asked.error().message.empty());
  }
  check_kept(body, std::string(input.substr(std::min(zero + 1, input.size()))));
  auto asked = dialects::responses::read_response(body);
  if (!asked) {
    asked = dialects::responses::read_response(
        R"({"input":"x","tools":[{"type":"custom","name":"c"},{"type":"function","name":"f"}]})");
  }
  must(asked.has_value());
  // Told twice, since a stream ends in one way only.
  for (const bool fails : {false, true}) {
    auto rest = input.substr(std::min(zero + 1, input.size()));
    const auto translator = dialects::responses::make_response_translator(*asked);
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
      must(is_json(dialects::responses::make_response_translator(*asked)->whole(*piece)));
    }
    if (fails) {
      translator->failure(stream, {make_error_code(protocol::errc::bad_value), body});
    } else {
      translator->end(stream);
    }
    check_stream(stream, fails);
  }
  return 0;
}
