#include "residency/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "residency/errors.h"

namespace corral::residency {
namespace {

using testing::HasSubstr;

Limits limits(std::int32_t llm, std::int32_t embedding, std::int32_t reranking, std::int32_t others) {
  Limits result = Limits::of_all(others);
  result.set(ModelType::llm, llm);
  result.set(ModelType::embedding, embedding);
  result.set(ModelType::reranking, reranking);
  return result;
}

TEST(MaxLoadedModels, DefaultsToOneOfEachType) { EXPECT_EQ(Limits(), Limits::of_all(1)); }

TEST(MaxLoadedModels, OneNumberIsForEveryType) {
  EXPECT_EQ(parse_max_loaded_models("3"), Limits::of_all(3));
  EXPECT_EQ(parse_max_loaded_models(" 1 "), Limits::of_all(1));
}

TEST(MaxLoadedModels, MinusOneIsUnlimited) {
  const auto parsed = parse_max_loaded_models("-1");
  EXPECT_EQ(parsed, Limits::of_all(kUnlimited));
  EXPECT_TRUE(parsed->allows(ModelType::llm, 1'000'000));
  EXPECT_FALSE(Limits().allows(ModelType::llm, 2));
}

TEST(MaxLoadedModels, OlderFormIsPaddedWithOne) {
  EXPECT_EQ(parse_max_loaded_models("5 2 4"), limits(5, 2, 4, 1));
  EXPECT_EQ(parse_max_loaded_models("5,2,4"), limits(5, 2, 4, 1));
  EXPECT_EQ(parse_max_loaded_models("5 2"), limits(5, 2, 1, 1));
  EXPECT_EQ(parse_max_loaded_models("-1 2"), limits(-1, 2, 1, 1));
}

TEST(MaxLoadedModels, NamedForm) {
  EXPECT_EQ(parse_max_loaded_models("llm=3,embedding=2,*=1"), limits(3, 2, 1, 1));
  EXPECT_EQ(parse_max_loaded_models("*=-1, llm=2"), limits(2, -1, -1, -1));
  EXPECT_EQ(parse_max_loaded_models("reranking=7"), limits(1, 1, 7, 1));
}

TEST(MaxLoadedModels, RefusalsNameTheValueAndTheFault) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "nothing given"},
      {" , ", "nothing given"},
      {"0", "0 would let no model load"},
      {"3 0", "0 would let no model load"},
      {"llm=0", "0 would let no model load"},
      {"-2", "-2 is negative"},
      {"three", "\"three\" is not a whole number"},
      {"1.5", "\"1.5\" is not a whole number"},
      {"99999999999", "\"99999999999\" is too large"},
      {"1 2 3 4", "4 numbers"},
      {"llm=1,llm=2", "\"llm\" is given twice"},
      {"llms=1", "no type \"llms\""},
      {"llm=1 2", "\"2\" has no type="},
      {"llm=", "\"\" is not a whole number"},
  };
  for (const auto& [text, fault] : rows) {
    const auto parsed = parse_max_loaded_models(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, errc::bad_limit);
    EXPECT_EQ(parsed.error().param, "max_loaded_models");
    EXPECT_THAT(parsed.error().message, HasSubstr("\"" + std::string(text) + "\""));
    EXPECT_THAT(parsed.error().message, HasSubstr(fault));
  }
}

TEST(MaxLoadedModels, TextParsesBack) {
  for (const char* text : {"1", "-1", "5 2 4", "llm=3,*=2", "tts=4", "image=2,tts=3,*=-1"}) {
    const auto parsed = parse_max_loaded_models(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(parse_max_loaded_models(to_text(*parsed)), *parsed) << text << " -> " << to_text(*parsed);
  }
  EXPECT_EQ(to_text(Limits::of_all(3)), "3");
  EXPECT_EQ(to_text(limits(3, 2, 1, 1)), "llm=3,embedding=2,*=1");
}

}  // namespace
}  // namespace corral::residency
