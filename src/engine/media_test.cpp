// Pictures in sessions, with real projectors: what libmtmd and libllama make of them by hand is the reference.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/fit/memory_estimate.h"
#include "engine/test_vision.h"
#include "engine/values/errors.h"
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define CORRAL_LEAKS_ARE_FOUND
#endif
#endif

namespace corral::engine::test {
namespace {

// libmtmd doesn't free a projector of another model. The process of an engine ends then.
struct LeakOfLibmtmd {
#ifdef CORRAL_LEAKS_ARE_FOUND
  LeakOfLibmtmd() { __lsan_disable(); }
  ~LeakOfLibmtmd() { __lsan_enable(); }
#endif
};

INSTANTIATE_TEST_SUITE_P(Projectors, Vision, ::testing::ValuesIn(kVisionCases), name_of);

TEST_P(Vision, APictureIsTokensOfThePrompt) {
  const auto engine = load(options());
  EXPECT_TRUE(engine->facts().vision);
  EXPECT_FALSE(engine->facts().sound);
  const auto before = some_tokens(20), after = some_tokens(10, 2);
  Prompt prompt;
  prompt.text(before).picture(*engine, picture(100, 60)).text(after);
  ASSERT_EQ(prompt.media.size(), 1u);
  const std::uint32_t cells = prompt.media[0].piece->cells;
  EXPECT_EQ(cells, mrope() ? 6 * 4 : kPictureCells);
  EXPECT_EQ(prompt.media[0].piece->positions(), mrope() ? 6 : kPictureCells);
  const Answer answer = generate(*engine, session_with(*engine, prompt), endless(24));
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_EQ(answer.finish.usage.prompt_tokens, prompt.tokens.size());
  EXPECT_EQ(answer.tokens, by_hand(before, picture(100, 60), after, 24));
  EXPECT_EQ(engine->stats().media->encoded, 1u);
  EXPECT_EQ(engine->stats().total().media_tokens, cells);
}

TEST_P(Vision, AnotherPictureGivesAnotherAnswer) {
  const auto engine = load(options());
  const auto ask = [&](std::uint32_t salt) {
    Prompt prompt;
    prompt.text(some_tokens(20)).picture(*engine, picture(64, 64, salt)).text(some_tokens(10, 2));
    return generate(*engine, session_with(*engine, prompt), endless(24)).tokens;
  };
  const auto one = ask(1);
  EXPECT_NE(one, ask(2));
  EXPECT_EQ(one, ask(1));
}

TEST_P(Vision, ASeenPictureIsNotEncodedAgain) {
  const auto engine = load(options());
  Prompt prompt;
  prompt.text(some_tokens(20)).picture(*engine, picture(64, 64)).text(some_tokens(10, 2));
  const Answer first = generate(*engine, session_with(*engine, prompt), endless(8));
  // Its cells are shared.
  Prompt again;
  again.text(some_tokens(20)).picture(*engine, picture(64, 64)).text(some_tokens(10, 3));
  const Answer second = generate(*engine, session_with(*engine, again), endless(8));
  EXPECT_EQ(second.finish.usage.cached_tokens, prompt.tokens.size() - 10);
  EXPECT_EQ(engine->stats().total().media_tokens, kPictureCells);
  // Elsewhere its cells are computed anew, from the same embeddings.
  Prompt elsewhere;
  elsewhere.text(some_tokens(5, 4)).picture(*engine, picture(64, 64)).text(some_tokens(10, 3));
  generate(*engine, session_with(*engine, elsewhere), endless(8));
  EXPECT_EQ(engine->stats().total().media_tokens, 2 * kPictureCells);
  EXPECT_EQ(engine->stats().media->encoded, 1u);
}

TEST_P(Vision, APictureIsParkedAndRestored) {
  EngineLoadOptions with = options();
  with.media_bytes = 1;  // only the latest embeddings
  const auto engine = load(with);
  Prompt prompt;
  for (std::uint32_t i = 1; i <= 4; ++i) prompt.text(some_tokens(10, i)).picture(*engine, picture(64, 64, i));
  prompt.text(some_tokens(10));
  const SessionId session = session_with(*engine, prompt);
  const Answer first = generate(*engine, session, endless(8));
  EXPECT_EQ(engine->stats().media->encoded, 4u);
  EXPECT_TRUE(engine->downsize().done);
  const Answer second = generate(*engine, session, endless(8));
  EXPECT_EQ(engine->stats().media->encoded, 4u);
  EXPECT_EQ(engine->stats().total().restored, 1u);
  // The same without the pause.
  const auto other = load(options());
  Prompt again;
  for (std::uint32_t i = 1; i <= 4; ++i) again.text(some_tokens(10, i)).picture(*other, picture(64, 64, i));
  again.text(some_tokens(10));
  EXPECT_TRUE(same_up_to_ties(first.tokens + second.tokens, generate(*other, session_with(*other, again), listed(16))));
}

TEST_P(Vision, WithoutParkingItIsComputedAgain) {
  EngineLoadOptions with = options();
  with.park_bytes = 0;
  with.media_bytes = 1;
  const auto engine = load(with);
  Prompt prompt;
  prompt.text(some_tokens(10)).picture(*engine, picture(64, 64, 1)).text(some_tokens(3));
  prompt.picture(*engine, picture(64, 64, 2)).text(some_tokens(10));
  const SessionId session = session_with(*engine, prompt);
  const Answer first = generate(*engine, session, endless(8));
  EXPECT_TRUE(engine->downsize().done);
  const Answer second = generate(*engine, session, endless(8));
  EXPECT_EQ(second.finish.reason, FinishReason::length);
  EXPECT_GT(engine->stats().media->encoded, 2u);
  const auto other = load(options());
  EXPECT_TRUE(
      same_up_to_ties(first.tokens + second.tokens, generate(*other, session_with(*other, prompt), listed(16))));
}

TEST_P(Vision, ManySessionsWithPicturesAndText) {
  EngineLoadOptions with = options();
  with.n_ctx = 512;  // some are preempted
  const auto engine = load(with);
  std::vector<Prompt> prompts(8);
  std::vector<StreamHandle> streams;
  for (std::uint32_t i = 0; i < prompts.size(); ++i) {
    prompts[i].text(some_tokens(20 + i, i + 1));
    if (i % 2 == 0) prompts[i].picture(*engine, picture(64, 64, i)).text(some_tokens(7, i));
    if (i % 4 == 0) prompts[i].picture(*engine, picture(64, 80, i)).text(some_tokens(30, i));
    auto stream = engine->generate_stream(session_with(*engine, prompts[i]), endless(60));
    ASSERT_TRUE(stream) << stream.error().message;
    streams.push_back(std::move(*stream));
  }
  std::vector<Answer> answers;
  for (StreamHandle& stream : streams) answers.push_back(drain(stream));
  const auto alone = load(options());
  for (std::uint32_t i = 0; i < prompts.size(); ++i) {
    EXPECT_EQ(answers[i].finish.reason, FinishReason::length);
    EXPECT_TRUE(same_up_to_ties(answers[i].tokens, generate(*alone, session_with(*alone, prompts[i]), listed(60))))
        << i;
  }
}

TEST_P(Vision, AContextShiftDropsWholePictures) {
  const auto engine = load(options());
  Prompt prompt;
  prompt.text(some_tokens(20));
  for (std::uint32_t i = 1; i <= 3; ++i) prompt.picture(*engine, picture(64, 64, i)).text(some_tokens(5, i));
  SessionOptions small;
  small.n_ctx = static_cast<std::uint32_t>(prompt.tokens.size()) + 10;
  GenerateOptions go_on = endless(150);
  go_on.shift = ContextShift{.keep = 22};
  const Answer answer = generate(*engine, session_with(*engine, prompt, small), go_on);
  // A model whose memory can't shift ends instead.
  if (mrope()) EXPECT_EQ(answer.finish.reason, FinishReason::context_full);
  if (std::string_view(GetParam().projector) == "mlp") EXPECT_EQ(answer.finish.reason, FinishReason::length);
  if (answer.finish.reason == FinishReason::context_full) return;
  EXPECT_EQ(answer.finish.reason, FinishReason::length);
  EXPECT_GT(answer.finish.discarded, 0u);
}

TEST_P(Vision, WhatCannotBeReadIsRefused) {
  const auto engine = load(options());
  const auto refusal = [&](const std::vector<std::uint8_t>& file) { return engine->read_media(file).error().message; };
  auto file = picture(64, 64);
  EXPECT_EQ(refusal({file.begin(), file.begin() + 50}), "the PNG file is damaged: it ends before its picture does");
  file[60] ^= 0xFF;
  file[70] ^= 0xFF;
  std::fill(file.begin() + 45, file.begin() + 200, 0xEE);
  EXPECT_EQ(refusal(file), "the PNG file can't be decoded");
  EXPECT_EQ(refusal({'R', 'I', 'F', 'F'}), "the data are no PNG, JPEG, GIF, WebP, WAV, MP3 or FLAC file");
}

TEST(Projectors, OfAnotherModelAreRefused) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.mmproj = projector_path("mlp", {.projected = 32});
  const auto engine = [&options] {
    [[maybe_unused]] const LeakOfLibmtmd allowed;
    return InferenceEngine::load(options);
  }();
  ASSERT_FALSE(engine);
  EXPECT_EQ(engine.error().code, errc::load_failed);
  EXPECT_EQ(engine.error().param, "mmproj");
  EXPECT_NE(engine.error().message.find("mismatch between text model (n_embd = 64) and mmproj (n_embd = 32)"),
            std::string::npos)
      << engine.error().message;
  options.mmproj = "/nowhere/mmproj.gguf";
  const auto missing = InferenceEngine::load(options);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, errc::file_not_found);
  EXPECT_EQ(missing.error().param, "mmproj");
  options.mmproj = model_path("tiny-llama");
  EXPECT_EQ(InferenceEngine::load(options).error().param, "mmproj");
}

TEST(Projectors, ModelsWithoutOneTakeTextOnly) {
  const auto engine = load(load_options("tiny-llama"));
  EXPECT_FALSE(engine->facts().vision);
  EXPECT_EQ(engine->read_media(picture(64, 64)).error().code, errc::unsupported);
  EXPECT_FALSE(engine->stats().media);
}

TEST(Projectors, TheirMemoryIsPartOfTheEstimate) {
  EngineLoadOptions options = load_options("tiny-llama");
  const auto plain = estimate_memory(options);
  options.mmproj = projector_path("mlp");
  const auto with = estimate_memory(options);
  ASSERT_TRUE(plain && with);
  EXPECT_GT(with->devices.front().weights, plain->devices.front().weights + 50'000);
  EXPECT_GT(with->devices.front().compute, plain->devices.front().compute);
}

TEST(Projectors, ACheckerKnowsWhatTheModelTakes) {
  EngineLoadOptions options = load_options("tiny-llama");
  options.mmproj = projector_path("mlp");
  const auto engine = InferenceEngine::load_without_weights(options);
  ASSERT_TRUE(engine) << engine.error().message;
  EXPECT_TRUE((*engine)->facts().vision);
  EXPECT_EQ((*engine)->read_media(picture(64, 64)).error().code, errc::no_weights);
}

}  // namespace
}  // namespace corral::engine::test
