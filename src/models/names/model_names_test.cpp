#include "models/names/model_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/scan/projectors.h"
#include "models/text.h"

namespace corral::models {
namespace {

using testing::ElementsAre;

TEST(ModelNames, Shards) {
  const auto shard = parse_shard("big-Q8_0-00002-of-00005");
  ASSERT_TRUE(shard);
  EXPECT_EQ(shard->set, "big-Q8_0");
  EXPECT_EQ(shard->number, 2U);
  EXPECT_EQ(shard->count, 5U);
  EXPECT_EQ(shard_stem("big", 2, 5), "big-00002-of-00005");
  for (const auto* stem : {"", "big", "-00001-of-00002", "big-00003-of-00002", "big-00000-of-00002",
                           "big-0001-of-00002", "big-00001-to-00002", "big-+0001-of-00002"}) {
    EXPECT_FALSE(parse_shard(stem)) << stem;
  }
}

TEST(ModelNames, Quantisations) {
  struct Case {
    const char* stem;
    const char* base;
    const char* quantisation;
  };
  const Case cases[] = {{"Qwen3-0.6B-Q8_0", "Qwen3-0.6B", "Q8_0"},
                        {"Qwen3-0.6B-UD-Q4_K_XL", "Qwen3-0.6B", "UD-Q4_K_XL"},
                        {"model.f16", "model", "f16"},
                        {"tiny-llama", "tiny-llama", ""},
                        {"Q4_K_M", "", "Q4_K_M"},
                        {"UD-Q4_K_XL", "", "UD-Q4_K_XL"},
                        {"", "", ""}};
  for (const Case& test : cases) {
    EXPECT_EQ(split_quantisation(test.stem).base, test.base) << test.stem;
    EXPECT_EQ(split_quantisation(test.stem).quantisation, test.quantisation) << test.stem;
  }
}

TEST(ModelNames, AreUniqueAndStayBriefWhereTheyCan) {
  const std::vector<WantedNames> wanted = {{"x", "x", "m/x"},     {"y", "sub/y", "m/sub/y"}, {"x", "sub/x", "m/sub/x"},
                                           {"x", "x", "other/x"}, {"x", "x", "other/x"},     {"sub/x", "sub/x", "z"}};
  EXPECT_THAT(assign_names(wanted), ElementsAre("x", "y", "m/sub/x", "other/x", "other/x#2", "sub/x"));
}

TEST(ModelNames, ALaterFileFromAnAddressLeavesTheNamesOfOthersAlone) {
  const WantedNames first{"x", "h/x", "h/x", 10}, second{"x", "h/x", "h/x", 20}, third{"x", "h/x", "h/x", 30};
  EXPECT_THAT(assign_names({first}), ElementsAre("x"));
  EXPECT_THAT(assign_names({third, second, first}), ElementsAre("h/x#2", "h/x", "x"));
  EXPECT_THAT(assign_names({{"x", "sub/x", "m/sub/x"}, first}), ElementsAre("x", "h/x"));
}

TEST(Projectors, FollowTheModelsName) {
  const std::vector<ProjectorChoice> projectors = {{"mmproj-other-7b-f16"},
                                                   {"mmproj-gemma-3-4b-it-f32"},
                                                   {"mmproj-gemma-3-4b-it-f16"},
                                                   {"gemma-3-4b-it-qat.mmproj-BF16"}};
  EXPECT_EQ(choose_projector("gemma-3-4b-it-Q4_K_M", false, projectors), 2U) << "F16 goes first";
  EXPECT_EQ(choose_projector("gemma-3-4b-it-qat-Q4_0", false, projectors), 3U) << "the longest match";
  EXPECT_EQ(choose_projector("gemma-3-4b-it-abliterated-Q4_0", false, projectors), 2U);
  EXPECT_EQ(choose_projector("gemma-3-4", false, projectors), std::nullopt) << "whole words only";
  EXPECT_EQ(choose_projector("llama", false, projectors), std::nullopt);
}

TEST(Projectors, WithoutANameGoToTheOnlyFamily) {
  EXPECT_EQ(choose_projector("gemma-Q4_0", true, {{"mmproj-model-bf16"}, {"mmproj-F16"}}), 1U);
  EXPECT_EQ(choose_projector("gemma-Q4_0", false, {{"mmproj-model-f16"}}), std::nullopt);
  EXPECT_EQ(choose_projector("gemma-Q4_0", true, {}), std::nullopt);
}

TEST(Text, IsMadePrintable) {
  EXPECT_EQ(printable("plain ä 漢 😀"), "plain ä 漢 😀");
  EXPECT_EQ(printable("a\nb\x7F\x01"), "a?b??");
  EXPECT_EQ(printable("\xC0\xAF \xED\xA0\x80 \xF5 \xE6\xBC"), "?? ??? ? ??");
  EXPECT_EQ(printable("a\u0080b\u009B2J\u00A0"), "a?b?2J\u00A0") << "C1 controls";
  EXPECT_EQ(printable("äää", 5), "ää") << "cut between characters";
}

}  // namespace
}  // namespace corral::models
