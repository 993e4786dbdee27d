#include "vocabulary.h"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace corral::test_models {
namespace {

constexpr std::size_t kCutSize = 1056;
constexpr std::size_t kWordpieceSize = 4096;
constexpr std::size_t kFirstWord = 1996;  // "the": BERT's words follow from here, most frequent first

struct Special {
  const char* text;
  TokenType type;
};
// As in Qwen2.5 and Qwen3: the turn marks are control tokens, the tags belong to the text.
constexpr std::array kChatSpecials = {
    Special{"<|endoftext|>", kControl},        Special{"<|im_start|>", kControl},
    Special{"<|im_end|>", kControl},           Special{"<tool_call>", kUserDefined},
    Special{"</tool_call>", kUserDefined},     Special{"<tool_response>", kUserDefined},
    Special{"</tool_response>", kUserDefined}, Special{"<think>", kUserDefined},
    Special{"</think>", kUserDefined}};

std::int64_t key_of(const gguf_context* gguf, const char* key) {
  const std::int64_t found = gguf_find_key(gguf, key);
  if (found < 0) throw std::runtime_error(fmt::format("the vocabulary file has no {}", key));
  return found;
}

std::vector<std::string> strings_of(const gguf_context* gguf, const char* key) {
  const std::int64_t found = key_of(gguf, key);
  std::vector<std::string> texts(gguf_get_arr_n(gguf, found));
  for (std::size_t i = 0; i < texts.size(); ++i) texts[i] = gguf_get_arr_str(gguf, found, i);
  return texts;
}

// The chat keys: <|im_end|> ends a turn, <|endoftext|> pads; a BOS is never added.
void mark_specials(Vocabulary& vocabulary) {
  vocabulary.special = {
      {"bos_token_id", static_cast<std::uint32_t>(vocabulary.id("<|endoftext|>"))},
      {"eos_token_id", static_cast<std::uint32_t>(vocabulary.id("<|im_end|>"))},
      {"padding_token_id", static_cast<std::uint32_t>(vocabulary.id("<|endoftext|>"))},
  };
  vocabulary.flags = {{"add_bos_token", false}};
}

// The two halves of a merge rule; the second half never holds a space, for a space is spelled "Ġ".
std::pair<std::string, std::string> halves(const std::string& merge) {
  const std::size_t space = merge.find(' ', 1);
  return {merge.substr(0, space), merge.substr(space + 1)};
}

}  // namespace

std::int32_t Vocabulary::id(const std::string& token) const {
  const auto found = std::ranges::find(tokens, token);
  if (found == tokens.end()) throw std::out_of_range(fmt::format("no token '{}' in the vocabulary", token));
  return static_cast<std::int32_t>(found - tokens.begin());
}

void Vocabulary::describe(Metadata& metadata) const {
  metadata.set("tokenizer.ggml.model", model);
  metadata.set("tokenizer.ggml.pre", pre);
  metadata.set("tokenizer.ggml.tokens", tokens);
  metadata.set("tokenizer.ggml.token_type", types);
  if (model == "gpt2") metadata.set("tokenizer.ggml.merges", merges);
  for (const auto& [key, token] : special) metadata.set("tokenizer.ggml." + key, token);
  for (const auto& [key, value] : flags) metadata.set("tokenizer.ggml." + key, value);
}

Vocabulary read_vocabulary(const std::filesystem::path& file) {
  const std::unique_ptr<gguf_context, void (*)(gguf_context*)> gguf(
      gguf_init_from_file(file.c_str(), {.no_alloc = true, .ctx = nullptr}), gguf_free);
  if (!gguf) throw std::runtime_error(fmt::format("cannot read the vocabulary {}", file.string()));
  Vocabulary made;
  made.model = gguf_get_val_str(gguf.get(), key_of(gguf.get(), "tokenizer.ggml.model"));
  made.pre = gguf_get_val_str(gguf.get(), key_of(gguf.get(), "tokenizer.ggml.pre"));
  made.tokens = strings_of(gguf.get(), "tokenizer.ggml.tokens");
  if (made.model == "gpt2") made.merges = strings_of(gguf.get(), "tokenizer.ggml.merges");
  const auto* types =
      static_cast<const std::int32_t*>(gguf_get_arr_data(gguf.get(), key_of(gguf.get(), "tokenizer.ggml.token_type")));
  made.types.assign(types, types + made.tokens.size());
  return made;
}

Vocabulary cut_bpe(const Vocabulary& qwen2, const std::vector<std::string>& extra) {
  Vocabulary cut{.model = qwen2.model, .pre = qwen2.pre};
  cut.tokens.assign(qwen2.tokens.begin(), qwen2.tokens.begin() + kCutSize - kChatSpecials.size());
  std::set<std::string> inside(cut.tokens.begin(), cut.tokens.end());

  if (!extra.empty()) {
    // A merge's rank is its place in the list, and its product is the token; walk down from each wanted token.
    std::map<std::string, std::pair<std::string, std::string>> parts;
    for (const std::string& merge : qwen2.merges) {
      auto [left, right] = halves(merge);
      parts.try_emplace(left + right, left, right);
    }
    const std::function<void(const std::string&)> add = [&](const std::string& token) {
      if (inside.contains(token)) return;
      if (const auto found = parts.find(token); found != parts.end()) {
        add(found->second.first);
        add(found->second.second);
      }
      inside.insert(token);
      cut.tokens.push_back(token);
    };
    for (const std::string& token : extra) add(token);
  }
  cut.types.assign(cut.tokens.size(), kNormal);
  std::ranges::copy_if(qwen2.merges, std::back_inserter(cut.merges), [&](const std::string& merge) {
    const auto [left, right] = halves(merge);
    return inside.contains(left) && inside.contains(right) && inside.contains(left + right);
  });
  for (const Special& special : kChatSpecials) {
    cut.tokens.emplace_back(special.text);
    cut.types.push_back(special.type);
  }
  mark_specials(cut);
  return cut;
}

Vocabulary with_gap_tokens(Vocabulary cut) {
  constexpr std::size_t kTile = 32;
  const auto add = [&](std::string text, TokenType type) {
    cut.tokens.push_back(std::move(text));
    cut.types.push_back(type);
  };
  for (const char* text : {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|repo_name|>", "<|file_sep|>"})
    add(text, kControl);
  for (int i = 0; cut.tokens.size() % kTile != 0; ++i) add(fmt::format("<|unused_{}|>", i), kUnused);
  return cut;
}

Vocabulary full_bpe(Vocabulary qwen2) {
  mark_specials(qwen2);
  return qwen2;
}

Vocabulary cut_wordpiece(const Vocabulary& bert) {
  Vocabulary cut{.model = bert.model, .pre = bert.pre};
  const auto keep = [&](std::size_t i) {
    cut.tokens.push_back(bert.tokens[i]);
    cut.types.push_back(bert.types[i]);
  };
  for (std::string_view special : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    keep(static_cast<std::size_t>(std::ranges::find(bert.tokens, special) - bert.tokens.begin()));
    cut.types.back() = kControl;
  }
  cut.types[1] = kUnknown;
  // Single ASCII characters, at a word's start ("▁a") and within it ("a"): any ASCII word falls back to them.
  for (std::size_t i = 0; i < bert.tokens.size(); ++i) {
    std::string_view text = bert.tokens[i];
    if (text.starts_with(kWordStart)) text.remove_prefix(kWordStart.size());
    if (text.size() == 1) keep(i);
  }
  cut.first_word = cut.tokens.size();
  std::set<std::string> inside(cut.tokens.begin(), cut.tokens.end());
  for (std::size_t i = kFirstWord; cut.tokens.size() < kWordpieceSize; ++i) {
    if (inside.insert(bert.tokens[i]).second) keep(i);
  }
  cut.special = {{"unknown_token_id", 1}, {"seperator_token_id", 3}, {"padding_token_id", 0},
                 {"cls_token_id", 2},     {"bos_token_id", 2},       {"mask_token_id", 4}};
  return cut;
}

}  // namespace corral::test_models
