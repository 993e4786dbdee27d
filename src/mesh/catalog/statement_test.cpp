#include <gmock/gmock.h>

#include "mesh/catalog/announcement.h"
#include "mesh/catalog/fields.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::mesh {
namespace {

using testing::SizeIs;

ModelOnDisk model(std::string name, std::uint64_t bytes = 4'000'000'000) {
  ModelOnDisk made;
  made.name = std::move(name);
  made.aliases = {"short"};
  made.type = ModelType::embedding;
  made.recipe = "llamacpp";
  made.checkpoint = "org/repo:Q4_K_M";
  made.labels = {"chat", "vision"};
  made.architecture = "qwen3";
  made.quantisation = "Q4_K_M";
  made.parameters = 7'000'000'000;
  made.bytes = bytes;
  made.hash = sha256({made.name});
  made.created = 1'700'000'000;
  made.context_trained = 131'072;
  made.context_usable = 32'768;
  made.predicted = bytes + 1;
  made.device = Device::gpu;
  made.tokens_per_second = 42.5;
  made.tools = made.thinking = made.vision = made.may_copy = true;
  return made;
}

Statement full() {
  Statement said;
  said.name = "box";
  said.role = Role::worker;
  said.addresses = {{"192.168.1.7", 8100}, {"fd00::1", 8100}};
  said.version = "0.1";
  said.engine = "0.5.0";
  said.minor = 3;
  said.disk_free = 1'000'000'000'000;
  said.takes_copies = said.looking = true;
  said.memory = {{"cpu", false, 64, 32, 8, 16}, {"cuda0", true, 24, 20, 0, 24}};
  said.models = {model("a"), model("b")};
  said.more_models = 7;
  said.wants = {{"w", "org/w:Q8_0"}};
  said.serving = {{"a", ServingState::loading, 8192, 4, 2, 1, 33.25, 0, 5'000, true}};
  said.demand = {{"a", 12.5}};
  said.links = {{test_key(9).id(), 300, 100'000'000}};
  said.copying = {{sha256({"c"}), 5, 9, 2, true}};
  return said;
}

std::vector<std::string_view> views(const std::vector<std::string>& pages) { return {pages.begin(), pages.end()}; }

TEST(Statement, ComesBackAsItWasSaid) {
  const auto said = full();
  const auto pages = encode_pages(said);
  EXPECT_EQ(*decode_pages(views(pages)), said);
  EXPECT_EQ(encode_pages(said), pages);
}

TEST(Statement, AChangeOfLoadChangesOnePage) {
  auto said = full();
  for (int i = 0; i < 500; ++i) said.models.push_back(model("model-" + std::to_string(i)));
  const auto before = encode_pages(said);
  said.serving.front().running = 9;
  const auto after = encode_pages(said);
  ASSERT_EQ(before.size(), after.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i];
  EXPECT_EQ(changed, 1u);
  EXPECT_GT(before.size(), 8u);
}

TEST(Statement, OneModelMoreChangesOnePageOfModels) {
  auto said = full();
  for (int i = 0; i < 500; ++i) said.models.push_back(model("model-" + std::to_string(i)));
  const auto before = encode_pages(said);
  said.models.push_back(model("one more"));
  const auto after = encode_pages(said);
  ASSERT_EQ(before.size(), after.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i];
  EXPECT_EQ(changed, 1u);
}

TEST(Statement, TenThousandModelsAreCutToWhatFitsServedOnesFirst) {
  Statement said;
  for (int i = 0; i < 10'000; ++i) said.models.push_back(model("model-" + std::to_string(i) + std::string(200, 'x')));
  said.serving = {{.name = said.models[9'999].name}};
  const auto pages = encode_pages(said);
  Head head;
  for (const auto& page : pages) head.pages.push_back(ref_of(page));
  EXPECT_LE(head.page_bytes(), kMostStatementBytes);
  EXPECT_LE(pages.size(), kMostPages);
  for (const auto& page : pages) EXPECT_LE(page.size(), kLargestStatementPage);
  const auto read = *decode_pages(views(pages));
  EXPECT_EQ(read.models.size() + read.more_models, 10'000u);
  EXPECT_TRUE(std::ranges::any_of(read.models, [&](const auto& one) { return one.name == said.models[9'999].name; }));
}

TEST(Statement, EntriesAndFieldsOfLaterVersionsArePassedOver) {
  auto pages = encode_pages(full());
  std::string later;
  ByteWriter(later).number<std::uint8_t>(200).sized<std::uint32_t>("no fields at all");
  FieldWriter fields;
  fields.text(1, "c").text(99, "later").number(10, 5);
  ByteWriter(later).number<std::uint8_t>(3).sized<std::uint32_t>(fields.bytes());
  pages.push_back(later);
  const auto said = *decode_pages(views(pages));
  EXPECT_THAT(said.models, SizeIs(3));
  EXPECT_EQ(said.models.back().name, "c");
  EXPECT_EQ(said.models.back().bytes, 5u);
}

TEST(Statement, NamesOfOthersCantHarmATerminalOrAFormat) {
  auto said = full();
  said.name = "box\x1b[31m\n\xff!";
  said.models.push_back(model("evil\nname"));
  auto pages = encode_pages(said);
  std::string page;  // as a liar would send it
  FieldWriter fields;
  fields.text(1, "evil\nname")
      .text(7,
            "a\x1b"
            "b");
  ByteWriter(page).number<std::uint8_t>(3).sized<std::uint32_t>(fields.bytes());
  pages.push_back(page);
  const auto read = *decode_pages(views(pages));
  EXPECT_EQ(read.name, "box[31m\xEF\xBF\xBD!");
  EXPECT_THAT(read.models, SizeIs(2));
}

TEST(Statement, NumbersAreBoundedAndCutOffPagesRefused) {
  auto said = full();
  said.memory.front().total = ~std::uint64_t{0};
  const auto pages = encode_pages(said);
  EXPECT_EQ(decode_pages(views(pages))->memory.front().total, kStatementLimits.number);
  for (const auto& page : pages) {
    const auto cut = decode_pages({std::string_view(page).substr(0, page.size() - 1)});
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, errc::malformed);
  }
}

TEST(Statement, WhatMovesByItselfIsNewsNowAndThen) {
  auto a = full(), b = full();
  a.memory.front().free = 10'000'000'000;
  b.memory.front().free = 10'005'000'000;
  a.serving.front().idle_ms = 61'000;
  b.serving.front().idle_ms = 63'900;
  EXPECT_EQ(rounded(a), rounded(b));
  EXPECT_LE(rounded(b).memory.front().free, b.memory.front().free);
}

TEST(Head, IsSignedWholeAndForOneMesh) {
  const MeshId mesh = mesh_id({test_key(1).public_key(), {}});
  Head head;
  head.boot = {3, {}};
  head.seq = 7;
  head.pages = {ref_of("a page")};
  head.more = "later";
  sign(head, test_key(2), mesh);
  std::string bytes;
  encode(head, bytes);
  EXPECT_EQ(bytes.size(), encoded_size(head));
  ByteReader in(bytes);
  const auto read = *decode_head(in);
  EXPECT_EQ(read, head);
  EXPECT_TRUE(in.done());
  EXPECT_TRUE(is_genuine(mesh, read));
  EXPECT_FALSE(is_genuine(mesh_id({test_key(3).public_key(), {}}), read));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    ByteReader other(changed);
    const auto forged = decode_head(other);
    EXPECT_FALSE(forged && other.done() && is_genuine(mesh, *forged)) << i;
  }
}

TEST(Head, OverItsBoundsIsRefused) {
  Head head;
  head.boot = {1, {}};
  head.seq = 1;
  const auto refused = [&] {
    std::string bytes;
    encode(head, bytes);
    ByteReader in(bytes);
    return !decode_head(in);
  };
  EXPECT_FALSE(refused());
  head.pages.assign(kMostPages + 1, {});
  EXPECT_TRUE(refused());
  head.pages.assign(1, {kLargestStatementPage + 1, {}});
  EXPECT_TRUE(refused());
  head.pages.assign(kMostPages, {kLargestStatementPage, {}});
  EXPECT_TRUE(refused());
  head.pages.clear();
  head.boot.epoch = kMaxEpoch;
  EXPECT_TRUE(refused());
  head.boot.epoch = 0;
  EXPECT_TRUE(refused());
}

}  // namespace
}  // namespace corral::mesh
