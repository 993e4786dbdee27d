// `corral speak`.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include "cli/fakes_for_tests.h"

namespace corral::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kSpeech = "POST /api/v1/audio/speech";

class SpeakTest : public ProgramTest {
 protected:
  SpeakTest() {
    surroundings_.terminal.out_tty = false;
    std::filesystem::remove(file_);
  }
  ~SpeakTest() override { std::filesystem::remove(file_); }
  std::string content() const {
    std::ostringstream text;
    text << std::ifstream(file_, std::ios::binary).rdbuf();
    return text.str();
  }

  const std::string file_ =
      testing::TempDir() + "corral-" + testing::UnitTest::GetInstance()->current_test_info()->name() + ".mp3";
};

TEST_F(SpeakTest, APipeGetsTheSound) {
  server_.on(kSpeech, std::string("RIFF\0\r\n", 7));
  EXPECT_EQ(run({"speak", "Hello", "world"}), kExitOk);
  EXPECT_EQ(out(), std::string("RIFF\0\r\n", 7));
  EXPECT_EQ(err(), "");
  EXPECT_THAT(server_.bodies(kSpeech),
              ElementsAre(R"({"model":"tts-1","input":"Hello world","response_format":"wav"})"));
}

TEST_F(SpeakTest, AFileHasTheFormatOfItsName) {
  surroundings_.terminal.out_tty = true;
  server_.on(kSpeech, "sound");
  EXPECT_EQ(run({"speak", "Hello", "-o", file_, "--voice", "de+f3", "--speed", "1.5", "--model", "piper"}), kExitOk);
  EXPECT_EQ(out(), "");
  EXPECT_EQ(err(), file_ + ": 5 B of mp3\n");
  EXPECT_EQ(content(), "sound");
  EXPECT_THAT(server_.bodies(kSpeech),
              ElementsAre(R"({"model":"piper","input":"Hello","response_format":"mp3","voice":"de+f3","speed":1.5})"));
  EXPECT_EQ(run({"speak", "Hello", "-o", file_, "--json"}), kExitOk);
  EXPECT_EQ(out(), R"({"status":"success","file":")" + file_ + "\",\"format\":\"mp3\"}\n");
}

TEST_F(SpeakTest, TextMayComeFromAPipe) {
  surroundings_.terminal.in_tty = false;
  input_.all = "Good night.\n\n";
  server_.on(kSpeech, "x");
  EXPECT_EQ(run({"speak", "--format", "pcm"}), kExitOk);
  EXPECT_THAT(server_.bodies(kSpeech),
              ElementsAre(R"({"model":"tts-1","input":"Good night.","response_format":"pcm"})"));
}

TEST_F(SpeakTest, ATerminalGetsNoSound) {
  surroundings_.terminal.out_tty = true;
  EXPECT_EQ(run({"speak", "Hello"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("-o FILE"));
  EXPECT_TRUE(server_.requests.empty());
}

TEST_F(SpeakTest, ARefusalLeavesAnOlderFileUnchanged) {
  std::ofstream(file_) << "older";
  server_.on(kSpeech, Scripted{.status = 404, .body = R"({"error":{"message":"no voice"}})"});
  EXPECT_EQ(run({"speak", "Hello", "-o", file_}), kExitFailed);
  EXPECT_EQ(err(), "corral: no voice\n");
  EXPECT_EQ(content(), "older");
}

TEST_F(SpeakTest, HalfASoundIsRemoved) {
  server_.on(kSpeech, Scripted{.body = "half", .error = Error{errc::bad_answer, "cut off"}});
  EXPECT_EQ(run({"speak", "Hello", "-o", file_}), kExitFailed);
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST_F(SpeakTest, AFileThatCannotBeWrittenIsAnError) {
  server_.on(kSpeech, "sound");
  EXPECT_EQ(run({"speak", "Hello", "-o", "/nonexistent/x.wav"}), kExitUsage);
  EXPECT_THAT(err(), HasSubstr("'/nonexistent/x.wav' cannot be written"));
}

TEST_F(SpeakTest, WhatMakesNoSenseIsAMisuse) {
  EXPECT_EQ(run({"speak"}), kExitUsage);
  EXPECT_EQ(run({"speak", "x", "--format", "midi"}), kExitUsage);
  EXPECT_EQ(run({"speak", "x", "--json"}), kExitUsage);
  EXPECT_TRUE(server_.requests.empty());
}

}  // namespace
}  // namespace corral::cli
