#include "scripted.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "byte_level.h"
#include "chat_template.h"

namespace corral::test_models {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kFfn = 64;
constexpr std::uint32_t kLayers = 1;
// A token's code meets itself with 64 * 0.5 = 32, another's with less than 20: certain at every usual temperature.
constexpr float kLogit = 0.5F;

constexpr std::string_view kLineFeed = "\xc4\x8a";  // "Ċ", the byte-level spelling of "\n"

bool is_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

constexpr std::size_t kMaxSteps = 100000;  // of the search: a sensible text needs about as many as it has tokens

class Cutter {
 public:
  Cutter(const Vocabulary& vocabulary, bool split_characters, std::set<std::string>& used)
      : used_(used), passes_(split_characters ? std::vector{true, false} : std::vector{false}) {
    for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const std::string& token = vocabulary.tokens[i];
      const bool special = vocabulary.types[i] == kUserDefined;
      if ((vocabulary.types[i] != kNormal && !special) || token == kLineFeed) continue;
      std::string bytes = special ? token : token_bytes(token);
      const bool fragment = !is_ascii(bytes) && !is_plain_text(bytes);
      longest_ = std::max(longest_, bytes.size());
      tokens_.emplace(std::move(bytes), Piece{token, fragment});
    }
  }

  // Depth first, the longest token first; if characters are to be split, fragments before whole text.
  bool cut(std::string_view text, std::vector<std::string>& tokens) {
    if (text.empty()) return true;
    if (++steps_ > kMaxSteps) return false;
    for (const bool only_fragments : passes_) {
      for (std::size_t length = std::min(longest_, text.size()); length > 0; --length) {
        const auto found = tokens_.find(std::string(text.substr(0, length)));
        if (found == tokens_.end() || (only_fragments && !found->second.fragment)) continue;
        const std::string& token = found->second.token;
        if (!used_.insert(token).second) continue;
        tokens.push_back(token);
        if (cut(text.substr(length), tokens)) return true;
        tokens.pop_back();
        used_.erase(token);
      }
    }
    return false;
  }

 private:
  struct Piece {
    std::string token;
    bool fragment = false;  // holds a part of a character
  };
  std::unordered_map<std::string, Piece> tokens_;  // by their bytes
  std::set<std::string>& used_;
  std::vector<bool> passes_;  // fragments only?
  std::size_t longest_ = 0;
  std::size_t steps_ = 0;
};

void describe(Metadata& metadata, const std::string& title, const Script& script, const Vocabulary& vocabulary) {
  describe_model(metadata, "llama", title, FileType::kF16);
  metadata.set("llama.block_count", kLayers);
  metadata.set("llama.context_length", script.context);
  metadata.set("llama.embedding_length", static_cast<std::uint32_t>(kWidth));
  metadata.set("llama.feed_forward_length", static_cast<std::uint32_t>(kFfn));
  metadata.set("llama.attention.head_count", static_cast<std::uint32_t>(kHeads));
  metadata.set("llama.attention.head_count_kv", static_cast<std::uint32_t>(kHeads));
  metadata.set("llama.attention.layer_norm_rms_epsilon", 1e-6F);
  metadata.set("llama.rope.freq_base", 10000.0F);
  metadata.set("llama.rope.dimension_count", static_cast<std::uint32_t>(kWidth / kHeads));
  metadata.set("llama.vocab_size", static_cast<std::uint32_t>(vocabulary.size()));
  vocabulary.describe(metadata);
  metadata.set("tokenizer.chat_template", kChatTemplate);
}

}  // namespace

std::vector<std::string> cut_script(const std::string& text, bool split_characters, const Vocabulary& vocabulary,
                                    std::vector<std::string>& used) {
  std::set<std::string> taken(used.begin(), used.end());
  std::vector<std::string> tokens;
  if (!Cutter(vocabulary, split_characters, taken).cut(text, tokens)) {
    throw std::runtime_error(fmt::format("no way to spell '{}' in distinct tokens", text));
  }
  used.insert(used.end(), tokens.begin(), tokens.end());
  return tokens;
}

Model make_scripted(const std::string& name, const std::string& title, const Script& script, const Vocabulary& qwen2,
                    std::uint64_t seed) {
  // The search sees the whole vocabulary and the specials of the cut one.
  Vocabulary all = qwen2;
  const Vocabulary specials = cut_bpe(qwen2);
  for (std::size_t i = 0; i < specials.tokens.size(); ++i) {
    if (specials.types[i] != kUserDefined) continue;
    all.tokens.push_back(specials.tokens[i]);
    all.types.push_back(kUserDefined);
  }
  std::vector<std::string> used;
  std::vector<std::string> script_tokens = cut_script(script.text, script.split_characters, all, used);
  const std::size_t loop_start = script_tokens.size();
  std::ranges::copy(cut_script(script.loop, script.split_characters, all, used), std::back_inserter(script_tokens));

  std::vector<std::string> extra;
  std::ranges::copy_if(script_tokens, std::back_inserter(extra), [&](const std::string& token) {
    return std::ranges::find(specials.tokens, token) == specials.tokens.end();
  });
  const Vocabulary vocabulary = cut_bpe(qwen2, extra);

  std::vector<std::int32_t> next(vocabulary.tokens.size(), vocabulary.id(script_tokens.front()));
  for (std::size_t i = 0; i + 1 < script_tokens.size(); ++i)
    next[static_cast<std::size_t>(vocabulary.id(script_tokens[i]))] = vocabulary.id(script_tokens[i + 1]);
  next[static_cast<std::size_t>(vocabulary.id(script_tokens.back()))] =
      vocabulary.id(script.loop.empty() ? "<|im_end|>" : script_tokens[loop_start]);

  const Weights weights(seed, name);
  std::vector<float> codes(vocabulary.tokens.size() * kWidth);
  Random random = weights.stream("codes");
  for (float& value : codes) value = random.sign();

  Model model;
  describe(model.metadata, title, script, vocabulary);
  std::vector<Tensor>& out = model.tensors;
  const auto rows = [&codes](std::vector<std::int32_t> of_token, float factor) -> Fill {
    return [codes, of_token, factor, row = std::size_t{0}](std::span<float> values) mutable {
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = factor * codes[static_cast<std::size_t>(of_token[row + i / kWidth]) * kWidth + i % kWidth];
      }
      row += values.size() / kWidth;
    };
  };
  std::vector<std::int32_t> itself(vocabulary.tokens.size());
  for (std::size_t i = 0; i < itself.size(); ++i) itself[i] = static_cast<std::int32_t>(i);

  out.push_back({"token_embd.weight", GGML_TYPE_F16, {kWidth, vocabulary.size()}, rows(next, 1.0F)});
  for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
    const auto block = [layer](const char* part) { return fmt::format("blk.{}.{}.weight", layer, part); };
    out.push_back(Weights::fixed(block("attn_norm"), {kWidth}, 1.0F));
    for (const char* part : {"attn_q", "attn_k", "attn_v"}) {
      out.push_back(weights.projection(block(part), GGML_TYPE_F16, {kWidth, kWidth}, 1.0F));
    }
    out.push_back({block("attn_output"), GGML_TYPE_F16, {kWidth, kWidth}, constant(0.0F)});
    out.push_back(Weights::fixed(block("ffn_norm"), {kWidth}, 1.0F));
    out.push_back(weights.projection(block("ffn_gate"), GGML_TYPE_F16, {kWidth, kFfn}, 1.0F));
    out.push_back(weights.projection(block("ffn_up"), GGML_TYPE_F16, {kWidth, kFfn}, 1.0F));
    out.push_back({block("ffn_down"), GGML_TYPE_F16, {kFfn, kWidth}, constant(0.0F)});
  }
  out.push_back(Weights::fixed("output_norm.weight", {kWidth}, 1.0F));
  out.push_back({"output.weight", GGML_TYPE_F16, {kWidth, vocabulary.size()}, rows(itself, kLogit)});
  return model;
}

}  // namespace corral::test_models
