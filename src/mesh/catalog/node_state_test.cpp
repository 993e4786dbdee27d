#include <cmath>

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
  made.layers = 32;
  made.layer_bytes = bytes / 33;
  made.cache_bytes = 4'000'000;
  made.ends_bytes = bytes / 33 + 1;
  made.compute_bytes = 300'000'000;
  made.split_context = 8'192;
  made.max_context = 131'072;
  return made;
}

ContentKey key(const std::string& name) { return {sha256({name}), false}; }

template <typename T>
std::vector<T> sorted(std::vector<T> list) {
  std::ranges::sort(list);
  return list;
}

NodeState full() {
  NodeState node_state;
  node_state.name = "box";
  node_state.role = Role::worker;
  node_state.addresses = {{"192.168.1.7", 8100}, {"fd00::1", 8100}};
  node_state.version = "0.1";
  node_state.engine = "0.5.0";
  node_state.minor = 3;
  node_state.disk_free = 1'000'000'000'000;
  node_state.weight_speeds = {{"q8_0", 8'000'000'000}, {"q4_K", 6'000'000'000}};
  node_state.takes_copies = node_state.works = node_state.looking = true;
  node_state.memory = {{"cpu", false, 64, 32, 8, 16}, {"cuda0", true, 24, 20, 0, 24}};
  node_state.models = {model("a"), model("b")};
  node_state.more_models = 7;
  node_state.wants = {{"w", "org/w:Q8_0"}};
  node_state.serving = {{"a", ServingState::loading, 8192, 4, 2, 1, 33.25, 0, 5'000, true}};
  node_state.demand = {{"a", 12.5}};
  node_state.links = {{test_key(9).id(), 300, 100'000'000}};
  node_state.copying = {{sha256({"c"}), 5, 9, 2, true}};
  node_state.groups = {{.model = key("big"),
                        .stage = GroupStage::draining,
                        .running = true,
                        .by_hand = true,
                        .shares = {{test_key(8).id(), 12, 3'000'000'000}, {test_key(9).id(), 20, 5'000'000'000}},
                        .idle_ms = 4000,
                        .tokens_per_second = 7.5,
                        .refusal = "n2 is taken"}};
  node_state.shares = {{test_key(7).id(), {sha256({"huge"}), true}, 9'000'000'000, true}};
  node_state.order = NodeOrder{key("a")};
  node_state.resting = node_state.unloads = node_state.declined = sorted(std::vector{key("a"), key("b")});
  node_state.split_orders = {{key("big"), sorted(std::vector{test_key(8).id(), test_key(9).id()}), 17}};
  node_state.recalled = true;
  return node_state;
}

std::vector<std::string_view> views(const std::vector<std::string>& pages) { return {pages.begin(), pages.end()}; }

TEST(NodeState, ComesBackAsItWasSaid) {
  const auto node_state = full();
  const auto pages = encode_pages(node_state);
  EXPECT_EQ(*decode_pages(views(pages)), node_state);
  EXPECT_EQ(encode_pages(node_state), pages);
}

TEST(NodeState, AnOrderToHaveNothingComesBack) {
  NodeState node_state;
  node_state.order = NodeOrder{};
  const auto pages = encode_pages(node_state);
  EXPECT_EQ(*decode_pages(views(pages)), node_state);
}

// As an older version reads it: kinds of entries and fields that it doesn't know.
TEST(NodeState, GroupsAndOrdersAreOfNoConcernToOlderVersions) {
  auto node_state = full();
  const auto pages = encode_pages(node_state);
  std::vector<std::string> older;
  for (const auto& page : pages) {
    auto& kept = older.emplace_back();
    ByteReader in(page);
    while (!in.rest().empty()) {
      const auto kind = in.number<std::uint8_t>();
      const auto bytes = in.sized<std::uint32_t>();
      ByteWriter(kept).number<std::uint8_t>(kind >= 9 ? 200 : kind).sized<std::uint32_t>(bytes);
    }
  }
  node_state.groups.clear();
  node_state.shares.clear();
  node_state.order.reset();
  node_state.resting.clear();
  node_state.unloads.clear();
  node_state.declined.clear();
  node_state.split_orders.clear();
  EXPECT_EQ(*decode_pages(views(older)), node_state);
}

TEST(NodeState, GroupsBeyondTheBoundsAreCutAndFitTheirPage) {
  NodeState node_state;
  for (int i = 0; i < 100; ++i) {
    GroupReport group{.model = key("g" + std::to_string(i))};
    for (unsigned n = 0; n < 200; ++n) group.shares.push_back({{sha256({std::to_string(n)})}, ~0U, ~std::uint64_t{0}});
    group.refusal = std::string(10'000, 'x');
    node_state.groups.push_back(group);
    node_state.shares.push_back({{sha256({std::to_string(i)})}, key("m"), ~std::uint64_t{0}, false});
    node_state.resting.push_back(key("r" + std::to_string(i)));
    node_state.unloads.push_back(key("u" + std::to_string(i)));
    node_state.declined.push_back(key("d" + std::to_string(i)));
    auto& split = node_state.split_orders.emplace_back(SplitOrder{key("s" + std::to_string(i)), {}});
    for (unsigned n = 0; n < 200; ++n) split.nodes.push_back({sha256({std::to_string(n)})});
  }
  const auto pages = encode_pages(node_state);
  for (const auto& page : pages) EXPECT_LE(page.size(), kLargestNodeStatePage);
  const auto read = *decode_pages(views(pages));
  EXPECT_THAT(read.groups, SizeIs(kNodeStateLimits.groups));
  EXPECT_THAT(read.groups.front().shares, SizeIs(kNodeStateLimits.shares_of_group));
  EXPECT_LE(read.groups.front().shares.front().bytes, kNodeStateLimits.number);
  EXPECT_LE(read.groups.front().shares.front().layers, kNodeStateLimits.layers);
  EXPECT_LE(read.groups.front().refusal.size(), kNodeStateLimits.text);
  EXPECT_THAT(read.shares, SizeIs(kNodeStateLimits.shares));
  EXPECT_THAT(read.resting, SizeIs(kNodeStateLimits.marks));
  EXPECT_THAT(read.unloads, SizeIs(kNodeStateLimits.marks));
  EXPECT_THAT(read.declined, SizeIs(kNodeStateLimits.marks));
  EXPECT_THAT(read.split_orders, SizeIs(kNodeStateLimits.split_orders));
}

TEST(NodeState, GroupsAndOrdersThatMeanNothingArePassedOver) {
  const std::string model = std::string(1, '\0') + std::string(32, 'm'), node(32, 'n');
  std::string page;
  const auto entry = [&](std::uint8_t kind, const FieldWriter& fields) {
    ByteWriter(page).number<std::uint8_t>(kind).sized<std::uint32_t>(fields.bytes());
  };
  entry(9, FieldWriter().number(2, 3));                                 // a group of no model
  entry(9, FieldWriter().raw(1, std::string(33, '\x02')));              // of one that can't be
  entry(9, FieldWriter().raw(1, model + "x"));                          // too long
  entry(9, FieldWriter().raw(1, model).number(2, 77).raw(4, "short"));  // a stage and a share of no sense
  entry(9, FieldWriter().raw(1, model).number(2, 3));                   // the same model again
  entry(10, FieldWriter().raw(2, model));                               // a share of no host
  entry(10, FieldWriter().raw(1, node));                                // of no model
  entry(11, FieldWriter().raw(2, model));                               // a mark of no kind
  entry(11, FieldWriter().number(1, 9).raw(2, model));                  // of a later kind
  entry(11, FieldWriter().number(1, 2));                                // about nothing
  entry(11, FieldWriter().number(1, 1).raw(2, "cut"));                  // an order for a model that can't be
  entry(11, FieldWriter().number(1, 4).raw(2, model).raw(3, node).raw(3, node).raw(3, "n").raw(4, node));
  const auto node_state = *decode_pages({page});
  ASSERT_THAT(node_state.groups, SizeIs(1));
  EXPECT_EQ(node_state.groups.front().stage, GroupStage::waiting);
  EXPECT_THAT(node_state.groups.front().shares, SizeIs(0));
  EXPECT_THAT(node_state.shares, SizeIs(0));
  EXPECT_FALSE(node_state.order);
  EXPECT_THAT(node_state.resting, SizeIs(0));
  ASSERT_THAT(node_state.split_orders, SizeIs(1));
  EXPECT_THAT(node_state.split_orders.front().nodes, SizeIs(1));
  EXPECT_EQ(node_state.split_orders.front().stamp, kNodeStateLimits.number);
}

TEST(NodeState, AChangeOfLoadChangesOnePage) {
  auto node_state = full();
  for (int i = 0; i < 500; ++i) node_state.models.push_back(model("model-" + std::to_string(i)));
  const auto before = encode_pages(node_state);
  node_state.serving.front().running = 9;
  const auto after = encode_pages(node_state);
  ASSERT_EQ(before.size(), after.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i];
  EXPECT_EQ(changed, 1u);
  EXPECT_GT(before.size(), 8u);
}

TEST(NodeState, OneModelMoreChangesOnePageOfModels) {
  auto node_state = full();
  for (int i = 0; i < 500; ++i) node_state.models.push_back(model("model-" + std::to_string(i)));
  const auto before = encode_pages(node_state);
  node_state.models.push_back(model("one more"));
  const auto after = encode_pages(node_state);
  ASSERT_EQ(before.size(), after.size());
  std::size_t changed = 0;
  for (std::size_t i = 0; i < before.size(); ++i) changed += before[i] != after[i];
  EXPECT_EQ(changed, 1u);
}

TEST(NodeState, TenThousandModelsAreCutToWhatFitsServedOnesFirst) {
  NodeState node_state;
  for (int i = 0; i < 10'000; ++i)
    node_state.models.push_back(model("model-" + std::to_string(i) + std::string(200, 'x')));
  node_state.serving = {{.name = node_state.models[9'999].name}};
  const auto pages = encode_pages(node_state);
  Head head;
  for (const auto& page : pages) head.pages.push_back(ref_of(page));
  EXPECT_LE(head.page_bytes(), kMaxStatementBytes);
  EXPECT_LE(pages.size(), kMaxPages);
  for (const auto& page : pages) EXPECT_LE(page.size(), kLargestNodeStatePage);
  const auto read = *decode_pages(views(pages));
  EXPECT_EQ(read.models.size() + read.more_models, 10'000u);
  EXPECT_TRUE(
      std::ranges::any_of(read.models, [&](const auto& one) { return one.name == node_state.models[9'999].name; }));
}

TEST(NodeState, EntriesAndFieldsOfLaterVersionsArePassedOver) {
  auto pages = encode_pages(full());
  std::string later;
  ByteWriter(later).number<std::uint8_t>(200).sized<std::uint32_t>("no fields at all");
  FieldWriter fields;
  fields.text(1, "c").text(99, "later").number(10, 5);
  ByteWriter(later).number<std::uint8_t>(3).sized<std::uint32_t>(fields.bytes());
  pages.push_back(later);
  const auto node_state = *decode_pages(views(pages));
  EXPECT_THAT(node_state.models, SizeIs(3));
  EXPECT_EQ(node_state.models.back().name, "c");
  EXPECT_EQ(node_state.models.back().bytes, 5u);
}

TEST(NodeState, NamesOfOthersCantHarmATerminalOrAFormat) {
  auto node_state = full();
  node_state.name = "box\x1b[31m\n\xff!";
  node_state.models.push_back(model("evil\nname"));
  auto pages = encode_pages(node_state);
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

TEST(NodeState, NumbersAreBoundedAndCutOffPagesRefused) {
  auto node_state = full();
  node_state.memory.front().total = ~std::uint64_t{0};
  const auto pages = encode_pages(node_state);
  EXPECT_EQ(decode_pages(views(pages))->memory.front().total, kNodeStateLimits.number);
  for (const auto& page : pages) {
    const auto cut = decode_pages({std::string_view(page).substr(0, page.size() - 1)});
    ASSERT_FALSE(cut);
    EXPECT_EQ(cut.error().code, errc::malformed);
  }
}

TEST(NodeState, SpeedsAreToldWellEnoughToReckonWith) {
  auto node_state = full();
  for (const double speed : {0.3, 1.0, 7.9, 15.2, 26.3, 940.0, 1e6}) {
    node_state.models.front().tokens_per_second = speed;
    node_state.groups.front().tokens_per_second = speed;
    const auto rounded_state = rounded(node_state);
    EXPECT_NEAR(rounded_state.models.front().tokens_per_second, speed, speed / 30);
    EXPECT_NEAR(rounded_state.groups.front().tokens_per_second, speed, speed / 30);
  }
  node_state.models.front().tokens_per_second = std::nan("");
  EXPECT_EQ(rounded(node_state).models.front().tokens_per_second, 0);
}

TEST(NodeState, WhatMovesByItselfIsNewsNowAndThen) {
  auto a = full(), b = full();
  a.memory.front().free = 10'000'000'000;
  b.memory.front().free = 10'005'000'000;
  EXPECT_EQ(rounded(a), rounded(b));
  EXPECT_LE(rounded(b).memory.front().free, b.memory.front().free);
}

// A request that waits raises its demand a little, and an idle limit is reached at one moment: rounded once more,
// others never heard of the one, and of the other four times too late.
TEST(NodeState, WhatItsAuthorGivesInStepsArrivesAsItIs) {
  auto node_state = full();
  for (const double per_hour : {1.0, 1.0625, 2.125, 34.0, 36.0, 44.0, 512.0, 544.0}) {
    for (const std::uint64_t idle_ms : {0, 1'000, 15'000, 60'000, 45 * 60'000}) {
      node_state.demand.front().per_hour = per_hour;
      node_state.serving.front().idle_ms = node_state.groups.front().idle_ms = idle_ms;
      const auto pages = encode_pages(rounded(node_state));
      const auto decoded = *decode_pages(views(pages));
      EXPECT_NEAR(decoded.demand.front().per_hour, per_hour, 0.001);
      EXPECT_EQ(decoded.serving.front().idle_ms, idle_ms);
      EXPECT_EQ(decoded.groups.front().idle_ms, idle_ms);
    }
  }
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
  head.pages.assign(kMaxPages + 1, {});
  EXPECT_TRUE(refused());
  head.pages.assign(1, {kLargestNodeStatePage + 1, {}});
  EXPECT_TRUE(refused());
  head.pages.assign(kMaxPages, {kLargestNodeStatePage, {}});
  EXPECT_TRUE(refused());
  head.pages.clear();
  head.boot.epoch = kMaxEpoch;
  EXPECT_TRUE(refused());
  head.boot.epoch = 0;
  EXPECT_TRUE(refused());
}

}  // namespace
}  // namespace corral::mesh
