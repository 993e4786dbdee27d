#include "router/options/model_media.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::router {
namespace {

using testing::ElementsAre;

models::ModelInfo seeing() {
  models::ModelInfo model;
  model.mmproj = "/mmproj.gguf";
  model.traits.vision = model.traits.audio = true;
  model.labels = {"chat", "vision", "chat-transcription"};
  return model;
}

TEST(ModelMedia, OptionsNameTheProjector) {
  const auto of = [](const char* text) {
    backends::LoadOptions options;
    options.mmproj = text;
    return projector_in(options);
  };
  EXPECT_EQ(projector_in({}), Projector::own);
  EXPECT_EQ(of(""), Projector::own);
  EXPECT_EQ(of("auto"), Projector::own);
  EXPECT_EQ(of("none"), Projector::none);
  EXPECT_EQ(of("/p.gguf"), Projector::named);
}

TEST(ModelMedia, AModelReadsWhatItsProjectorDoes) {
  EXPECT_EQ(media_of(seeing(), Projector::own), (ModelMedia{true, true, true}));
  EXPECT_EQ(media_of(seeing(), Projector::none), ModelMedia());
  EXPECT_EQ(media_of({}, Projector::own), ModelMedia());
  EXPECT_EQ(media_of({}, Projector::named), (ModelMedia{true, false, false})) << "its file is not read";
  auto embedding = seeing();
  embedding.type = ModelType::embedding;
  EXPECT_EQ(media_of(embedding, Projector::own), ModelMedia());
}

TEST(ModelMedia, ProgramsDecideUnlessTheirConfigurationSaysNo) {
  models::ModelInfo model;
  model.recipe = "vllm";
  EXPECT_EQ(media_of(model, Projector::own), (ModelMedia{false, false, false}));
  model.declared.vision = true;
  EXPECT_EQ(media_of(model, Projector::own), (ModelMedia{true, false, false}));
  model.declared.vision = false;
  EXPECT_EQ(media_of(model, Projector::own), ModelMedia());
}

TEST(ModelMedia, OtherNodesSayIt) {
  models::ModelInfo model;
  EXPECT_FALSE(media_announced(model).sure);
  model.traits.architecture = "llama";
  EXPECT_EQ(media_announced(model), ModelMedia());
  model.traits.vision = true;
  model.labels = {"vision", "chat-transcription"};
  EXPECT_EQ(media_announced(model), (ModelMedia{true, true, true}));
}

TEST(ModelMedia, LabelsFollowTheProjector) {
  EXPECT_THAT(labels_with(seeing(), Projector::own), ElementsAre("chat", "vision", "chat-transcription"));
  EXPECT_THAT(labels_with(seeing(), Projector::none), ElementsAre("chat"));
  EXPECT_THAT(labels_with(seeing(), Projector::named), ElementsAre("chat", "vision"));
}

}  // namespace
}  // namespace corral::router
