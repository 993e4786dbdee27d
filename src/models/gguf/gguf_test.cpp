#include "models/gguf/gguf.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "models/errors.h"
#include "models/gguf/gguf_facts.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/gguf/gguf_types.h"

namespace corral::models {
namespace {

using testing::HasSubstr;

Result<GgufReader> open_bytes(std::span<const std::byte> bytes) {
  return GgufReader::from(memory_source(bytes), "test");
}

// Everything that is read of a file: metadata, tensors, facts.
Result<GgufFacts> facts_of(std::span<const std::byte> bytes) {
  Result<GgufReader> reader = open_bytes(bytes);
  if (!reader) return std::unexpected(reader.error());
  return read_facts(*reader);
}

Error error_of(const GgufWriter& writer) {
  const std::vector<std::byte> bytes = writer.bytes();
  const Result<GgufFacts> facts = facts_of(bytes);
  return facts ? Error({}, "no error") : facts.error();
}

TEST(Gguf, ReadsValuesOfEveryKind) {
  GgufWriter writer;
  writer.text("text", "hällo").u32("u32", 7).u16("u16", 8).i64("i64", -9).f32("f32", 0.5F).flag("flag", true);
  writer.texts("texts", {"a", "", "ccc"}).u32s("numbers", {3, 1, 2}).text("after", "x");
  const auto bytes = writer.bytes();
  const Result<GgufReader> reader = open_bytes(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  const GgufMetadata& metadata = reader->metadata();
  EXPECT_EQ(metadata.text("text"), "hällo");
  EXPECT_EQ(metadata.integer("u32"), 7U);
  EXPECT_EQ(metadata.integer("u16"), 8U);
  EXPECT_EQ(metadata.integer("i64"), std::nullopt) << "negative";
  EXPECT_EQ(std::get<std::int64_t>(*metadata.find("i64")), -9);
  EXPECT_EQ(std::get<double>(*metadata.find("f32")), 0.5);
  EXPECT_EQ(metadata.flag("flag"), true);
  ASSERT_NE(metadata.array("texts"), nullptr);
  EXPECT_EQ(metadata.array("texts")->count, 3U);
  EXPECT_EQ(metadata.array("numbers")->integers, (std::vector<std::int64_t>{3, 1, 2}));
  EXPECT_EQ(metadata.text("after"), "x") << "arrays are stepped over to the byte";
  EXPECT_EQ(metadata.text("u32"), std::nullopt) << "another kind";
  EXPECT_EQ(metadata.find("absent"), nullptr);
}

TEST(Gguf, ReadsTensorsOnDemandAndAgain) {
  const auto bytes = GgufWriter::model("llama").tensor("q.weight", {64, 2}, 8).bytes();
  Result<GgufReader> reader = open_bytes(bytes);
  ASSERT_TRUE(reader);
  for (int round = 0; round < 2; ++round) {
    std::vector<std::string> names;
    std::vector<std::uint64_t> sizes;
    const auto visited = reader->each_tensor([&](const GgufTensor& tensor) {
      names.emplace_back(tensor.name);
      sizes.push_back(tensor.bytes.value_or(0));
    });
    ASSERT_TRUE(visited) << visited.error().message;
    EXPECT_EQ(names, (std::vector<std::string>{"token_embd.weight", "q.weight"}));
    EXPECT_EQ(sizes, (std::vector<std::uint64_t>{32 * 4 * 4, 4 * 34}));
  }
}

TEST(Gguf, ReadsVersion2AsVersion3) {
  GgufWriter writer = GgufWriter::model("llama");
  writer.version = 2;
  EXPECT_EQ(error_of(writer).message, "no error");
}

TEST(Gguf, RefusesOtherVersionsAndByteOrders) {
  GgufWriter writer = GgufWriter::model("llama");
  for (const std::uint32_t version : {0U, 1U, 4U}) {
    writer.version = version;
    EXPECT_EQ(error_of(writer).code, errc::unsupported_version) << version;
  }
  writer.version = 0x03000000;
  EXPECT_EQ(error_of(writer).code, errc::unsupported_version);
  EXPECT_THAT(error_of(writer).message, HasSubstr("byte order"));
}

TEST(Gguf, RefusesWhatIsNoGguf) {
  GgufWriter writer;
  writer.magic = 0x46554748;
  EXPECT_EQ(error_of(writer).code, errc::not_gguf);
  EXPECT_EQ(facts_of({}).error().code, errc::not_gguf);
  const std::array<std::byte, 3> little{};
  EXPECT_EQ(facts_of(little).error().code, errc::not_gguf);
}

TEST(Gguf, EveryTruncationIsAnErrorAndSaysSo) {
  const auto bytes = GgufWriter::model("llama")
                         .text("tokenizer.chat_template", std::string(300, 't'))
                         .u32s("numbers", {1, 2, 3})
                         .tensor("blk.0.weight", {32, 8}, 8)
                         .bytes();
  ASSERT_TRUE(facts_of(bytes));
  // The file's last tensor is laid out as F32 but is Q8_0: what follows its real end is padding that may be missing.
  const std::size_t padding = 32 * 8 * 4 - 8 * 34;
  for (std::size_t length = 0; length + padding < bytes.size(); ++length) {
    const Result<GgufFacts> facts = facts_of(std::span(bytes).first(length));
    ASSERT_FALSE(facts) << length;
    EXPECT_EQ(facts.error().code, length < 4 ? errc::not_gguf : errc::truncated) << length;
  }
}

TEST(Gguf, FlippedBytesNeverDoHarm) {
  const auto original =
      GgufWriter::model("llama").u32s("numbers", {1, 2, 3}).tensor("cls.output.weight", {32, 2}).bytes();
  std::mt19937 random(20240501);
  std::size_t sound = 0;
  for (int round = 0; round < 20'000; ++round) {
    auto bytes = original;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random() % 2 == 0 ? random() % 256 : 255);
    }
    sound += facts_of(bytes).has_value() ? 1 : 0;
  }
  EXPECT_GT(sound, 0U) << "some flips hit weights or texts";
}

TEST(Gguf, HugeCountsAreRefusedWithoutAllocating) {
  const std::uint64_t huge[] = {1ULL << 20, 1ULL << 32, 1ULL << 63, ~0ULL - 100};
  for (const std::uint64_t count : huge) {
    GgufWriter pairs = GgufWriter::model("llama");
    pairs.extra_pairs = count;
    EXPECT_TRUE(error_of(pairs).code == errc::malformed || error_of(pairs).code == errc::truncated) << count;
    GgufWriter tensors = GgufWriter::model("llama");
    tensors.extra_tensors = count;
    EXPECT_TRUE(error_of(tensors).code == errc::malformed || error_of(tensors).code == errc::truncated) << count;
    for (const GgufType element : {GgufType::u8, GgufType::u64, GgufType::text, GgufType::boolean}) {
      GgufWriter array = GgufWriter::model("llama").array("big", element, count);
      EXPECT_TRUE(error_of(array).code == errc::malformed || error_of(array).code == errc::truncated) << count;
    }
    GgufWriter text = GgufWriter::model("llama").begin("text", GgufType::text).put(count);
    EXPECT_EQ(error_of(text).code, errc::truncated) << count;
    GgufWriter key = GgufWriter::model("llama").begin("", GgufType::text).put(count);
    EXPECT_EQ(error_of(key).code, errc::malformed) << "an empty key";
  }
}

TEST(Gguf, RefusesUnknownTypesAndNestedArrays) {
  GgufWriter unknown = GgufWriter::model("llama").begin("odd", static_cast<GgufType>(13)).put(std::uint64_t{0});
  EXPECT_EQ(error_of(unknown).code, errc::malformed);
  EXPECT_THAT(error_of(unknown).message, HasSubstr("'test': key 'odd' has unknown type 13"));
  GgufWriter nested = GgufWriter::model("llama").array("deep", GgufType::array, 1);
  for (int depth = 0; depth < 100'000; ++depth) nested.put(std::uint32_t{9}).put(std::uint64_t{1});
  EXPECT_EQ(error_of(nested).code, errc::malformed);
  GgufWriter element = GgufWriter::model("llama").array("odd", static_cast<GgufType>(77), 1);
  EXPECT_EQ(error_of(element).code, errc::malformed);
}

TEST(Gguf, RefusesKeysThatStandTwice) {
  const Error error = error_of(GgufWriter::model("llama").u32("same", 1).u32("same", 2));
  EXPECT_EQ(error.code, errc::malformed);
  EXPECT_THAT(error.message, HasSubstr("key 'same' is duplicated"));
}

TEST(Gguf, RefusesImpossibleTensors) {
  EXPECT_EQ(error_of(GgufWriter::model("llama").tensor("t", {1, 1, 1, 1, 1})).code, errc::malformed);
  EXPECT_EQ(error_of(GgufWriter::model("llama").tensor("t", {33}, 8)).code, errc::malformed) << "part of a block";
  EXPECT_EQ(error_of(GgufWriter::model("llama").tensor(std::string(2000, 'n'), {1})).code, errc::malformed);
  GgufWriter wrapping = GgufWriter::model("llama");
  wrapping.tensor("t", {1ULL << 40, 1ULL << 24});  // 2^64 elements: the writer's own size wraps to none
  EXPECT_EQ(error_of(wrapping).code, errc::malformed);
}

TEST(Gguf, RefusesOddAlignments) {
  for (const std::uint32_t alignment : {0U, 3U, 1U << 30}) {
    EXPECT_EQ(error_of(GgufWriter::model("llama").u32("general.alignment", alignment)).code, errc::malformed);
  }
  EXPECT_EQ(error_of(GgufWriter::model("llama").text("general.alignment", "32")).code, errc::malformed);
}

TEST(Gguf, LongTextsAndArraysAreCountedNotKept) {
  std::vector<std::string> tokens(200'000, "token");
  GgufWriter writer = GgufWriter::model("llama");
  writer.text("long", std::string(3 << 20, 'x'))
      .texts("merges", tokens)
      .u32s("scores", std::vector<std::uint32_t>(5'000));
  const auto bytes = writer.text("after", "y").bytes();
  const Result<GgufReader> reader = open_bytes(bytes);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ(std::get<GgufLongText>(*reader->metadata().find("long")).length, 3U << 20);
  EXPECT_EQ(reader->metadata().array("merges")->count, 200'000U);
  EXPECT_EQ(reader->metadata().array("scores")->count, 5'000U);
  EXPECT_TRUE(reader->metadata().array("scores")->integers.empty());
  EXPECT_EQ(reader->metadata().text("after"), "y");
}

TEST(Gguf, KeptMemoryIsBounded) {
  GgufWriter writer = GgufWriter::model("llama");
  const std::string long_key(60'000, 'k');
  for (int i = 0; i < 400; ++i) writer.flag(long_key + std::to_string(i), true);
  EXPECT_EQ(error_of(writer).code, errc::malformed);
}

TEST(Gguf, FilesThatCannotBeReadAreTold) {
  const auto absent = GgufReader::open("/nonexistent/model.gguf");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, errc::file_not_found);
  EXPECT_THAT(absent.error().message, HasSubstr("/nonexistent/model.gguf"));
  const auto directory = GgufReader::open(std::filesystem::temp_directory_path());
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, errc::unreadable);
}

TEST(GgufTypes, NamesOfQuantisations) {
  EXPECT_EQ(file_type_name(15), "Q4_K_M");
  EXPECT_EQ(file_type_name(1024 + 7), "Q8_0");
  EXPECT_EQ(file_type_name(999), std::nullopt);
  for (const auto* name :
       {"Q4_K_M", "q8_0", "IQ2_XXS", "F16", "bf16", "UD-Q4_K_XL", "MXFP4_MOE", "MXFP4", "TQ1_0", "Q6_K"}) {
    EXPECT_TRUE(is_quantisation(name)) << name;
  }
  for (const auto* name : {"", "q", "qwen3", "Q4x", "0.6B", "instruct", "f17", "UD-", "iq", "q12_0"}) {
    EXPECT_FALSE(is_quantisation(name)) << name;
  }
}

}  // namespace
}  // namespace corral::models
