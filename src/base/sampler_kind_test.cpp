#include "base/sampler_kind.h"

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(SamplerKind, IsKnownByEverySpellingAndLetter) {
  for (const char* name : {"top_k", "top-k", "topk", "Top_K"}) EXPECT_EQ(sampler_named(name), SamplerKind::top_k);
  for (const char* name : {"typ_p", "typ-p", "typp", "typical_p", "typ"})
    EXPECT_EQ(sampler_named(name), SamplerKind::typical_p);
  EXPECT_EQ(sampler_named("nucleus"), SamplerKind::top_p);
  EXPECT_EQ(sampler_named("temp"), SamplerKind::temperature);
  for (const char* name : {"", "_", "top", "topkk", "greedy", "infill"})
    EXPECT_EQ(sampler_named(name), std::nullopt) << name;
  EXPECT_EQ(sampler_lettered('y'), SamplerKind::typical_p);
  EXPECT_EQ(sampler_lettered('a'), SamplerKind::adaptive_p);
  EXPECT_EQ(sampler_lettered('K'), std::nullopt);
}

// llama-server's own default, spelled with its letters.
TEST(SamplerKind, DefaultOrder) {
  std::string_view letters = "edskypmxt";
  ASSERT_EQ(default_samplers().size(), letters.size());
  for (std::size_t i = 0; i < letters.size(); ++i) EXPECT_EQ(default_samplers()[i], sampler_lettered(letters[i]));
}

}  // namespace
}  // namespace corral
