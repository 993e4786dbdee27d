// Real tokenizers, cut down: byte-level BPE from Qwen2's vocabulary, WordPiece from BERT's. The vocabulary-only GGUF
// files come with llama.cpp's source. Cuts keep the tokenizer's behaviour: every UTF-8 text can be encoded, and a text
// that needs only tokens of the cut is encoded as the full tokenizer would.
// Pure but for reading the source file; a missing one throws std::runtime_error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gguf_file.h"

namespace corral::test_models {

// llama.h's token types, as the files store them.
enum TokenType : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5 };

// What WordPiece vocabularies put before a word's first piece: U+2581.
inline constexpr std::string_view kWordStart = "\xe2\x96\x81";

struct Vocabulary {
  std::string model{};  // tokenizer.ggml.model: "gpt2" or "bert"
  std::string pre{};    // tokenizer.ggml.pre: names the pre-tokenizer
  std::vector<std::string> tokens{};
  std::vector<std::int32_t> types{};               // TokenType per token
  std::vector<std::string> merges{};               // BPE only, best first
  std::map<std::string, std::uint32_t> special{};  // metadata key -> token, e.g. "eos_token_id"
  std::map<std::string, bool> flags{};             // metadata key -> value, e.g. "add_bos_token"
  std::size_t first_word = 0;                      // WordPiece: where the whole words start, most frequent first

  std::int32_t size() const { return static_cast<std::int32_t>(tokens.size()); }
  std::int32_t id(const std::string& token) const;  // throws std::out_of_range
  void describe(Metadata& metadata) const;          // writes the tokenizer.ggml.* keys
};

// A whole file as it is.
Vocabulary read_vocabulary(const std::filesystem::path& file);

// Qwen2's first tokens (all bytes and the best merges) and the chat specials, 1,056 in all: a multiple of 32, because
// matrix units work on tiles. `extra` tokens (as spelled in the vocabulary) are added with the merges that build them.
Vocabulary cut_bpe(const Vocabulary& qwen2, const std::vector<std::string>& extra = {});

// With the tokens that stand around a gap and before pieces of a project, as Qwen2.5-Coder has them; the number of
// tokens stays a multiple of 32.
Vocabulary with_gap_tokens(Vocabulary cut);

// Qwen2 in full, with the chat specials that it already has: for models of real size.
Vocabulary full_bpe(Vocabulary qwen2);

// BERT's specials, single characters and most frequent words.
Vocabulary cut_wordpiece(const Vocabulary& bert);

}  // namespace corral::test_models
