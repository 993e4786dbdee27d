#include "downloads/hub/choice.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "downloads/errors.h"
#include "downloads/names.h"

namespace corral::downloads {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<TreeFile> tree(std::initializer_list<const char*> paths) {
  std::vector<TreeFile> files;
  for (const char* path : paths)
    files.push_back({.path = path, .size = 100 + files.size(), .oid = std::string(64, 'a')});
  return files;
}

std::vector<std::string> paths(const std::vector<TreeFile>& files) {
  std::vector<std::string> names;
  for (const TreeFile& file : files) names.push_back(file.path);
  return names;
}

std::vector<std::string> chosen(const std::vector<TreeFile>& files, std::string_view tag, std::string_view file = "") {
  const auto variant = choose(files, "org/repo", tag, file);
  return variant ? paths(variant->in_order()) : std::vector{variant.error().message};
}

TEST(Choice, Q4KMThenQ80ThenTheFirst) {
  EXPECT_THAT(chosen(tree({"m-Q2_K.gguf", "m-Q8_0.gguf", "m-Q4_K_M.gguf"}), ""), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(chosen(tree({"m-Q2_K.gguf", "m-Q8_0.gguf"}), ""), ElementsAre("m-Q8_0.gguf"));
  EXPECT_THAT(chosen(tree({"README.md", "m-Q5_K.gguf", "m-Q2_K.gguf"}), ""), ElementsAre("m-Q2_K.gguf"));
  EXPECT_THAT(chosen(tree({"model.gguf"}), ""), ElementsAre("model.gguf"));
}

TEST(Choice, TagsAreFoundInAnyCaseAndAtTheEndOfWords) {
  const auto files = tree({"m-UD-Q4_K_M.gguf", "m-Q4_K_M.gguf", "m-Q4_K_S.gguf", "m-IQ4_XS-v2.gguf"});
  EXPECT_THAT(chosen(files, "q4_k_m"), ElementsAre("m-Q4_K_M.gguf"));
  EXPECT_THAT(chosen(files, "UD-Q4_K_M"), ElementsAre("m-UD-Q4_K_M.gguf"));
  EXPECT_THAT(chosen(files, "iq4_xs"), ElementsAre("m-IQ4_XS-v2.gguf"));
  EXPECT_THAT(chosen(files, "Q4_K"), ElementsAre(HasSubstr("has no 'Q4_K'; it has: ")));
}

// Names of the list were refused, or meant another variant.
TEST(Choice, EachVariantHasANameThatMeansItAlone) {
  const auto files = tree({"My Model (v2) [final]+é.gguf", "a/m.gguf", "b/m.gguf", "latest.gguf", "one-Q4_K_M.gguf",
                           "two-Q4_K_M.gguf", "three-Q5_K_M.gguf", "four.gguf.gguf", "q6_k.gguf", "five-Q6_K.gguf",
                           "big-Q2_K-00001-of-00002.gguf", "big-Q2_K-00002-of-00002.gguf", "50% off?.gguf"});
  std::vector<std::string> names;
  for (const Variant& variant : variants_of(files)) {
    names.push_back(variant.tag);
    const auto source = parse_source("org/repo:" + variant.tag);
    ASSERT_TRUE(source) << source.error().message;
    const auto found = choose(files, "org/repo", source->tag, source->file);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(found->files, variant.files) << variant.tag;
    EXPECT_EQ(found->tag, variant.tag);
    // The name of its first file means it, too.
    const auto by_file = parse_source("org/repo:" + variant.files.front().path);
    ASSERT_TRUE(by_file) << by_file.error().message;
    EXPECT_EQ(choose(files, "org/repo", by_file->tag, by_file->file)->files, variant.files);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAre("My Model (v2) [final]+é", "a/m.gguf", "b/m.gguf", "latest.gguf",
                                                   "one-Q4_K_M", "two-Q4_K_M", "Q5_K_M", "four.gguf.gguf", "q6_k.gguf",
                                                   "five-Q6_K", "Q2_K", "50% off?"));
  // What several have means the first.
  EXPECT_THAT(chosen(files, "Q4_K_M"), ElementsAre("one-Q4_K_M.gguf"));
  EXPECT_THAT(chosen(files, ""), ElementsAre("one-Q4_K_M.gguf"));
}

TEST(Choice, SplitSetsComeWholeTheFirstPartLast) {
  const auto files = tree({"Q8_0/m-00002-of-00002.gguf", "Q8_0/m-00001-of-00002.gguf", "m-Q6_K-00001-of-00003.gguf"});
  EXPECT_THAT(chosen(files, "Q8_0"), ElementsAre("Q8_0/m-00002-of-00002.gguf", "Q8_0/m-00001-of-00002.gguf"));
  EXPECT_THAT(chosen(files, "", "Q8_0/m-00002-of-00002.gguf"),
              ElementsAre("Q8_0/m-00002-of-00002.gguf", "Q8_0/m-00001-of-00002.gguf"));
  EXPECT_THAT(chosen(files, "Q6_K"), ElementsAre(HasSubstr("has no 'Q6_K'")));  // two of three are missing
}

TEST(Choice, WhatIsNoModelIsNotTakenByMistake) {
  const auto files = tree({"imatrix.gguf", "mmproj-F16.gguf", "mtp-m-Q4_K_M.gguf", "eagle3-m-Q4_K_M.gguf",
                           "m-lora-Q4_K_M.gguf", "draft-Q4_K_M.gguf", "m-Q8_0.gguf"});
  EXPECT_THAT(chosen(files, ""), ElementsAre("mmproj-F16.gguf", "m-Q8_0.gguf"));
  EXPECT_THAT(chosen(files, "", "mtp-m-Q4_K_M.gguf"), ElementsAre("mtp-m-Q4_K_M.gguf"));
  EXPECT_THAT(chosen(files, "", "mmproj-F16.gguf"), ElementsAre("mmproj-F16.gguf"));
  EXPECT_THAT(chosen(tree({"model.safetensors"}), ""), ElementsAre(HasSubstr("has no GGUF model")));
}

TEST(Choice, OfProjectorsF16IsPreferred) {
  const auto taken = [](const std::vector<TreeFile>& files) { return chosen(files, "").front(); };
  EXPECT_EQ(taken(tree({"m-Q4_K_M.gguf", "mmproj-BF16.gguf", "mmproj-F16.gguf", "mmproj-F32.gguf"})),
            "mmproj-F16.gguf");
  EXPECT_EQ(taken(tree({"m-Q4_K_M.gguf", "mmproj-model-f32.gguf", "mmproj-model-bf16.gguf"})),
            "mmproj-model-bf16.gguf");
  EXPECT_EQ(taken(tree({"m-Q4_K_M.gguf", "mmproj-F32.gguf", "mmproj-Q8_0.gguf"})), "mmproj-Q8_0.gguf");
  EXPECT_EQ(taken(tree({"m-Q4_K_M.gguf", "mmproj-Q4_0.gguf", "m.mmproj-f32.gguf"})), "m.mmproj-f32.gguf");
}

TEST(Choice, TheNearestProjectorComesAlong) {
  const auto files = tree({"mmproj-F32.gguf", "mmproj-Q8_0.gguf", "m-Q8_0.gguf", "m-BF16.gguf", "mmproj-BF16.gguf",
                           "sub/n-Q4_K_M.gguf", "sub/mmproj-F32.gguf", "other/mmproj-Q4_0.gguf"});
  EXPECT_THAT(chosen(files, "Q8_0"), ElementsAre("mmproj-BF16.gguf", "m-Q8_0.gguf"));
  EXPECT_THAT(chosen(files, "BF16"), ElementsAre("mmproj-BF16.gguf", "m-BF16.gguf"));
  EXPECT_THAT(chosen(files, "Q4_K_M"), ElementsAre("sub/mmproj-F32.gguf", "sub/n-Q4_K_M.gguf"));
}

TEST(Choice, VariantsSayWhatTheyTakeAndTheLargestThatFitsIsFound) {
  const auto all = variants_of(tree({"m-Q2_K.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf", "mmproj-F16.gguf"}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].tag, "Q2_K");
  EXPECT_EQ(all[0].bytes, 100u + 103);
  ASSERT_NE(largest_within(all, 204), nullptr);
  EXPECT_EQ(largest_within(all, 204)->tag, "Q4_K_M");
  EXPECT_EQ(largest_within(all, 10), nullptr);
}

}  // namespace
}  // namespace corral::downloads
