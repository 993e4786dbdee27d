// Questions to another node over its link.
#include "fleet/base/peer_questions.h"

#include <gmock/gmock.h>

#include "async/loop.h"
#include "async/task_group.h"
#include "fleet/base/no_peers_for_tests.h"
#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"
#include "mesh/support_for_tests.h"

namespace corral::fleet {
namespace {

// The other node answers each question with its own words, at once, if it answers.
class AnsweringPeers final : public NoPeers {
 public:
  bool is_up(const mesh::NodeId&) const override { return linked; }
  void send(const mesh::NodeId& to, mesh::Frame frame) override {
    ++frames;
    if (answers) questions->answered(to, frame.payload);
  }
  bool linked = true, answers = true;
  int frames = 0;
  PeerQuestions* questions = nullptr;
};

class PeerQuestionsTest : public testing::Test {
 protected:
  PeerQuestionsTest() { peers_.questions = &questions_; }
  static mesh::Frame question(std::uint64_t number) {
    mesh::Frame frame{mesh::FrameKind::allot_ask, {}};
    mesh::ByteWriter(frame.payload).number<std::uint64_t>(number).raw("words");
    return frame;
  }
  Result<std::string> ask() { return async::run_blocking(loop_, questions_.ask(other_, question)); }

  async::Loop loop_;
  async::ManualTimers timers_{loop_.executor()};
  AnsweringPeers peers_;
  PeerQuestions questions_{loop_.executor(), timers_, peers_};
  const mesh::NodeId other_ = mesh::test_key(2).id(), unknown_ = mesh::test_key(3).id();
};

TEST_F(PeerQuestionsTest, EachAnswerComesToItsQuestion) {
  const auto first = ask(), second = ask();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->substr(8), "words");
  EXPECT_NE(*first, *second);
}

TEST_F(PeerQuestionsTest, ANodeThatGivesNoAnswerIsGivenUp) {
  peers_.answers = false;
  std::optional<Result<std::string>> reply;
  async::TaskGroup tasks(loop_.executor());
  const auto wait = [](PeerQuestions& questions, mesh::NodeId node,
                       std::optional<Result<std::string>>& into) -> async::Task<void> {
    into = co_await questions.ask(node, question);
  };
  tasks.spawn("ask", wait(questions_, other_, reply));
  loop_.context().poll();
  EXPECT_FALSE(reply);
  questions_.answered(unknown_, question(1).payload);  // it was asked nothing
  questions_.answered(other_, question(9).payload);
  questions_.answered(other_, "short");
  timers_.advance(PeerQuestions::kPatience);
  loop_.context().restart();
  loop_.context().poll();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->error().code, mesh::errc::timed_out);
  peers_.linked = false;
  EXPECT_EQ(ask().error().code, mesh::errc::unreachable);
}

// More questions would end the link.
TEST_F(PeerQuestionsTest, NoNodeIsAskedMoreThanItTakes) {
  for (int i = 0; i < PeerQuestions::kPace.at_once; ++i) ASSERT_TRUE(ask());
  const auto frames = peers_.frames;
  EXPECT_EQ(ask().error().code, mesh::errc::too_many);
  EXPECT_EQ(peers_.frames, frames);
  timers_.advance(Millis(1000));
  EXPECT_TRUE(ask());
}

TEST(ShownText, HasNoControlCharacters) { EXPECT_EQ(shown_text("a\x1b[31mb\nc", 7), "a?[31mb"); }

}  // namespace
}  // namespace corral::fleet
