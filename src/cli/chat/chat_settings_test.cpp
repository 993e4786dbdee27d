#include "cli/chat/chat_settings.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "cli/chat/attachments.h"
#include "cli/errors.h"

namespace corral::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pair;
using ::testing::SizeIs;

TEST(ChatSettings, TextsNeedNoQuotationMarks) {
  ChatSettings settings;
  ASSERT_TRUE(settings.set("temperature", "0.5"));
  ASSERT_TRUE(settings.set("stop", "###"));
  ASSERT_TRUE(settings.set("stop", R"(["a","b"])"));
  ASSERT_TRUE(settings.set("reasoning_effort", "low"));
  ASSERT_TRUE(settings.set("num_predict", "7"));
  EXPECT_THAT(settings.fields(), ElementsAre(Pair("temperature", "0.5"), Pair("stop", R"(["a","b"])"),
                                             Pair("reasoning_effort", R"("low")"), Pair("max_completion_tokens", "7")));
  EXPECT_TRUE(settings.unset("stop"));
  EXPECT_FALSE(settings.unset("stop"));
  EXPECT_TRUE(settings.unset("num_predict"));
  EXPECT_THAT(settings.fields(), SizeIs(2));
}

TEST(ChatSettings, ErrorsSayWhatIsValid) {
  ChatSettings settings;
  EXPECT_EQ(settings.set("temperatur", "1").error().message,
            "there is no option 'temperatur' of requests; did you mean temperature?");
  EXPECT_EQ(settings.set("messages", "[]").error().message, "there is no option 'messages' of requests");
  EXPECT_EQ(settings.set("temperature", "hot").error().message,
            "'temperature' must be a number between 0 and 2, not \"hot\"");
  EXPECT_EQ(settings.set("temperature", "9").error().message, "'temperature' must be a number between 0 and 2, not 9");
  EXPECT_THAT(settings.fields(), SizeIs(0));
  EXPECT_THAT(settable_fields(), Contains("top_k"));
  EXPECT_THAT(settable_fields(), Not(Contains("stream")));
}

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() { std::filesystem::create_directories(folder_); }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(FilesTest, AFormatIsJsonOrASchema) {
  ChatSettings settings;
  ASSERT_TRUE(settings.set_format("json"));
  EXPECT_THAT(settings.fields(), ElementsAre(Pair("response_format", R"({"type":"json_object"})")));
  ASSERT_TRUE(settings.set_format(file("s.json", "{\n \"type\": \"array\" }\n")));
  EXPECT_THAT(settings.fields(),
              ElementsAre(Pair("response_format", R"({"type":"json_schema","json_schema":{"name":"answer",)"
                                                  R"("schema":{"type":"array"}}})")));
  EXPECT_EQ(settings.set_format("yaml").error().message,
            "there is no file 'yaml': the format is json, or a file with a JSON schema");
  const auto list = file("l.json", "[]");
  EXPECT_EQ(settings.set_format(list).error().message, "'" + list + "' is no JSON schema: it is no object");
}

TEST_F(FilesTest, ATextIsPartOfTheMessage) {
  Draft draft;
  EXPECT_TRUE(draft.empty());
  ASSERT_TRUE(attach(file("a.txt", "one\ntwo"), draft));
  EXPECT_EQ(draft.texts, "a.txt:\n\n```\none\ntwo\n```\n\n");
  EXPECT_FALSE(draft.empty());
}

TEST_F(FilesTest, PicturesAndSoundsAreSentAsTheyAre) {
  Draft draft;
  ASSERT_TRUE(attach(file("a", "\x89PNG\r\n\x1a\n1234"), draft));
  ASSERT_TRUE(attach(file("b", std::string("RIFF\0\0\0\0WAVE", 12)), draft));
  ASSERT_TRUE(attach(file("c", "ID3x"), draft));
  ASSERT_TRUE(attach(file("d", "fLaCx"), draft));
  ASSERT_THAT(draft.attachments, SizeIs(4));
  EXPECT_EQ(draft.attachments[0].type, "image/png");
  EXPECT_EQ(draft.attachments[0].base64, "iVBORw0KGgoxMjM0");
  EXPECT_EQ(draft.attachments[1].type, "audio/wav");
  EXPECT_EQ(draft.attachments[2].type, "audio/mp3");
  EXPECT_EQ(draft.attachments[3].type, "audio/flac");
}

TEST_F(FilesTest, OtherFilesAreErrors) {
  Draft draft;
  EXPECT_EQ(attach("/nonexistent/x", draft).error().message, "there is no file '/nonexistent/x'");
  EXPECT_EQ(attach("/tmp", draft).error().message, "'/tmp' is no file");
  const auto nothing = file("e", "");
  EXPECT_EQ(attach(nothing, draft).error().message, "'" + nothing + "' is empty");
  const auto binary = file("b", std::string("a\0b", 3));
  EXPECT_EQ(attach(binary, draft).error().message,
            "'" + binary + "' is no text in UTF-8, no picture (PNG, JPEG, WebP, GIF) and no sound (wav, mp3, flac)");
  const auto text = file("t", "text");
  EXPECT_EQ(attach_picture(text, draft).error().message, "'" + text + "' is no PNG, JPEG, WebP or GIF");
  const auto large = file("l", std::string((std::size_t{1} << 20) + 1, 'x'));
  EXPECT_EQ(attach(large, draft).error().message, "'" + large + "' is larger than 1.0 MiB, the limit for a text");
  EXPECT_TRUE(draft.empty());
}

}  // namespace
}  // namespace corral::cli
