// Voices of espeak-ng: its listing, what requests mean by one, and that nothing else gets into its command.
#include "backends/speech/voices.h"

#include <boost/asio/post.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/loop.h"
#include "backends/errors.h"
#include "proc/fake_spawner_for_tests.h"

namespace corral::backends {
namespace {

using testing::HasSubstr;

constexpr const char* kListing =
    "Pty Language       Age/Gender VoiceName          File                 Other Languages\n"
    " 5  af              --/M      Afrikaans          gmw/af               \n"
    " 2  en-gb           --/M      English_(Great_Britain) gmw/en               (en 2)\n"
    " 2  en-us           --/F      English_(America)  gmw/en-US            (en 3)\n"
    " 5  en-us           --/M      Twice              gmw/x\n"
    " 5  cmn             --/M      Chinese_(Mandarin) sit/cmn              (zh-cmn 5)(zh 5)\n"
    " 5  cmn-latn        --/M      Chinese_(Pinyin)   sit/cmn-Latn         (zh-cmn 5)(zh 5)\n"
    " 5  fr-be           --/M      French_(Belgium)   roa/fr-BE            (fr 8)\n"
    " 5  fr-fr           --/M      French_(France)    roa/fr               (fr 5)\n"
    "\n";

VoiceList voices() { return read_espeak_voices(kListing); }
std::string fitted(const std::string& body) {
  const auto own = espeak_body(body, voices());
  return own ? *own : "refused: " + own.error().message;
}

TEST(Voices, AreReadOfTheListing) {
  EXPECT_THAT(voices(),
              testing::ElementsAre(Voice{"af", "Afrikaans", "af", "male", "gmw/af"},
                                   Voice{"en-gb", "English (Great Britain)", "en-gb", "male", "gmw/en", {"en"}},
                                   Voice{"en-us", "English (America)", "en-us", "female", "gmw/en-US"},
                                   Voice{"gmw/x", "Twice", "en-us", "male", "gmw/x"},
                                   Voice{"cmn", "Chinese (Mandarin)", "cmn", "male", "sit/cmn", {"zh", "zh-cmn"}},
                                   Voice{"cmn-latn", "Chinese (Pinyin)", "cmn-latn", "male", "sit/cmn-Latn"},
                                   Voice{"fr-be", "French (Belgium)", "fr-be", "male", "roa/fr-BE"},
                                   Voice{"fr-fr", "French (France)", "fr-fr", "male", "roa/fr", {"fr"}}));
  EXPECT_THAT(read_espeak_voices(""), testing::IsEmpty());
}

TEST(Voices, ARequestSaysWhichOneAndHowFast) {
  EXPECT_EQ(fitted(R"({"input":"hi"})"), R"({"input":"hi","voice":"en-us","words_per_minute":175})");
  EXPECT_THAT(fitted(R"({"input":"hi","voice":"alloy","speed":2})"),
              HasSubstr(R"("voice":"en-us","words_per_minute":350})"));
  EXPECT_THAT(fitted(R"({"input":"hi","voice":"EN-GB+f2","speed":0.25})"),
              HasSubstr(R"("voice":"en-gb+f2","words_per_minute":80})"));
  EXPECT_THAT(fitted(R"({"input":"hi","voice":"Afrikaans","speed":4})"),
              HasSubstr(R"("voice":"af","words_per_minute":450})"));
  EXPECT_THAT(fitted(R"({"input":"hi","words_per_minute":"--stdout"})"), HasSubstr(R"("words_per_minute":175})"));
}

TEST(Voices, EveryNameThatEspeakKnowsWorks) {
  const auto meant = [](const std::string& voice) {
    const auto own = espeak_body(R"({"input":"hi","voice":")" + voice + R"("})", voices());
    if (!own) return own.error().message;
    const auto begin = own->find(R"("voice":")") + 9;
    return own->substr(begin, own->find('"', begin) - begin);
  };
  for (const auto& [voice, own] :
       std::initializer_list<std::pair<const char*, const char*>>{{"en", "en-gb"},
                                                                  {"fr", "fr-fr"},
                                                                  {"ZH", "cmn"},
                                                                  {"zh-cmn", "cmn"},
                                                                  {"fr+f3", "fr-fr+f3"},
                                                                  {"fr-be", "fr-be"},
                                                                  {"gmw/en-us", "en-us"},
                                                                  {"gmw/x", "gmw/x"},
                                                                  {"English (America)", "en-us"},
                                                                  {"English_(America)", "en-us"},
                                                                  {"verse", "en-gb+m2"}}) {
    EXPECT_EQ(meant(voice), own) << voice;
  }
  EXPECT_EQ(meant("fr-fx"),
            "unknown voice \"fr-fx\" (did you mean fr-fr or fr-be?): GET /v1/audio/voices lists all; a variant "
            "may follow a voice, such as en-us+f2");
  EXPECT_EQ(meant("qqqqqqqq"),
            "unknown voice \"qqqqqqqq\": GET /v1/audio/voices lists all; a variant may follow a voice, such as "
            "en-us+f2");
  for (const auto& voice : openai_voices()) EXPECT_EQ(meant(std::string(voice.name)), voice.own);
}

TEST(Voices, NothingButAVoiceGetsIntoTheCommand) {
  for (const char* voice :
       {"klingon", "--help", "-w/tmp/x", "../../etc/passwd", "en-us+", "en-us+f2;x", "en-us+../x", "en-us f2", "+f2"}) {
    EXPECT_THAT(fitted(R"({"input":"hi","voice":")" + std::string(voice) + R"("})"), HasSubstr("unknown voice"))
        << voice;
  }
}

class VoicesTest : public testing::Test {
 protected:
  models::ModelInfo model(std::string recipe) {
    models::ModelInfo info;
    info.name = ModelName("speaker");
    info.recipe = std::move(recipe);
    return info;
  }
  async::Loop loop;
  async::ManualTimers timers{loop.executor()};
  proc::FakeSpawner spawner{timers};
};

TEST_F(VoicesTest, TheProgramIsAskedOnce) {
  spawner.script = [](std::shared_ptr<proc::FakeProcess> process) -> async::Task<void> {
    std::istringstream lines{kListing};
    for (std::string line; std::getline(lines, line);) process->print(line);
    process->exit(0);
    co_return;
  };
  Voices provider(spawner, timers, [] { return std::string("/usr/bin/espeak-ng"); });
  for (int i = 0; i < 2; ++i) {
    const auto list = async::run_blocking(loop, provider.of(model("espeak-ng")));
    ASSERT_TRUE(list);
    EXPECT_EQ((*list)->size(), 8u);
  }
  ASSERT_EQ(spawner.processes().size(), 1u);
  EXPECT_THAT(spawner.processes()[0]->spec().argv, testing::ElementsAre("/usr/bin/espeak-ng", "--voices"));
}

// Its request waited for ever.
TEST_F(VoicesTest, AProgramThatHangsIsKilled) {
  spawner.script = [this](std::shared_ptr<proc::FakeProcess>) -> async::Task<void> {
    while (timers.sleepers() == 0) co_await async::asio::post(async::use_task);
    timers.advance(std::chrono::seconds(10));
  };
  Voices provider(spawner, timers, [] { return std::string("/usr/bin/espeak-ng"); });
  const auto list = async::run_blocking(loop, provider.of(model("espeak-ng")));
  ASSERT_FALSE(list);
  EXPECT_EQ(list.error().code, errc::load_failed);
  EXPECT_EQ(list.error().message,
            "espeak-ng did not list its voices within 10 s: try it with: /usr/bin/espeak-ng --voices");
  EXPECT_EQ(spawner.running(), 0u);
}

TEST_F(VoicesTest, OthersDontTellAndOneThatIsntThereIsNamed) {
  Voices provider(spawner, timers, [] { return std::string(); });
  EXPECT_THAT(async::run_blocking(loop, provider.of(model("kokoro"))).error().message, HasSubstr("kokoro"));
  EXPECT_EQ(async::run_blocking(loop, provider.fitted("{}", model("kokoro"))), "{}");
  const auto missing = async::run_blocking(loop, provider.fitted("{}", model("espeak-ng")));
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::backend_not_installed);
}

}  // namespace
}  // namespace corral::backends
