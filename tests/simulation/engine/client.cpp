#include "simulation/engine/client.h"

#include <utility>

#include <fmt/format.h>

#include "engine/schedule/context_shift.h"
#include "engine/values/errors.h"
#include "simulation/engine/fake_parts.h"

namespace corral::engine::simulation {
namespace {

// What a stream said is exactly what the fake model says to the history, from its first token to its last.
std::optional<std::string> wrong_tokens(Reader& reader) {
  std::uint64_t hash = reader.history_hash;
  const auto prompt = static_cast<std::uint32_t>(reader.history.size());
  std::uint32_t discarded = 0;
  std::string text;
  for (const Token& token : reader.tokens) {
    const Token expected = answer_to(hash, kVocabulary);
    if (token != expected)
      return fmt::format("token {} of {} should be {}", &token - reader.tokens.data(), token, expected);
    FakeTokens().append_piece(token, false, text);
    hash = next_hash(hash, token, reader.adapters);
    if (!reader.shift) continue;
    reader.history.push_back(token);
    if (reader.history.size() < reader.n_ctx || discarded == reader.finish->discarded) continue;
    const auto cut = context_cut(
        *reader.shift,
        {.cached = static_cast<std::uint32_t>(reader.history.size()) - 1, .n_ctx = reader.n_ctx, .prompt = prompt});
    if (!cut) return "tokens went where none could";
    const auto from = reader.history.begin() + cut->keep;
    reader.history.erase(from, from + cut->discard);
    discarded += cut->discard;
    hash = kEmptyHash;
    for (const Token left : reader.history) hash = next_hash(hash, left, reader.adapters);
  }
  if (discarded != reader.finish->discarded)
    return fmt::format("{} tokens went, where {} should", reader.finish->discarded, discarded);
  if (text != reader.text) return "the text isn't that of the tokens";
  if (reader.tokens.size() > reader.max) return "more tokens than asked for";
  for (const std::string& stop : reader.stops) {
    if (reader.text.contains(stop)) return fmt::format("the text goes on behind '{}'", stop);
  }
  return std::nullopt;
}

std::optional<std::string> wrong_end(const Reader& reader, std::uint32_t tokens, std::uint32_t max_tokens) {
  const Finish& finish = *reader.finish;
  if (finish.reason == FinishReason::length && reader.tokens.size() != reader.max)
    return fmt::format("{} tokens instead of {}", reader.tokens.size(), reader.max);
  if (finish.reason == FinishReason::stop && finish.stop_string.empty() &&
      (reader.tokens.empty() || reader.tokens.back() != kEndToken))
    return "stopped without a reason";
  if (finish.reason == FinishReason::context_full && tokens < max_tokens)
    return fmt::format("full at {} tokens, with room for {}", tokens, max_tokens);
  if (finish.reason == FinishReason::error && !finish.error) return "an error without a cause";
  // Only the one to blame fails, whoever it shared the pass with; it always does.
  if (finish.error && finish.error->code == errc::decode_failed && !reader.poisoned)
    return "failed for another's tokens";
  if (reader.poisoned && !reader.tokens.empty()) return "says something to what can't be computed";
  if (reader.poisoned && reader.max > 0 && finish.reason == FinishReason::length)
    return "got through with what can't be computed";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Client::read(std::uint32_t max_tokens) {
  std::optional<std::string> broken;
  while (auto chunk = reader->stream.try_next()) {
    if (reader->finish) broken = "something behind the terminal item";
    reader->tokens.insert(reader->tokens.end(), chunk->tokens.begin(), chunk->tokens.end());
    reader->text += chunk->text;
    if (chunk->finish) reader->finish = std::move(chunk->finish);
  }
  if (reader->finish && !broken) broken = wrong_tokens(*reader);
  if (reader->finish && !broken) broken = wrong_end(*reader, shared->tokens, max_tokens);
  if (broken) broken = fmt::format("session {}: {}", id.value(), *broken);
  return broken;
}

void Client::go_on() {
  if (reader->shift)
    history = std::move(reader->history);
  else
    history.insert(history.end(), reader->tokens.begin(), reader->tokens.end());
  history.insert(history.end(), appended.begin(), appended.end());
  appended.clear();
  reader.reset();
}

bool Client::failed(errc cause) const { return reader->finish->error && reader->finish->error->code == cause; }

}  // namespace corral::engine::simulation
