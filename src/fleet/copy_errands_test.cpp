// What two nodes say to each other of a copy.
#include "fleet/copy_errands.h"

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "fleet/errors.h"
#include "fleet/no_peers_for_tests.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

using testing::HasSubstr;

// Two nodes whose frames arrive at once, as long as they are wired.
class WiredPeers final : public NoPeers {
 public:
  bool is_up(const mesh::NodeId&) const override { return wired; }
  void send(const mesh::NodeId&, mesh::Frame frame) override {
    ++frames;
    if (other != nullptr) other->frame(own_id, frame);
  }
  bool wired = true;
  int frames = 0;
  mesh::NodeId own_id;
  CopyErrands* other = nullptr;
};

class CopyErrandsTest : public testing::Test {
 public:
  CopyErrandsTest() {
    a_peers.own_id = mesh::test_key(1).id();
    b_peers.own_id = mesh::test_key(2).id();
    a_peers.other = &b;
    b_peers.other = &a;
    content.fill(7);
  }
  Result<CopyView> ask(CopyWish wish) { return async::run_blocking(loop, a.ask(b_peers.own_id, wish, content)); }

  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  Sha256 content{};
  Result<CopyView> answer;
  CopyAsk asked;
  mesh::NodeId asker;
  WiredPeers a_peers, b_peers;
  CopyErrands a{loop.executor(), timers, a_peers, [](const auto&, const auto&) { return fail(errc::no_mesh, "a"); }};
  CopyErrands b{loop.executor(), timers, b_peers, [this](const mesh::NodeId& from, const CopyAsk& ask) {
                  asker = from;
                  asked = ask;
                  return answer;
                }};
};

TEST_F(CopyErrandsTest, AnOrderIsAnsweredWithHowItIs) {
  CopyView view{.content = content, .model = "m", .state = CopyState::copying, .done = 5, .total = 9};
  view.bytes_per_second = 3;
  view.from = mesh::test_key(3).id();
  view.problem = "slow";
  answer = view;
  const auto told = ask(CopyWish::by_admin);
  ASSERT_TRUE(told) << told.error().message;
  EXPECT_EQ(asker, a_peers.own_id);
  EXPECT_EQ(asked.wish, CopyWish::by_admin);
  EXPECT_EQ(asked.content, content);
  EXPECT_EQ(told->content, content);
  EXPECT_EQ(told->model, "m");
  EXPECT_EQ(told->state, CopyState::copying);
  EXPECT_EQ(told->done, 5u);
  EXPECT_EQ(told->total, 9u);
  EXPECT_EQ(told->bytes_per_second, 3);
  EXPECT_EQ(told->from, view.from);
  EXPECT_EQ(told->problem, "slow");
}

TEST_F(CopyErrandsTest, ARefusalKeepsItsCause) {
  answer = fail(errc::not_admin_here, "set mesh_admin = true there");
  auto told = ask(CopyWish::by_admin);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::not_admin_here);
  EXPECT_EQ(told.error().message, "set mesh_admin = true there");
  answer = fail(mesh::errc::forged, "a cause that isn't told");
  told = ask(CopyWish::tell);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, errc::copy_failed);
}

TEST_F(CopyErrandsTest, WhoGivesNoAnswerIsntWaitedForForEver) {
  a_peers.other = nullptr;
  std::optional<Result<CopyView>> told;
  async::TaskGroup tasks(loop.executor());
  const auto wait = [](CopyErrandsTest* test, std::optional<Result<CopyView>>* into) -> async::Task<void> {
    *into = co_await test->a.ask(test->b_peers.own_id, CopyWish::tell, test->content);
  };
  tasks.spawn("ask", wait(this, &told));
  loop.context().poll();
  EXPECT_FALSE(told);
  timers.advance(CopyErrands::kPatience);
  loop.context().restart();
  loop.context().poll();
  ASSERT_TRUE(told);
  EXPECT_EQ(told->error().code, mesh::errc::timed_out);
  a_peers.wired = false;
  EXPECT_EQ(ask(CopyWish::tell).error().code, mesh::errc::unreachable);
}

// It would end the link.
TEST_F(CopyErrandsTest, NobodyIsAskedMoreThanItTakes) {
  answer = CopyView{.content = content};
  for (int i = 0; i < CopyErrands::kPace.at_once; ++i) ASSERT_TRUE(ask(CopyWish::tell));
  const auto frames = a_peers.frames;
  EXPECT_EQ(ask(CopyWish::tell).error().code, mesh::errc::too_many);
  EXPECT_EQ(a_peers.frames, frames);
  timers.advance(Millis(1000));
  EXPECT_TRUE(ask(CopyWish::tell));
}

// What a peer may send.
TEST(CopyWords, NonsenseIsNothing) {
  CopyAsk ask{7, CopyWish::tell, {}};
  ask.content.fill(1);
  const auto asked = to_frame(ask);
  EXPECT_EQ(read_copy_ask(asked.payload), ask);
  CopyView view{.model = std::string(100'000, 'm') + "\n", .state = CopyState::failed, .done = 9, .total = 5};
  view.problem = std::string("a\x1b[31mb\n") + std::string(5000, 'p');
  const auto answered = to_frame(CopyAnswer{7, view});
  EXPECT_LE(asked.payload.size(), mesh::most_bytes(mesh::FrameKind::copy_ask));
  EXPECT_LE(answered.payload.size(), mesh::most_bytes(mesh::FrameKind::copy_answer));
  const auto read = read_copy_answer(answered.payload);
  ASSERT_TRUE(read && read->view);
  EXPECT_EQ(read->view->done, 5u);
  EXPECT_THAT(read->view->problem, HasSubstr("a?[31mb?"));
  for (std::size_t size = 0; size < asked.payload.size(); ++size)
    EXPECT_FALSE(read_copy_ask(asked.payload.substr(0, size))) << size;
  for (std::size_t size = 0; size < answered.payload.size(); ++size)
    EXPECT_FALSE(read_copy_answer(answered.payload.substr(0, size))) << size;
  for (std::size_t at = 0; at < answered.payload.size(); at += 3) {
    auto changed = answered.payload;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    (void)read_copy_answer(changed);
  }
  auto wish = asked.payload;
  wish[8] = 9;
  EXPECT_FALSE(read_copy_ask(wish));
}

}  // namespace
}  // namespace corral::fleet
