#include "downloads/variants.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "downloads/errors.h"
#include "models/gguf_test_writer.h"

namespace corral::downloads {
namespace {

// Gives ranges of one content, in pieces, and breaks off now and then.
class FrontsOnly final : public Fetcher {
 public:
  async::Task<FetchAnswer> fetch(FetchRequest request) override {
    ++asked;
    FetchAnswer answer;
    answer.head.status = status;
    if (status != 206) co_return answer;
    const Range range = *request.range;
    answer.head.fields["content-range"] = fmt::format("bytes {}-{}/{}", range.begin, range.end - 1, size);
    std::string_view rest = std::string_view(content).substr(range.begin, range.size());
    if (asked % 2 == 1) rest = rest.substr(0, rest.size() / 2), answer.fault = Fault::broken;
    while (!rest.empty()) {
      const std::string_view piece = rest.substr(0, 1000);
      rest.remove_prefix(piece.size());
      sent += piece.size();
      if (request.sink(answer.head, piece) == Take::more) continue;
      answer.fault = Fault::none;
      break;
    }
    co_return answer;
  }

  std::string content;
  std::uint64_t size = 0;
  int status = 206, asked = 0;
  std::uint64_t sent = 0;
};

std::string model_bytes(std::size_t vocabulary) {
  models::GgufWriter writer;
  writer.text("general.architecture", "llama").u32("llama.context_length", 4096).u32("llama.embedding_length", 64);
  writer.u32("llama.block_count", 2).u32("llama.attention.head_count", 4).u32("llama.attention.head_count_kv", 2);
  writer.texts("tokenizer.ggml.tokens", std::vector<std::string>(vocabulary, "a token"));
  writer.tensor("token_embd.weight", {64, 40'000});
  const auto bytes = writer.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class Variants : public testing::Test {
 public:
  Result<Offers> offers(std::uint64_t memory) { return async::run_blocking(loop_, offers_of(hub_, listing_, memory)); }

  void add(const std::string& path, std::uint64_t size) {
    listing_.tree.push_back({.path = path, .size = size, .oid = std::string(64, 'a')});
  }

  async::Loop loop_;
  async::SystemTimers timers_;
  FrontsOnly fetcher_;
  Hub hub_{fetcher_,
           timers_,
           {.endpoint = "http://hub"},
           {.most_tries = 3, .first_pause = Millis(1), .longest_pause = Millis(1)},
           [] { return std::uint64_t{0}; }};
  Listing listing_{.repo = "org/repo", .revision = "main", .at = {.commit = std::string(40, '1')}};
};

TEST_F(Variants, OfTheSameModelTheLargestThatFitsIsBest) {
  fetcher_.content = model_bytes(200'000);  // a header above the first step
  fetcher_.size = fetcher_.content.size();
  add("m-Q4_K_M.gguf", fetcher_.size);
  add("m-Q8_0.gguf", 2 * fetcher_.size);
  add("m-F16.gguf", 4 * fetcher_.size);
  const auto all = offers(0);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->variants.size(), 3u);
  EXPECT_EQ(all->variants[all->usual].variant.tag, "Q4_K_M");
  EXPECT_FALSE(all->best);
  ASSERT_TRUE(all->facts);
  EXPECT_EQ(all->facts->traits.context_length, 4096u);
  // Two layers of two heads, 16 wide, keys and values, 16 bits each; and 8 KiB of buffers for a token.
  const std::uint64_t context = 4096 * (2 * 2 * 32 * 2 + 8192);
  EXPECT_EQ(all->variants[all->usual].memory, fetcher_.size + context);

  const auto some = offers(2 * fetcher_.size + context);
  ASSERT_TRUE(some && some->best);
  EXPECT_EQ(some->variants[*some->best].variant.tag, "Q8_0");
  EXPECT_LE(fetcher_.sent, 8u << 20);
  const auto none = offers(fetcher_.size);
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->best);
}

TEST_F(Variants, WithoutAHeaderTheSizeMustDo) {
  fetcher_.status = 500;
  add("m-Q4_K_M.gguf", 1000);
  const auto all = offers(1);
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->variants[0].by_size);
  EXPECT_GT(all->variants[0].memory, 1000u);
  EXPECT_FALSE(all->variants[0].fits);
  EXPECT_FALSE(all->facts);
}

TEST_F(Variants, WhatIsNoModelIsRefusedWithoutReadingOn) {
  fetcher_.content = std::string(64 << 20, 'x');
  fetcher_.size = fetcher_.content.size();
  add("m-Q4_K_M.gguf", fetcher_.size);
  const auto read = async::run_blocking(loop_, read_header(hub_, listing_, listing_.tree[0]));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::upstream_malformed);
  EXPECT_LE(fetcher_.sent, 1u << 20);
  listing_.tree.clear();
  EXPECT_EQ(offers(0).error().code, errc::file_not_found);
}

}  // namespace
}  // namespace corral::downloads
