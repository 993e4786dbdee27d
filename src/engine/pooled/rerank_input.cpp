// Input of a reranker: query and document as one token list.
#include <algorithm>
#include <string>

#include "engine/llama/model.h"

namespace corral::engine {
namespace {

struct Piece {
  std::string_view text;
  bool given = false;  // by the client; otherwise from the template
};

// The template with its placeholders filled, in pieces. Only the template is searched: a query may say "{document}".
std::vector<Piece> fill_template(std::string_view text, std::string_view query, std::string_view document) {
  static constexpr std::string_view kQuery = "{query}", kDocument = "{document}";
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const auto at_query = text.find(kQuery), at_document = text.find(kDocument);
    const auto at = std::min(at_query, at_document);
    pieces.push_back({text.substr(0, at)});
    if (at == std::string_view::npos) break;
    const bool is_query = at_query < at_document;
    pieces.push_back({is_query ? query : document, true});
    text.remove_prefix(at + (is_query ? kQuery : kDocument).size());
  }
  return pieces;
}

// Number of special tokens.
std::ptrdiff_t specials(const Model& model, const std::vector<Token>& tokens) {
  return std::ranges::count_if(tokens, [&](Token token) {
    return (llama_vocab_get_attr(model.vocab(), token) & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) != 0;
  });
}

// Special tokens of the template are tokens; those in a client's text are text. The whole text is tokenized at once,
// because words at the edges of pieces join as the model has learnt them. If the result has more special tokens than
// the template, the client has written some, and each piece is tokenized separately.
Result<std::vector<Token>> tokenize_pieces(const Model& model, const std::vector<Piece>& pieces) {
  std::string joined;
  std::vector<Token> apart;
  std::ptrdiff_t expected = 0;
  for (const Piece& piece : pieces) {
    joined.append(piece.text);
    if (piece.given) continue;
    const auto tokens = model.tokenize(piece.text, false, true);
    if (!tokens) return tokens;
    expected += specials(model, *tokens);
  }
  auto together = model.tokenize(joined, false, true);
  if (!together || specials(model, *together) == expected) return together;
  for (const Piece& piece : pieces) {
    const auto tokens = model.tokenize(piece.text, false, !piece.given);
    if (!tokens) return tokens;
    apart.insert(apart.end(), tokens->begin(), tokens->end());
  }
  return apart;
}

}  // namespace

Result<std::vector<Token>> rerank_input(const Model& model, std::string_view query, std::string_view document) {
  // The file's own template ("... {query} ... {document} ..."), which some causal rerankers have.
  if (const char* const text = llama_model_chat_template(model.handle(), "rerank"))
    return tokenize_pieces(model, fill_template(text, query, document));
  auto first = model.tokenize(query, false, false);
  if (!first) return first;
  auto second = model.tokenize(document, false, false);
  if (!second) return second;

  const ModelFacts& facts = model.facts();
  const Token end = facts.eos != kNoToken ? facts.eos : facts.sep;
  std::vector<Token> tokens;
  const auto add = [&](bool wanted, Token token) {
    if (wanted && token != kNoToken) tokens.push_back(token);
  };
  add(facts.add_bos, facts.bos);
  tokens.insert(tokens.end(), first->begin(), first->end());
  add(facts.add_eos, end);
  add(llama_vocab_get_add_sep(model.vocab()), facts.sep);
  tokens.insert(tokens.end(), second->begin(), second->end());
  add(facts.add_eos, end);
  return tokens;
}

}  // namespace corral::engine
