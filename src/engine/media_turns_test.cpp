// Rule: what a session with pictures says doesn't depend on the size of passes, on turns before, on a cancel in the
// middle of a picture, or on a restart.
#include <filesystem>

#include <gtest/gtest.h>

#include "engine/kv/parked_test_support.h"
#include "engine/test_vision.h"

namespace corral::engine::test {
namespace {

class VisionTurns : public Vision {};
INSTANTIATE_TEST_SUITE_P(Projectors, VisionTurns, ::testing::ValuesIn(kVisionCases), name_of);

TEST_P(VisionTurns, ALargePictureIsComputedInSmallPasses) {
  EngineLoadOptions with = options();
  with.n_batch = 32;
  const auto engine = load(with);
  const auto before = some_tokens(20), after = some_tokens(10, 2);
  const auto file = picture(320, 192);
  Prompt prompt;
  prompt.text(before).picture(*engine, file).text(after);
  EXPECT_EQ(prompt.media.at(0).piece->cells, mrope() ? 20 * 12 : kPictureCells);
  const Answer answer = generate(*engine, session_with(*engine, prompt), listed(24));
  EXPECT_TRUE(same_up_to_ties(by_hand(before, file, after, 24), answer));
}

TEST_P(VisionTurns, TheNextTurnBringsAnotherPicture) {
  const auto engine = load(options());
  Prompt prompt;
  prompt.text(some_tokens(20)).picture(*engine, picture(96, 64, 1)).text(some_tokens(10, 2));
  const Answer first = generate(*engine, session_with(*engine, prompt), endless(20));
  Prompt longer = prompt;
  longer.text(first.tokens).text(some_tokens(8, 3)).picture(*engine, picture(64, 160, 2)).text(some_tokens(5, 4));
  const Answer second = generate(*engine, session_with(*engine, longer), endless(20));
  EXPECT_GE(second.finish.usage.cached_tokens, prompt.tokens.size() + first.tokens.size() - 1);
  const auto other = load(options());
  EXPECT_TRUE(same_up_to_ties(second.tokens, generate(*other, session_with(*other, longer), listed(20))));
}

TEST_P(VisionTurns, ACancelInTheMiddleOfAPictureSpoilsNothing) {
  EngineLoadOptions with = options();
  with.n_batch = 32;
  const auto engine = load(with);
  Prompt prompt;
  prompt.text(some_tokens(50)).picture(*engine, picture(320, 192)).text(some_tokens(10, 2));
  GenerateOptions reporting = endless(20);
  reporting.prompt_progress = true;
  // After so many reports of the prompt's progress: before the picture, in it, behind it.
  for (const std::uint32_t reports : {1u, 3u, 4u, 6u}) {
    auto stream = engine->generate_stream(session_with(*engine, prompt), reporting);
    ASSERT_TRUE(stream) << stream.error().message;
    for (std::uint32_t i = 0; i < reports; ++i) (void)stream->next();
    stream->cancel();
    while (stream->next()) {
    }
  }
  const Answer answer = generate(*engine, session_with(*engine, prompt), endless(20));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  const auto other = load(options());
  EXPECT_TRUE(same_up_to_ties(answer.tokens, generate(*other, session_with(*other, prompt), listed(20))));
}

TEST_F(ParkFolderTest, PicturesOutliveTheEngine) {
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  for (const auto& [model, projector] : kVisionCases) {
    EngineLoadOptions options = load_options(model);
    options.mmproj = projector_path(projector);
    std::uint32_t before = 0;
    const auto ask = [&](const std::vector<Token>& more) {
      const auto engine = load(options);
      Prompt prompt;
      prompt.text(some_tokens(20)).picture(*engine, picture(96, 64)).text(some_tokens(20, 2));
      before = static_cast<std::uint32_t>(prompt.tokens.size());
      prompt.text(more);
      return generate(*engine, session_with(*engine, prompt), listed(16));
    };
    const auto more = ask({}).tokens + some_tokens(5, 3);
    const Answer expected = ask(more);
    options.park_dir = (folder_ / "parked").string();
    EXPECT_EQ(ask({}).finish.usage.cached_tokens, 0u) << model;
    const Answer answer = ask(more);
    EXPECT_GE(answer.finish.usage.cached_tokens, before) << model;
    EXPECT_TRUE(same_up_to_ties(answer.tokens, expected)) << model;
  }
}

}  // namespace
}  // namespace corral::engine::test
