#include "reranker.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace corral::test_models {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kHeadWidth = kWidth / kHeads;
constexpr std::int64_t kFfn = 32;
constexpr std::uint32_t kBlocks = 2;

// The residual stream's dimensions. Each value stands there twice, with both signs: its mean is zero whatever it holds,
// so that the layer norms only scale.
constexpr std::int64_t kTokenBits = 16;
constexpr std::int64_t kPositionBits = 12;
constexpr std::int64_t kToken = 0;                                 // token code, then its negative
constexpr std::int64_t kPosition = kToken + 2 * kTokenBits;        // position code, then its negative
constexpr std::int64_t kFrequent = kPosition + 2 * kPositionBits;  // +1 for frequent words, -1 for others
constexpr std::int64_t kTwice = kFrequent + 2;                     // "occurs twice"
constexpr std::int64_t kScore = kTwice + 2;                        // its mean, at [CLS]
constexpr std::int64_t kTaste = kScore + 2;  // a little of everything, so that no two scores are equal
static_assert(kTaste + 2 == kWidth);

constexpr std::size_t kFrequentWords = 120;  // "the" ... : matches of these count nothing

class Matrix {
 public:
  Matrix(std::int64_t in, std::int64_t out) : in_(in), out_(out), values_(static_cast<std::size_t>(in * out)) {}
  float& at(std::int64_t out, std::int64_t in) { return values_[static_cast<std::size_t>(out * in_ + in)]; }
  // A value into a dimension and its negative into the one `mirror` further.
  void both(std::int64_t out, std::int64_t mirror, std::int64_t in, float value) {
    at(out, in) = value;
    at(out + mirror, in) = -value;
  }
  Tensor tensor(const std::string& name, ggml_type type) && {
    return {
        name, type, {in_, out_}, [values = std::move(values_), done = std::size_t{0}](std::span<float> out) mutable {
          std::copy_n(values.begin() + static_cast<std::ptrdiff_t>(done), out.size(), out.begin());
          done += out.size();
        }};
  }

 private:
  std::int64_t in_, out_;
  std::vector<float> values_;
};

bool is_frequent(const Vocabulary& vocabulary, std::size_t token) {
  std::string_view text = vocabulary.tokens[token];
  if (text.starts_with(kWordStart)) text.remove_prefix(kWordStart.size());
  return text.size() == 1 || token < vocabulary.first_word + kFrequentWords;
}

// A random code into one row, with its negative behind it.
void draw_code(Matrix& matrix, std::int64_t row, std::int64_t at, std::int64_t bits, Random& random) {
  for (std::int64_t bit = 0; bit < bits; ++bit) {
    const float sign = random.sign();
    matrix.at(row, at + bit) = sign;
    matrix.at(row, at + bits + bit) = -sign;
  }
}

struct Block {
  Matrix query{kWidth, kWidth}, key{kWidth, kWidth}, value{kWidth, kWidth}, output{kWidth, kWidth};
  Matrix up{kWidth, kFfn}, down{kFfn, kWidth};
  float up_bias = 0.0F;
};

// Who else is like me? Leaves "occurs twice" in kTwice.
Block matching_block() {
  Block block;
  for (std::int64_t bit = 0; bit < kTokenBits; ++bit) {
    block.query.at(bit, kToken + bit) = block.key.at(bit, kToken + bit) =
        3.0F;  // 40 for the same token, others far less
  }
  for (std::int64_t bit = 0; bit < kPositionBits; ++bit) {
    block.value.at(bit, kPosition + bit) = 1.0F;
    block.output.both(kPosition + bit, kPositionBits, bit, -1.0F);
  }
  // A unit for each position dimension: open when the difference is about 1.2 and the word is rare (-1.2).
  constexpr float kGain = 8.0F;
  for (std::int64_t unit = 0; unit < 2 * kPositionBits; ++unit) {
    block.up.at(unit, kPosition + unit) = kGain;
    block.up.at(unit, kFrequent) = -kGain;
    block.down.both(kTwice, 1, unit, 0.05F);
  }
  block.up_bias = -1.9F * kGain;
  return block;
}

// Every token sees the mean of all.
Block counting_block(Random random) {
  Block block;
  block.value.at(0, kTwice) = 1.0F;
  block.output.both(kScore, 1, 0, 8.0F);
  for (std::int64_t bit = 0; bit < kTokenBits; ++bit) {
    block.value.at(kHeadWidth + bit, kToken + bit) = 1.0F;
    block.output.both(kTaste, 1, kHeadWidth + bit, 0.2F * random.normal());
  }
  return block;
}

void add_block(std::vector<Tensor>& out, std::uint32_t layer, ggml_type type, Block block) {
  const std::string part = fmt::format("blk.{}.", layer);
  const auto linear = [&](const char* name, Matrix matrix, std::int64_t width, float bias = 0.0F) {
    out.push_back(std::move(matrix).tensor(part + name + ".weight", type));
    out.push_back(Weights::fixed(part + name + ".bias", {width}, bias));
  };
  const auto norm = [&](const char* name) {
    out.push_back(Weights::fixed(part + name + ".weight", {kWidth}, 1.0F));
    out.push_back(Weights::fixed(part + name + ".bias", {kWidth}, 0.0F));
  };
  linear("attn_q", std::move(block.query), kWidth);
  linear("attn_k", std::move(block.key), kWidth);
  linear("attn_v", std::move(block.value), kWidth);
  linear("attn_output", std::move(block.output), kWidth);
  norm("attn_output_norm");
  linear("ffn_up", std::move(block.up), kFfn, block.up_bias);
  linear("ffn_down", std::move(block.down), kWidth);
  norm("layer_output_norm");
}

}  // namespace

Model make_reranker(const std::string& name, const std::string& title, const EncoderShape& shape,
                    const Vocabulary& vocabulary, std::uint64_t seed) {
  EncoderShape own = shape;
  own.pooling = Pooling::kRank;
  own.layers = kBlocks;
  own.width = kWidth;
  own.heads = kHeads;
  own.ffn = kFfn;
  const Weights weights(seed, name);
  const ggml_type type = shape.matrices;

  Matrix tokens(kWidth, vocabulary.size());
  Random token_codes = weights.stream("tokens");
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) {
    draw_code(tokens, token, kToken, kTokenBits, token_codes);
    const float frequent = is_frequent(vocabulary, static_cast<std::size_t>(token)) ? 1.0F : -1.0F;
    tokens.at(token, kFrequent) = frequent;
    tokens.at(token, kFrequent + 1) = -frequent;
  }
  Matrix positions(kWidth, own.context);
  Random position_codes = weights.stream("positions");
  for (std::int64_t position = 0; position < own.context; ++position) {
    draw_code(positions, position, kPosition, kPositionBits, position_codes);
  }
  Matrix pooler(kWidth, kWidth);
  pooler.at(0, kScore) = 0.8F;
  pooler.at(1, kTaste) = 1.0F;
  Matrix head(kWidth, 1);
  head.at(0, 0) = 9.0F;
  head.at(0, 1) = 0.5F;

  Model model;
  describe_encoder(model.metadata, own, title, vocabulary);
  std::vector<Tensor>& out = model.tensors;
  out.push_back(std::move(tokens).tensor("token_embd.weight", type));
  out.push_back(Weights::fixed("token_types.weight", {kWidth, 2}, 0.0F));
  out.push_back(std::move(positions).tensor("position_embd.weight", type));
  out.push_back(Weights::fixed("token_embd_norm.weight", {kWidth}, 1.0F));
  out.push_back(Weights::fixed("token_embd_norm.bias", {kWidth}, 0.0F));
  add_block(out, 0, type, matching_block());
  add_block(out, 1, type, counting_block(weights.stream("taste")));
  out.push_back(std::move(pooler).tensor("cls.weight", type));
  out.push_back(Weights::fixed("cls.bias", {kWidth}, 0.0F));
  out.push_back(std::move(head).tensor("cls.output.weight", GGML_TYPE_F32));
  out.push_back(Weights::fixed("cls.output.bias", {1}, -4.5F));
  return model;
}

}  // namespace corral::test_models
