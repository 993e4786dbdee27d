// Commands of a chat at a terminal.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

constexpr const char* kAsks = "POST /api/v1/chat/completions";

class DialogueTest : public ProgramTest {
 protected:
  DialogueTest() {
    in_memory("m");
    std::filesystem::create_directories(home_);
    variables_["HOME"] = home_;
  }
  ~DialogueTest() override { std::filesystem::remove_all(home_); }

  std::vector<std::string> chats() const { return server_.bodies(kAsks); }
  int chat(const std::vector<std::string>& lines, std::vector<std::string> flags = {}) {
    for (const std::string& line : lines) input_.type(line);
    flags.insert(flags.begin(), {"run", "m"});
    return run(flags);
  }
  std::string editor(const std::string& script) const {
    const auto file = home_ / "editor";
    std::ofstream(file) << "#!/bin/sh\n" << script << '\n';
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }

  const std::filesystem::path home_ =
      std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(DialogueTest, SetsOptionsOfRequests) {
  answer_chat({"x"});
  chat({"/set temperature 0.5", "/set parameter num_predict 9", "/set stop ###", "/set nothink",
        "/set system Be brief.", "/show parameters", "/show system", "hi", "/unset temperature", "/unset system",
        "hi"});
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_EQ(chats()[0],
            R"({"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],)"
            R"("stream":true,"temperature":0.5,"max_completion_tokens":9,"stop":"###","enable_thinking":false})");
  EXPECT_THAT(chats()[1], Not(HasSubstr("temperature")));
  EXPECT_THAT(chats()[1], Not(HasSubstr("Be brief.")));
  EXPECT_THAT(err(), HasSubstr("temperature is 0.5.\n"));
  EXPECT_THAT(err(), HasSubstr("temperature              0.5\nmax_completion_tokens    9\n"));
  EXPECT_THAT(err(), HasSubstr("\nBe brief.\n"));
}

TEST_F(DialogueTest, MistakesAreToldAndSentToNoModel) {
  chat({"/set", "/set temperature", "/set temperatur 1", "/set temperature hot", "/hlep", "/load nope", "/show all",
        "/file /nonexistent", "/retry"});
  EXPECT_THAT(chats(), SizeIs(0));
  EXPECT_EQ(err(),
            "Type a message, or /help.\n"
            "Usage: /set NAME VALUE\n"
            "Usage: /set NAME VALUE\n"
            "error: there is no option 'temperatur' of requests; did you mean temperature?\n"
            "error: 'temperature' must be a number between 0 and 2, not \"hot\"\n"
            "Unknown command /hlep (did you mean /help?); see /help.\n"
            "error: there is no saved chat 'nope'\n"
            "There is no 'all': info, parameters, system, template\n"
            "error: there is no file '/nonexistent'\n"
            "There is no message yet.\n\n");
}

TEST_F(DialogueTest, TextsThatBeginLikeACommandAreMessages) {
  answer_chat({"x"});
  chat({"/etc/hosts", "/now what does this do"});
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[1], HasSubstr("/now what does this do"));
}

TEST_F(DialogueTest, AsksAgainInsteadOfTheLastExchange) {
  answer_chat({"one"});
  answer_chat({"two"});
  chat({"first", "/retry", "second"});
  ASSERT_THAT(chats(), SizeIs(3));
  EXPECT_EQ(chats()[0], chats()[1]);
  EXPECT_THAT(chats()[2], HasSubstr(R"([{"role":"user","content":"first"},{"role":"assistant","content":"two"},)"));
}

TEST_F(DialogueTest, AFailedRetryKeepsTheExchange) {
  answer_chat({"one"});
  server_.on(kAsks, Scripted{.status = 503, .body = R"({"error":{"message":"busy"}})"});
  answer_chat({"three"});
  chat({"first", "/retry", "second"});
  ASSERT_THAT(chats(), SizeIs(3));
  EXPECT_THAT(chats()[2], HasSubstr(R"([{"role":"user","content":"first"},{"role":"assistant","content":"one"},)"));
}

TEST_F(DialogueTest, ARetryThatDropsOldMessagesReplacesTheExchange) {
  const auto too_long = R"({"error":{"message":"too long","code":"context_length_exceeded"}})";
  answer_chat({"one"});
  answer_chat({"two"});
  server_.on(kAsks, Scripted{.status = 400, .body = too_long});
  answer_chat({"three"});
  answer_chat({"four"});
  chat({"first", "second", "/retry", "third"});
  ASSERT_THAT(chats(), SizeIs(5));
  EXPECT_THAT(chats()[4], HasSubstr(R"("messages":[{"role":"user","content":"second"},)"
                                    R"({"role":"assistant","content":"three"},{"role":"user","content":"third"}])"));
}

TEST_F(DialogueTest, AMessageThatFailedIsSentAgainWithItsFiles) {
  server_.on(kAsks, Scripted{.status = 503, .body = R"({"error":{"message":"busy"}})"});
  answer_chat({"one"});
  const std::string notes = home_ / "notes.txt";
  std::ofstream(notes) << "remember\n";
  chat({"/file " + notes, "what?", "/retry"});
  EXPECT_THAT(err(), HasSubstr("error: busy\n(/retry sends the message again, with its files)\n"));
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_EQ(chats()[0], chats()[1]);
  EXPECT_THAT(chats()[1], HasSubstr("remember"));
}

TEST_F(DialogueTest, AClearedConversationHasNoFilesLeft) {
  answer_chat({"one"});
  const std::string notes = home_ / "notes.txt";
  std::ofstream(notes) << "remember\n";
  chat({"/file " + notes, "/clear", "what?"});
  ASSERT_THAT(chats(), SizeIs(1));
  EXPECT_THAT(chats()[0], Not(HasSubstr("remember")));
}

TEST_F(DialogueTest, CtrlCBetweenFencesDropsTheTextOnly) {
  answer_chat({"one"});
  input_.type("\"\"\"a");
  input_.press_ctrl_c();
  input_.type("hi");
  EXPECT_EQ(chat({}), kExitOk);
  ASSERT_THAT(chats(), SizeIs(1));
  EXPECT_THAT(chats()[0], HasSubstr(R"("content":"hi")"));
}

TEST_F(DialogueTest, EditsTheLastMessage) {
  answer_chat({"one"});
  variables_["EDITOR"] = editor("sed -i s/first/changed/ \"$1\"");
  chat({"first", "/edit"});
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[1], HasSubstr(R"("messages":[{"role":"user","content":"changed"}])"));
}

TEST_F(DialogueTest, ATextLeftAsItWasIsNotAskedAgain) {
  answer_chat({"one"});
  variables_["EDITOR"] = editor("exit 0");
  chat({"first", "/edit"});
  EXPECT_THAT(chats(), SizeIs(1));
}

TEST_F(DialogueTest, AnEditorThatFailsOrReturnsNothingChangesNothing) {
  answer_chat({"one"});
  variables_["EDITOR"] = editor("exit 1");
  chat({"first", "/edit", "second"});
  EXPECT_THAT(err(), HasSubstr("error: the editor '" + variables_["EDITOR"] + "' failed"));
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[1], HasSubstr(R"([{"role":"user","content":"first"},{"role":"assistant","content":"one"},)"));
}

TEST_F(DialogueTest, AConversationIsSavedAndGoesOn) {
  answer_chat({"one"});
  chat({"/set temperature 0", "/set system S", "first", "/save talk"});
  chat({"/load", "/load talk", "second"});
  EXPECT_THAT(err(), HasSubstr("Saved: talk\n2 messages with m.\n"));
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_EQ(
      chats()[1],
      R"({"model":"m","messages":[{"role":"system","content":"S"},{"role":"user","content":"first"},)"
      R"({"role":"assistant","content":"one"},{"role":"user","content":"second"}],"stream":true,"temperature":0})");
}

TEST_F(DialogueTest, TheNameOfASavedConversationIsAFileName) {
  chat({"/save ../x"});
  EXPECT_THAT(err(), HasSubstr("error: '../x' can't be the name of a file\n"));
}

TEST_F(DialogueTest, ADamagedConversationIsNotLoaded) {
  answer_chat({"one"});
  chat({"first", "/save talk"});
  const auto folder = home_ / ".local/state/corral/chats";
  for (const char* const text : {"{}", "[]", "\"x\"", R"({"model":"m","messages":[5]})"}) {
    std::ofstream(folder / "talk.json") << text;
    chat({"/load talk"});
    EXPECT_THAT(err(), HasSubstr("error: '" + (folder / "talk.json").native() + "' is no saved chat\n"));
  }
}

TEST_F(DialogueTest, GoesOnWithAnotherModel) {
  answer_chat({"one"});
  server_.on("GET /api/v1/models/other", R"({"id":"other","type":"llm"})");
  server_.on("GET /api/v1/models/e", R"({"id":"e","type":"embedding"})");
  server_.on("POST /api/v1/load", Scripted{.events = {{"complete", "{}"}}});
  chat({"first", "/model e", "/model other", "second"});
  EXPECT_THAT(err(), HasSubstr("error: 'e' has the type embedding, which cannot chat"));
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[1], HasSubstr(R"({"model":"other","messages":[{"role":"user","content":"first"},)"));
}

TEST_F(DialogueTest, FilesGoWithTheNextMessage) {
  answer_chat({"one"});
  const std::string notes = home_ / "notes.txt", picture = home_ / "p.png";
  std::ofstream(notes) << "remember\n";
  std::ofstream(picture) << "\x89PNG\r\n\x1a\n1234";
  chat({"/file " + notes, "/image " + picture, "what?", "and?"}, {"--image", picture});
  ASSERT_THAT(chats(), SizeIs(2));
  const std::string part = R"({"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgoxMjM0"}},)";
  EXPECT_THAT(chats()[0], HasSubstr(R"("content":[)" + part + part +
                                    R"({"type":"text","text":"notes.txt:\n\n```\nremember\n```\n\nwhat?"}])"));
  EXPECT_THAT(chats()[1], HasSubstr(R"({"role":"user","content":"and?"})"));
}

TEST_F(DialogueTest, NumbersFollowAResponse) {
  server_.on(kAsks,
             Scripted{.events = {{"", R"({"choices":[{"delta":{"content":"x"}}]})"},
                                 {"", R"({"choices":[],"usage":{"prompt_tokens":24,"completion_tokens":11,)"
                                      R"("prompt_tokens_details":{"cached_tokens":8}},"timings":{"predicted_n":11,)"
                                      R"("predicted_ms":500,"predicted_per_second":20}})"},
                                 {"", "[DONE]"}}});
  chat({"hi", "/set quiet", "hi"}, {"--verbose"});
  ASSERT_THAT(chats(), SizeIs(2));
  EXPECT_THAT(chats()[0], HasSubstr(R"("stream_options":{"include_usage":true})"));
  EXPECT_THAT(chats()[1], Not(HasSubstr("stream_options")));
  EXPECT_THAT(err(), HasSubstr("24 prompt tokens (8 of them cached), 11 tokens, 20.0 tokens/s, first token after"));
}

TEST_F(DialogueTest, AServerThatIsGoneGivesItsExitCode) {
  server_.on(kAsks, Scripted{.error = Error{errc::no_server, "no server"}});
  EXPECT_EQ(chat({"hi", "/bye"}), kExitNoServer);
}

TEST_F(DialogueTest, KeepsTheModelAsLongAsTheUserSays) {
  answer_chat({"one"});
  server_.on("POST /api/generate", "{}");
  EXPECT_EQ(run({"run", "m", "p", "--keep-alive", "10m"}), kExitOk);
  EXPECT_THAT(server_.bodies("POST /api/generate"), ElementsAre(R"({"model":"m","keep_alive":"10m"})"));
}

TEST_F(DialogueTest, FlagsAreCheckedBeforeAnythingIsLoaded) {
  EXPECT_EQ(run({"run", "other", "p", "--max-tokens", "0"}), kExitUsage);
  EXPECT_EQ(err(), "corral: --max-tokens must be at least 1, not 0\n");
  EXPECT_EQ(run({"run", "other", "p", "--image", "/nonexistent"}), kExitUsage);
  EXPECT_EQ(run({"run", "other", "p", "--format", "/nonexistent"}), kExitUsage);
  EXPECT_THAT(server_.requests, SizeIs(0));
}

TEST_F(DialogueTest, ResponsesAreBrokenBetweenWords) {
  answer_chat({"one tw", "o three\\n- fo", "ur five six"});
  surroundings_.terminal.width = 11;
  chat({"hi"});
  EXPECT_THAT(out(), HasSubstr("one two\nthree\n- four five\n  six\n"));
}

TEST_F(DialogueTest, DataIsShownAsItIs) {
  answer_chat({"one tw", "o three\\n- **four**"});
  surroundings_.terminal.width = 11;
  surroundings_.terminal.colour = true;
  chat({"hi"}, {"--format", "json"});
  EXPECT_THAT(out(), HasSubstr("one two three\n- **four**\n"));
}

}  // namespace
}  // namespace corral::cli
