#include <gmock/gmock.h>

#include "cli/chat/chat.h"
#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kChatRequest = "POST /api/v1/chat/completions";
constexpr const char* kLoadRequest = "POST /api/v1/load";

class RunCommandTest : public ProgramTest {
 protected:
  RunCommandTest() { in_memory("m"); }

  std::vector<std::string> chats() const { return server_.bodies(kChatRequest); }
  void stop_chat_after(const std::string& piece) {
    Scripted answer;
    answer.events.push_back({"", R"({"choices":[{"delta":{"content":")" + piece + R"("}}]})"});
    answer.error = Error{errc::interrupted, "interrupted"};
    server_.on(kChatRequest, answer);
  }
};

TEST_F(RunCommandTest, AnswersOnePromptAndExits) {
  answer_chat({"Because ", "it is."});
  EXPECT_EQ(run({"run", "m", "Why", "so?"}), kExitOk);
  EXPECT_EQ(out(), "Because it is.\n");
  EXPECT_THAT(chats(), ElementsAre(R"({"model":"m","messages":[{"role":"user","content":"Why so?"}],"stream":true})"));
}

TEST_F(RunCommandTest, SettingsOfTheAnswerReachTheServer) {
  answer_chat({"x"});
  run({"run", "m", "p", "--system", "Be brief.", "--max-tokens", "5", "--temperature", "0", "--seed", "7"});
  ASSERT_THAT(chats(), SizeIs(1));
  EXPECT_THAT(chats()[0],
              HasSubstr(R"("messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"p"}])"));
  EXPECT_THAT(chats()[0], HasSubstr(R"("max_completion_tokens":5)"));
  EXPECT_THAT(chats()[0], HasSubstr(R"("temperature":0)"));
  EXPECT_THAT(chats()[0], HasSubstr(R"("seed":7)"));
}

TEST_F(RunCommandTest, LoadsAModelThatIsNotInMemory) {
  answer_chat({"x"});
  server_.on(kLoadRequest, Scripted{.events = {{"complete", "{}"}}});
  EXPECT_EQ(run({"run", "other", "p"}), kExitOk);
  EXPECT_THAT(server_.bodies(kLoadRequest), ElementsAre(R"({"model_name":"other","stream":true})"));
}

// Whoever has it loads it when it is asked.
TEST_F(RunCommandTest, LoadsNothingForAModelOfAnotherMachine) {
  answer_chat({"x"});
  server_.on("GET /api/v1/models/far", R"({"id":"far","type":"llm","nodes":[{"name":"a","self":false}]})");
  server_.on(kLoadRequest, Scripted{.status = 404, .body = R"({"error":{"message":"not downloaded"}})"});
  EXPECT_EQ(run({"run", "far", "p"}), kExitOk);
  EXPECT_EQ(out(), "x\n");
  EXPECT_THAT(server_.bodies(kLoadRequest), SizeIs(0));
  // Another machine has it, too.
  server_.on("GET /api/v1/models/both",
             R"({"id":"both","type":"llm","nodes":[{"name":"a","self":false},{"name":"box","self":true}]})");
  run({"run", "both", "p"});
  EXPECT_THAT(server_.bodies(kLoadRequest), SizeIs(1));
}

TEST_F(RunCommandTest, AModelThatDoesntChatIsntLoaded) {
  server_.on("GET /api/v1/models/e", R"({"id":"e","type":"embedding"})");
  EXPECT_EQ(run({"run", "e", "p"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("'e' has the type embedding, which cannot chat"));
  EXPECT_THAT(server_.bodies(kLoadRequest), SizeIs(0));
}

TEST_F(RunCommandTest, LeavesAModelAloneUnlessOptionsAreGiven) {
  answer_chat({"x"});
  server_.on(kLoadRequest, Scripted{.events = {{"complete", "{}"}}});
  run({"run", "m", "p"});
  EXPECT_THAT(server_.bodies(kLoadRequest), SizeIs(0));
  run({"run", "m", "p", "--ctx-size", "512"});
  EXPECT_THAT(server_.bodies(kLoadRequest), SizeIs(1));
}

TEST_F(RunCommandTest, AModelThatCannotBeLoaded) {
  server_.on(kLoadRequest, Scripted{.status = 404, .body = R"({"error":{"message":"no model 'x'"}})"});
  EXPECT_EQ(run({"run", "x", "p"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("no model 'x'"));
  EXPECT_THAT(chats(), SizeIs(0));
}

// `load` warned, `run` loaded without a word.
TEST_F(RunCommandTest, WarnsWhenPinnedModelsTakeEverySlotLikeLoad) {
  server_.on("GET /api/v1/models/x", R"({"id":"x","type":"llm"})");
  server_.on("GET /api/v1/health", R"({"max_models":{"llm":1},"pinned_models":{"llm":1}})");
  server_.on(kLoadRequest, Scripted{.status = 409, .body = R"({"error":{"message":"all pinned"}})"});
  EXPECT_EQ(run({"run", "x", "p"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("warning: pinned models hold all 1 slots of type llm"));
}

TEST_F(RunCommandTest, TextFromAPipeIsThePrompt) {
  pipe_everything();
  input_.all = "line 1\nline 2\n";
  input_.piped = true;
  answer_chat({"x"});
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_THAT(chats()[0], HasSubstr(R"("content":"line 1\nline 2")"));
  EXPECT_EQ(run({"run", "m", "Sum up:"}), kExitOk);
  EXPECT_THAT(chats()[1], HasSubstr(R"("content":"Sum up:\n\nline 1\nline 2")"));
}

TEST_F(RunCommandTest, AnEmptyPipeIsAUsageError) {
  pipe_everything();
  EXPECT_EQ(run({"run", "m"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("no prompt:"));
}

TEST_F(RunCommandTest, JsonIsTheWholeAnswer) {
  server_.on(kChatRequest, R"({"choices":[{"message":{"content":"x"}}]})");
  EXPECT_EQ(run({"run", "m", "p", "--json"}), kExitOk);
  EXPECT_EQ(out(), "{\"choices\":[{\"message\":{\"content\":\"x\"}}]}\n");
  EXPECT_THAT(chats()[0], HasSubstr(R"("stream":false)"));
  EXPECT_EQ(run({"run", "m", "--json"}), kExitUsage);
}

TEST_F(RunCommandTest, AFailureInTheAnswer) {
  server_.on(kChatRequest, Scripted{.events = {{"", R"({"choices":[{"delta":{"content":"Well"}}]})"},
                                               {"", R"({"error":{"message":"the model's process died"}})"}}});
  EXPECT_EQ(run({"run", "m", "p"}), kExitFailed);
  EXPECT_EQ(out(), "Well\n");
  EXPECT_THAT(err(), HasSubstr("the model's process died"));
}

TEST_F(RunCommandTest, AnAnswerThatBreaksOff) {
  server_.on(kChatRequest, Scripted{.events = {{"", R"({"choices":[{"delta":{"content":"Well"}}]})"}}});
  EXPECT_EQ(run({"run", "m", "p"}), kExitFailed);
  EXPECT_THAT(err(), HasSubstr("during the response"));
}

TEST_F(RunCommandTest, CtrlCDuringTheOnlyAnswer) {
  stop_chat_after("We");
  EXPECT_EQ(run({"run", "m", "p"}), kExitInterrupted);
  EXPECT_EQ(out(), "We\n");
}

TEST_F(RunCommandTest, AServerThatAnswersInOnePiece) {
  server_.on(kChatRequest, R"({"choices":[{"message":{"content":"whole"}}]})");
  EXPECT_EQ(run({"run", "m", "p"}), kExitOk);
  EXPECT_EQ(out(), "whole\n");
}

TEST_F(RunCommandTest, ReasoningIsForPeopleOnly) {
  server_.on(kChatRequest, Scripted{.events = {{"", R"({"choices":[{"delta":{"reasoning_content":"hmm"}}]})"},
                                               {"", R"({"choices":[{"delta":{"content":"42"}}]})"},
                                               {"", "[DONE]"}}});
  run({"run", "m", "p"});
  EXPECT_EQ(out(), "hmm\n\n42\n");
  surroundings_.terminal.colour = true;
  run({"run", "m", "p"});
  EXPECT_EQ(out(), "\x1b[2mhmm\x1b[0m\n\n42\n");
  surroundings_.terminal.colour = false;
  surroundings_.terminal.out_tty = false;
  run({"run", "m", "p"});
  EXPECT_EQ(out(), "42\n");
}

TEST_F(RunCommandTest, AModelCannotDriveTheTerminal) {
  answer_chat({R"(a\u001b[31mb\u0007\u009bc\n)"});
  run({"run", "m", "p"});
  EXPECT_EQ(out(), "a[31mbc\n");
}

TEST_F(RunCommandTest, ADialogueRemembers) {
  answer_chat({"one"});
  answer_chat({"two"});
  input_.type("first");
  input_.type("");
  input_.type("second");
  input_.type("/bye");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_EQ(out(), ">>> one\n>>> >>> two\n>>> ");
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[1], HasSubstr(R"([{"role":"user","content":"first"},{"role":"assistant","content":"one"},)"
                                    R"({"role":"user","content":"second"}])"));
}

TEST_F(RunCommandTest, ClearForgetsButKeepsTheSystemText) {
  answer_chat({"one"});
  input_.type("first");
  input_.type("/clear");
  input_.type("second");
  EXPECT_EQ(run({"run", "m", "--system", "S"}), kExitOk);  // the input ends: leaves
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[1], HasSubstr(R"([{"role":"system","content":"S"},{"role":"user","content":"second"}])"));
}

TEST_F(RunCommandTest, SeveralLinesBetweenFences) {
  answer_chat({"ok"});
  input_.type("\"\"\"a");
  input_.type("");
  input_.type("b\"\"\"");
  input_.type("\"\"\"");
  input_.type("c");
  input_.type("\"\"\"");
  input_.type("\"\"\"one line\"\"\"");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  ASSERT_THAT(chats(), SizeIs(3));
  EXPECT_THAT(chats()[0], HasSubstr(R"("content":"a\n\nb")"));
  EXPECT_THAT(chats()[1], HasSubstr(R"("content":"c")"));
  EXPECT_THAT(chats()[2], HasSubstr(R"("content":"one line")"));
}

TEST_F(RunCommandTest, CtrlCStopsTheAnswerAndNotTheProgram) {
  stop_chat_after("We");
  answer_chat({"done"});
  input_.type("first");
  input_.type("second");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_EQ(out(), ">>> We\n>>> done\n>>> ");
  EXPECT_THAT(err(), HasSubstr("(stopped)"));
  EXPECT_THAT(chats()[1], HasSubstr(R"({"role":"assistant","content":"We"})"));
}

TEST_F(RunCommandTest, CtrlCAfterAStoppedAnswerAsksOnceToo) {
  stop_chat_after("We");
  answer_chat({"done"});
  input_.type("first");
  input_.press_ctrl_c();
  input_.type("second");
  input_.press_ctrl_c();
  input_.press_ctrl_c();
  EXPECT_EQ(run({"run", "m"}), kExitInterrupted);
}

TEST_F(RunCommandTest, CtrlCAtThePromptAsksOnceBeforeItLeaves) {
  answer_chat({"one"});
  input_.press_ctrl_c();
  input_.type("still here");
  input_.press_ctrl_c();
  input_.press_ctrl_c();
  EXPECT_EQ(run({"run", "m"}), kExitInterrupted);
  EXPECT_THAT(chats(), SizeIs(1));
  EXPECT_THAT(err(), HasSubstr("once more"));
}

TEST_F(RunCommandTest, CtrlCBetweenFencesDropsTheText) {
  input_.type("\"\"\"a");
  input_.press_ctrl_c();
  input_.type("/bye");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_THAT(chats(), SizeIs(0));
}

TEST_F(RunCommandTest, AFailureDoesNotEndTheDialogue) {
  server_.on(kChatRequest, Scripted{.status = 503, .body = R"({"error":{"message":"busy"}})"});
  answer_chat({"fine"});
  input_.type("first");
  input_.type("second");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("error: busy"));
  EXPECT_THAT(chats()[1], Not(HasSubstr("first")));  // a prompt without an answer is forgotten
}

constexpr const char* kTooLong =
    R"({"error":{"message":"'messages' makes a prompt of 100 tokens: shorten it","type":"exceed_context_size_error",)"
    R"("code":"context_length_exceeded","n_prompt_tokens":100,"n_ctx":90}})";

TEST_F(RunCommandTest, AFullContextDropsTheOldestMessagesAndGoesOn) {
  const auto full = Scripted{.status = 400, .body = kTooLong};
  for (const char* text : {"one", "two"}) answer_chat({text});
  server_.on(kChatRequest, full);
  answer_chat({"three"});
  server_.on(kChatRequest, full);
  answer_chat({"four"});
  for (const char* text : {"1st", "2nd", "3rd", "4th"}) input_.type(text);
  EXPECT_EQ(run({"run", "m", "--system", "S"}), kExitOk);
  EXPECT_EQ(out(), ">>> one\n>>> two\n>>> three\n>>> four\n>>> ");
  EXPECT_EQ(err(),
            "Type a message, or /help.\n"
            "(the context is full: from now on the oldest messages are dropped)\n\n");
  ASSERT_THAT(chats(), SizeIs(6));
  EXPECT_THAT(chats()[3], HasSubstr(R"([{"role":"system","content":"S"},{"role":"user","content":"2nd"},)"
                                    R"({"role":"assistant","content":"two"},{"role":"user","content":"3rd"}])"));
  // What was dropped stays dropped.
  EXPECT_THAT(chats()[4], Not(HasSubstr("1st")));
  EXPECT_THAT(chats()[5], Not(HasSubstr("2nd")));
}

// A server that loads a model first has begun its answer, and reports the error in it.
TEST_F(RunCommandTest, AFullContextThatIsReportedInTheStream) {
  answer_chat({"one"});
  server_.on(kChatRequest, Scripted{.events = {{"", kTooLong}}});
  answer_chat({"two"});
  input_.type("1st");
  input_.type("2nd");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  ASSERT_THAT(chats(), SizeIs(3));
  EXPECT_THAT(chats()[2], HasSubstr(R"("messages":[{"role":"user","content":"2nd"}])"));
}

TEST_F(RunCommandTest, AMessageThatIsTooLongByItselfIsNotKept) {
  answer_chat({"one"});
  server_.on(kChatRequest, Scripted{.status = 400, .body = kTooLong});
  server_.on(kChatRequest, Scripted{.status = 400, .body = kTooLong});
  answer_chat({"three"});
  for (const char* text : {"1st", "much too long", "3rd"}) input_.type(text);
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_EQ(err(),
            "Type a message, or /help.\n"
            "error: the message is too long: 'messages' makes a prompt of 100 tokens: shorten it\n\n");
  // Nothing else is lost.
  ASSERT_THAT(chats(), SizeIs(4));
  EXPECT_THAT(chats()[3], HasSubstr(R"("messages":[{"role":"user","content":"1st"},)"
                                    R"({"role":"assistant","content":"one"},{"role":"user","content":"3rd"}])"));
}

TEST(MessagesToDrop, AreWholeExchangesUntilTheRestLeavesRoom) {
  const std::string text(100, 'x');
  std::vector<ChatMessage> messages{{"system", text}};
  for (int i = 0; i < 4; ++i) messages.insert(messages.end(), {{"user", text}, {"assistant", text}});
  messages.push_back({"user", text});
  const auto dropped = [&](std::uint64_t tokens, std::uint64_t context) {
    const protocol::ContextNumbers numbers{.n_prompt_tokens = tokens, .n_ctx = context};
    return messages_to_drop(messages, &numbers);
  };
  EXPECT_EQ(dropped(1000, 999), 4u);   // 600 of 999
  EXPECT_EQ(dropped(1000, 1100), 2u);  // 800 of 1,100
  EXPECT_EQ(dropped(1000, 500), 8u);   // all but the last message
  EXPECT_EQ(dropped(1000, 1), 8u);
  EXPECT_EQ(dropped(1000, 100'000), 2u);  // at least one exchange
  EXPECT_EQ(messages_to_drop(messages, nullptr), 2u);
  EXPECT_EQ(messages_to_drop(std::vector{messages.front(), messages.back()}, nullptr), 0u);
  EXPECT_EQ(messages_to_drop(std::vector{messages.back()}, nullptr), 0u);
}

TEST_F(RunCommandTest, UnknownCommandsAreNotSentToTheModel) {
  answer_chat({"x"});
  input_.type("/exit");
  input_.type("/help");
  input_.type("/etc/hosts is what?");
  EXPECT_EQ(run({"run", "m"}), kExitOk);
  EXPECT_THAT(err(), HasSubstr("Unknown command /exit (did you mean /edit?); see /help."));
  EXPECT_THAT(err(), HasSubstr("/clear                 clear"));
  EXPECT_THAT(chats(), SizeIs(1));
}

}  // namespace
}  // namespace corral::cli
