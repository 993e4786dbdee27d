#include "fleet/allotment/allot_control.h"

#include <gmock/gmock.h>

#include "fleet/base/errors.h"
#include "mesh/catalog/node_state.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

using testing::HasSubstr;

AllotAsk split() {
  AllotAsk ask{.command = AllotCommand::split, .name = "big", .content = mesh::ContentKey{sha256({"x"}), false}};
  for (int i = 0; i < 64; ++i) ask.nodes.push_back({sha256({std::to_string(i)})});
  ask.stamp = 300;
  return ask;
}

TEST(AllotMessages, ComeBackAsTheyWereSaid) {
  AllotAsk assign{.command = AllotCommand::assign, .name = "m", .content = mesh::ContentKey{sha256({"x"}), true}};
  for (const auto& ask :
       {split(), assign, AllotAsk{.command = AllotCommand::nothing}, AllotAsk{.command = AllotCommand::release}}) {
    const auto frame = to_frame(7, ask);
    EXPECT_LE(frame.payload.size(), mesh::max_bytes(frame.kind));
    const auto read = read_allot_ask(frame.payload);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->number, 7u);
    EXPECT_EQ(read->ask, ask);
  }
  EXPECT_TRUE(*read_allot_answer(to_frame(7, Result<>()).payload));
  const Result<> no = fail(errc::not_admin_here, "set mesh_admin = true there" + std::string(5000, '!'));
  const auto frame = to_frame(7, no);
  EXPECT_LE(frame.payload.size(), mesh::max_bytes(frame.kind));
  const auto read = *read_allot_answer(frame.payload);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, errc::not_admin_here);
  EXPECT_THAT(read.error().message, HasSubstr("set mesh_admin"));
}

// What a peer may send.
TEST(AllotMessages, NonsenseIsNothing) {
  const auto asked = to_frame(7, split()).payload;
  const auto without_stamp = asked.size() - 8;  // as versions before it say it
  for (std::size_t size = 0; size < asked.size(); ++size)
    EXPECT_EQ(read_allot_ask(asked.substr(0, size)).has_value(), size == without_stamp) << size;
  EXPECT_EQ(read_allot_ask(asked.substr(0, without_stamp))->ask.stamp, 0u);
  for (std::size_t at = 0; at < asked.size(); ++at) {
    auto changed = asked;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    const auto read = read_allot_ask(changed);
    EXPECT_TRUE(!read || read->ask.nodes.size() <= 64);
    EXPECT_TRUE(!read || read->ask.stamp <= mesh::kNodeStateLimits.number);
  }
  EXPECT_FALSE(read_allot_ask(to_frame(7, AllotAsk{.command = AllotCommand::assign}).payload));  // nothing to have
  auto much = split();
  much.name = std::string(100'000, 'x') + "\n";
  much.nodes.resize(1000);
  const auto frame = to_frame(7, much);
  EXPECT_LE(frame.payload.size(), mesh::max_bytes(frame.kind));
  auto named = split();
  named.name = "a\x1b[31mb";
  EXPECT_EQ(read_allot_ask(to_frame(7, named).payload)->ask.name, "a?[31mb");
  EXPECT_FALSE(read_allot_answer(""));
}

}  // namespace
}  // namespace corral::fleet
