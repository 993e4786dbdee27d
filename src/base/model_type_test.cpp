#include "base/model_type.h"

#include <vector>

#include <gtest/gtest.h>

namespace corral {
namespace {

TEST(ModelType, EveryNameParsesBackToItsType) {
  for (ModelType type : kModelTypes) EXPECT_EQ(parse_model_type(name_of(type)), type);
  EXPECT_EQ(parse_model_type("LLM"), std::nullopt);
  EXPECT_EQ(parse_model_type(""), std::nullopt);
}

TEST(ModelType, LabelsDecideTheType) {
  const std::vector<std::pair<std::vector<std::string>, ModelType>> rows{
      {{}, ModelType::llm},
      {{"vision", "tool-calling"}, ModelType::llm},
      {{"embedding"}, ModelType::embedding},
      {{"embeddings"}, ModelType::embedding},
      {{"hot", "rerank"}, ModelType::reranking},
      {{"reranking"}, ModelType::reranking},
      {{"audio"}, ModelType::transcription},
      {{"transcription"}, ModelType::transcription},
      {{"image"}, ModelType::image},
      {{"tts"}, ModelType::tts},
      {{"image", "tts"}, ModelType::image},
  };
  for (const auto& [labels, type] : rows) EXPECT_EQ(type_of_labels(labels), type);
}

TEST(Device, IsABitmask) {
  static_assert(static_cast<int>(Device::cpu) == 1 && static_cast<int>(Device::gpu) == 2 &&
                static_cast<int>(Device::npu) == 4);
  const Device hybrid = Device::gpu | Device::npu;
  EXPECT_TRUE(has(hybrid, Device::npu));
  EXPECT_TRUE(has(hybrid, Device::gpu));
  EXPECT_FALSE(has(hybrid, Device::cpu));
  EXPECT_FALSE(has(Device::none, hybrid));
}

TEST(Device, NamesParseBack) {
  for (int bits = 1; bits < 8; ++bits) {
    const auto set = static_cast<Device>(bits);
    EXPECT_EQ(parse_device(name_of(set)), set) << name_of(set);
  }
  EXPECT_EQ(name_of(Device::gpu | Device::npu), "gpu|npu");
  EXPECT_EQ(name_of(Device::none), "none");
  EXPECT_EQ(parse_device("tpu"), std::nullopt);
  EXPECT_EQ(parse_device(""), std::nullopt);
  EXPECT_EQ(parse_device("gpu|"), std::nullopt);
}

}  // namespace
}  // namespace corral
