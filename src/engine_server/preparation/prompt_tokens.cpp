#include "engine_server/preparation/prompt_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/utf8.h"
#include "protocol/errors.h"

namespace corral::engine_server {
namespace {

// Texts above this are counted in pieces of this size.
constexpr std::size_t kPiece = 64 * 1024;
// A cut may add a few tokens.
constexpr std::size_t kCutTokens = 16;
// With fewer bytes per available token, the longest token need not be known.
constexpr std::size_t kUsualToken = 8;

std::unexpected<Error> too_long(std::size_t bytes, std::size_t at_least, std::size_t limit, const std::string& param) {
  auto text = fmt::format(
      "'{}' has {} bytes, which come to more than {} tokens, which exceeds the available context size of {}: shorten "
      "it "
      "or load the model with a larger ctx_size",
      param, bytes, at_least, limit);
  return std::unexpected(
      protocol::context_exceeded({.n_prompt_tokens = at_least, .n_ctx = limit}, std::move(text), param));
}

// End of the piece that begins at `begin`: behind a space or line end if there is one near, never inside a character.
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
  return fail(protocol::errc::remote_cancelled, "the client disconnected before its request was ready");
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

Result<> PromptTokens::check_bytes(std::size_t bytes, std::size_t max, const std::string& param) const {
  if (bytes / kUsualToken < max || bytes / longest_token() < max) return {};
  return too_long(bytes, bytes / longest_token(), max, param);
}

Result<std::vector<engine::Token>> PromptTokens::tokenize(std::string_view text, const Reading& reading,
                                                          const std::string& param, const CancelToken& stop) const {
  if (stop.wanted()) return stopped();
  if (reading.max == 0) return plain(text, reading.add_special, reading.parse_special, param);
  if (auto fits = check_bytes(text.size(), reading.max, param); !fits) return std::unexpected(std::move(fits.error()));
  if (text.size() > 2 * kPiece) {
    std::size_t tokens = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      if (stop.wanted()) return stopped();
      const auto end = std::max(begin + 1, piece_end(text, begin));
      const auto piece = plain(text.substr(begin, end - begin), false, reading.parse_special, param);
      if (!piece) return std::unexpected(piece.error());
      tokens += piece->size() > kCutTokens ? piece->size() - kCutTokens : 0;
      if (tokens > reading.max) return too_long(text.size(), tokens, reading.max, param);
      begin = end;
    }
  }
  if (stop.wanted()) return stopped();
  return plain(text, reading.add_special, reading.parse_special, param);
}

Result<std::vector<engine::Token>> PromptTokens::plain(std::string_view text, bool add_special, bool parse_special,
                                                       const std::string& param) const {
  auto tokens = service_.tokenize(text, add_special, parse_special);
  if (tokens || !tokens.error().param.empty()) return tokens;
  auto& error = tokens.error();
  error.message = fmt::format("'{}' cannot be tokenized: {}", param, error.message);
  error.param = param;
  return tokens;
}

Result<> PromptTokens::check_tokens(std::span<const engine::Token> given, const std::string& param) const {
  const auto n_vocab = service_.facts().n_vocab;
  const auto bad = std::ranges::find_if(
      given, [&](engine::Token token) { return token < 0 || static_cast<std::uint32_t>(token) >= n_vocab; });
  if (bad == given.end()) return {};
  return fail(protocol::errc::bad_value,
              fmt::format("'{}' has the token {}, but this model's vocabulary ends at {}: tokens of another model mean "
                          "nothing here, send text",
                          param, *bad, n_vocab - 1),
              param);
}

Result<std::vector<engine::Token>> PromptTokens::read(const protocol::Input& input, const Reading& reading,
                                                      const std::string& param, const CancelToken& stop) const {
  if (const auto* text = std::get_if<std::string>(&input)) return tokenize(*text, reading, param, stop);
  if (const auto* given = std::get_if<std::vector<engine::Token>>(&input)) {
    if (auto fine = check_tokens(*given, param); !fine) return std::unexpected(std::move(fine.error()));
    return *given;
  }
  std::vector<engine::Token> all;
  auto first = reading;
  for (const auto& part : std::get<std::vector<protocol::InputPart>>(input)) {
    auto more = std::visit([&](const auto& given) { return read(protocol::Input(given), first, param, stop); }, part);
    if (!more) return more;
    all.insert(all.end(), more->begin(), more->end());
    first.add_special = false;
    if (reading.max == 0 || all.size() <= reading.max) continue;
    return std::unexpected(
        protocol::context_exceeded({.n_prompt_tokens = all.size(), .n_ctx = reading.max},
                                   fmt::format("'{}' has more than {} tokens, but the context of this model has {}: "
                                               "shorten it or load the model with a larger ctx_size",
                                               param, all.size() - 1, reading.max),
                                   param));
  }
  return all;
}

Result<std::vector<engine::Token>> PromptTokens::read_cut(const protocol::Input& input, std::size_t max,
                                                          const std::string& param, const CancelToken& stop) const {
  const auto* text = std::get_if<std::string>(&input);
  // More bytes than this are more tokens than fit.
  const auto longest = text != nullptr && text->size() / kUsualToken > max ? max * longest_token() : 0;
  auto tokens =
      longest > 0 && longest < text->size()
          ? read(protocol::Input(text->substr(0, complete_utf8_length(std::string_view(*text).substr(0, longest)))),
                 Reading{}, param, stop)
          : read(input, Reading{}, param, stop);
  if (!tokens || tokens->size() <= max || max == 0) return tokens;
  const auto nothing = plain({}, true, true, param);
  const bool ends = nothing && !nothing->empty() && nothing->back() == tokens->back() &&
                    (nothing->size() > 1 || nothing->front() != tokens->front());
  const auto last = tokens->back();
  tokens->resize(max);
  if (ends) tokens->back() = last;
  return tokens;
}

Result<std::size_t> PromptTokens::count(std::string_view text, const std::string& param,
                                        const CancelToken& stop) const {
  std::size_t tokens = 0, begin = 0;
  do {
    if (stop.wanted()) return stopped();
    const auto end = text.size() <= 2 * kPiece ? text.size() : std::max(begin + 1, piece_end(text, begin));
    const auto piece = plain(text.substr(begin, end - begin), begin == 0, true, param);
    if (!piece) return std::unexpected(piece.error());
    tokens += piece->size();
    begin = end;
  } while (begin < text.size());
  return tokens;
}

}  // namespace corral::engine_server
