#include "engine_server/prompt_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "protocol/errors.h"

namespace corral::engine_server {
namespace {

// Texts above this are counted in pieces of this size.
constexpr std::size_t kPiece = 64 * 1024;
// A cut may make a few more tokens than there would be.
constexpr std::size_t kCutTokens = 16;
// Below this many bytes for each token that fits nobody asks for the longest token.
constexpr std::size_t kUsualToken = 8;

std::unexpected<Error> too_long(std::size_t bytes, std::size_t at_least, std::size_t limit, const std::string& param) {
  auto text = fmt::format(
      "'{}' has {} bytes, which come to more than {} tokens, but this model's context holds {}: shorten it or load the "
      "model with a larger ctx_size",
      param, bytes, at_least, limit);
  return std::unexpected(
      protocol::context_exceeded({.n_prompt_tokens = at_least, .n_ctx = limit}, std::move(text), param));
}

// The end of the piece that begins at `begin`: behind a space or a line if there is one near, never amid a character.
std::size_t piece_end(std::string_view text, std::size_t begin) {
  if (text.size() - begin <= kPiece) return text.size();
  const auto end = begin + kPiece;
  constexpr std::size_t kNear = 1024;
  if (const auto space = text.find_last_of(" \n", end); space != std::string_view::npos && space + kNear > end)
    return space;
  auto at = end;
  while (at > begin + 1 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

}  // namespace

std::unexpected<Error> stopped() {
  return fail(protocol::errc::remote_cancelled, "the client left before its request was ready");
}

std::size_t PromptTokens::longest_token() const {
  std::call_once(measured_, [this] {
    for (engine::Token token = 0; static_cast<std::uint32_t>(token) < service_.facts().n_vocab; ++token)
      longest_token_ = std::max(longest_token_, service_.piece(token, true).size());
  });
  return longest_token_;
}

Result<> PromptTokens::check_bytes(std::size_t bytes, const std::string& param) const {
  return check_bytes(bytes, service_.facts().n_ctx, param);
}

Result<> PromptTokens::check_bytes(std::size_t bytes, std::size_t most, const std::string& param) const {
  if (bytes / kUsualToken < most || bytes / longest_token() < most) return {};
  return too_long(bytes, bytes / longest_token(), most, param);
}

Result<std::vector<engine::Token>> PromptTokens::tokenize(std::string_view text, std::size_t most,
                                                          const std::string& param, const Stop& stop) const {
  if (auto fits = check_bytes(text.size(), most, param); !fits) return std::unexpected(std::move(fits.error()));
  if (text.size() > 2 * kPiece) {
    std::size_t tokens = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      if (stop.wanted()) return stopped();
      const auto end = std::max(begin + 1, piece_end(text, begin));
      const auto piece = service_.tokenize(text.substr(begin, end - begin), false, true);
      if (!piece) return std::unexpected(piece.error());
      tokens += piece->size() > kCutTokens ? piece->size() - kCutTokens : 0;
      if (tokens > most) return too_long(text.size(), tokens, most, param);
      begin = end;
    }
  }
  if (stop.wanted()) return stopped();
  return service_.tokenize(text, true, true);
}

}  // namespace corral::engine_server
