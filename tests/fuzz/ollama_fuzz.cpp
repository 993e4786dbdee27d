// Bodies of Ollama's API: what is taken becomes a request that the engine takes as well, and its answer can be told.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dialects/dialect.h"
#include "json/peek.h"
#include "protocol/answers/piece.h"
#include "protocol/errors.h"
#include "protocol/requests.h"

namespace {

using namespace corral;

bool engine_takes(protocol::Ask ask, const std::string& body) {
  switch (ask) {
    case protocol::Ask::chat:
      return protocol::parse_chat_request(body).has_value();
    case protocol::Ask::completion:
      return protocol::parse_completion_request(body).has_value();
    default:
      return protocol::parse_embedding_request(body).has_value();
  }
}

// Each line by itself is JSON.
void check_lines(std::string_view text) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    if (!json::Peek::open(std::string(text.substr(0, end)))) std::abort();
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// The rest of the input as what a model said, and as arguments that it called something with.
void translate(const dialects::Endpoint& endpoint, const dialects::Canonical& asked, const std::string& text) {
  protocol::AnswerPiece piece;
  piece.choices.push_back({.content = text, .reasoning = text, .tools = {{.index = 0, .call = {"i", "f", text}}}});
  piece.usage = protocol::Usage{1, 2, 3};
  piece.timings = protocol::Timings{.prompt_ms = 1e300, .predicted_ms = -1};
  check_lines(endpoint.make_translator(asked)->whole(piece));
  std::string out;
  const auto translator = endpoint.make_translator(asked);
  translator->ping(out);
  translator->piece(out, piece);
  translator->piece(out, piece);
  translator->end(out);
  check_lines(out);
  out.clear();
  endpoint.make_translator(asked)->failure(out, Error(make_error_code(protocol::errc::bad_value), text));
  check_lines(out);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const auto& endpoint : dialects::ollama_dialect().endpoints) {
    const auto asked = endpoint.read(text);
    if (!asked) {
      if (asked.error().message.empty()) std::abort();
      continue;
    }
    if (!asked->only_keeps && !engine_takes(asked->ask.value_or(endpoint.ask), asked->body)) std::abort();
    translate(endpoint, *asked, text);
  }
  return 0;
}
