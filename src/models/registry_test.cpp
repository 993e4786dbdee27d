#include "models/registry.h"

#include <chrono>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "models/errors.h"
#include "models/gguf/gguf_test_writer.h"
#include "models/temp_dir_for_tests.h"

namespace corral::models {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class RegistryTest : public testing::Test {
 protected:
  void save(const fs::path& relative, const GgufWriter& writer) { writer.save(dir_ / relative); }
  void save(const fs::path& relative) { save(relative, GgufWriter::model("llama")); }
  // A shard of a set; only the first names the architecture, as llama.cpp's splitter has it.
  void save_shard(const fs::path& relative, std::uint16_t number, std::uint16_t count) {
    GgufWriter writer = number == 0 ? GgufWriter::model("llama") : GgufWriter().tensor("t", {8});
    save(relative, writer.u16("split.no", number).u16("split.count", count));
  }
  void link(const fs::path& target, const fs::path& relative) {
    fs::create_directories((dir_ / relative).parent_path());
    fs::create_symlink(target, dir_ / relative);
  }

  RegistryOptions options() const { return {.models_dirs = {dir_ / "models"}, .hub_cache = dir_ / "hub"}; }
  std::shared_ptr<const Catalog> scanned() const { return scan(options(), nullptr).catalog; }

  static std::vector<std::string> names(const Catalog& catalog) {
    std::vector<std::string> all;
    for (const auto& model : catalog.models()) all.push_back(model->name.value());
    return all;
  }
  static std::vector<std::string> causes(std::span<const Problem> problems) {
    std::vector<std::string> all;
    for (const Problem& problem : problems) all.push_back(problem.name.value() + ": " + problem.cause.code.message());
    return all;
  }

  const TempDir dir_;
};

TEST_F(RegistryTest, DescribesAModel) {
  save("models/tiny.gguf", GgufWriter::model("qwen3").text("tokenizer.chat_template", "{{ tools }}"));
  const auto catalog = scanned();
  const auto found = catalog->find("tiny");
  ASSERT_TRUE(found) << found.error().message;
  const ModelInfo& model = **found;
  EXPECT_THAT(model.paths, ElementsAre(dir_ / "models/tiny.gguf"));
  EXPECT_EQ(model.checkpoint, (dir_ / "models/tiny.gguf").native());
  EXPECT_EQ(model.recipe, "llamacpp");
  EXPECT_EQ(model.type, ModelType::llm);
  EXPECT_EQ(model.size, Bytes(fs::file_size(dir_ / "models/tiny.gguf")));
  EXPECT_GT(epoch_millis(model.created), 1'600'000'000'000);
  EXPECT_EQ(model.traits.context_length, 2048U);
  EXPECT_THAT(model.labels, ElementsAre("chat", "tool-calling"));
  EXPECT_THAT(catalog->problems(), IsEmpty());
}

TEST_F(RegistryTest, AModelOfOllamasRegistryHasWhatCameWithIt) {
  const fs::path snapshot = "hub/models--ollama.com--library--x/snapshots/abc";
  save(snapshot / "x-1b.gguf");
  save(snapshot / "x-2b.gguf");
  std::ofstream(dir_ / snapshot / "x-1b.params.json") << R"({"num_ctx": 512})";
  std::ofstream(dir_ / snapshot / "x-1b-lora.gguf") << "no model";
  const auto catalog = scanned();
  const auto found = catalog->find("x:1b"), other = catalog->find("x:2b");
  ASSERT_TRUE(found && other);
  EXPECT_EQ((*found)->parameters, R"({"num_ctx": 512})");
  EXPECT_EQ((*found)->adapter, dir_ / snapshot / "x-1b-lora.gguf");
  EXPECT_EQ((*other)->parameters, "");
  EXPECT_EQ((*other)->adapter, fs::path());
}

TEST_F(RegistryTest, AFileFromAnAddressIsCalledByItsFileAndALaterOneLeavesItsNameAlone) {
  save("hub/models--web.address--example.com--b/snapshots/c/x-Q8_0.gguf");
  const auto first = dir_ / "hub/models--web.address--example.com--b/snapshots/c/x-Q8_0.gguf";
  EXPECT_THAT(names(*scanned()), ElementsAre("x-Q8_0"));
  EXPECT_EQ((*scanned()->find("example.com/x-Q8_0"))->paths.front(), first);
  EXPECT_EQ((*scanned()->find("x-Q8_0"))->checkpoint, first.native());

  save("hub/models--web.address--example.com--a/snapshots/c/x-Q8_0.gguf");
  fs::last_write_time(first, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("example.com/x-Q8_0", "x-Q8_0"));
  EXPECT_EQ((*catalog->find("x-Q8_0"))->paths.front(), first);
}

TEST_F(RegistryTest, SearchesAllDepthsButNotHiddenPlaces) {
  save("models/a.gguf");
  save("models/sub/deeper/b.GGUF");
  save("models/.hidden/c.gguf");
  save("models/._d.gguf");
  std::ofstream(dir_ / "models/notes.txt") << "GGUF";
  EXPECT_THAT(names(*scanned()), ElementsAre("a", "b"));
}

TEST_F(RegistryTest, BrokenFilesAreToldNotDropped) {
  save("models/good.gguf");
  GgufWriter cut = GgufWriter::model("llama");
  cut.missing_data = 100;
  save("models/cut.gguf", cut);
  std::ofstream(dir_ / "models/text.gguf") << "hello, this is no model";
  link("nowhere", "models/dangling.gguf");
  ASSERT_EQ(::mkfifo((dir_ / "models/pipe.gguf").c_str(), 0600), 0);
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("good"));
  EXPECT_THAT(causes(catalog->problems()), ElementsAre("cut: model_file_truncated", "dangling: model_file_not_found",
                                                       "pipe: model_file_unreadable", "text: not_gguf"));
  EXPECT_THAT(catalog->find("cut").error().message, HasSubstr("the download or copy is incomplete"));
}

TEST_F(RegistryTest, DirectoriesThatAreNotThereAreTold) {
  const auto catalog = scanned();
  EXPECT_THAT(causes(catalog->problems()), ElementsAre("models: model_file_not_found"));
  const auto folder = (dir_ / "models").native();
  EXPECT_EQ(catalog->problems()[0].cause.message,
            "'" + folder + "' cannot be read: '" + folder + "' does not exist: run mkdir -p " + folder);
}

TEST_F(RegistryTest, AFileMayStandForADirectory) {
  save("elsewhere/one.gguf");
  save("elsewhere/two.gguf");
  RegistryOptions single = options();
  single.models_dirs = {dir_ / "elsewhere/one.gguf"};
  EXPECT_THAT(names(*scan(single, nullptr).catalog), ElementsAre("one"));
}

TEST_F(RegistryTest, ShardsMakeOneModel) {
  for (std::uint16_t i = 0; i < 3; ++i) save_shard("models/big-0000" + std::to_string(i + 1) + "-of-00003.gguf", i, 3);
  const auto catalog = scanned();
  ASSERT_THAT(names(*catalog), ElementsAre("big"));
  const ModelInfo& model = *catalog->models()[0];
  EXPECT_THAT(model.paths, ElementsAre(dir_ / "models/big-00001-of-00003.gguf", dir_ / "models/big-00002-of-00003.gguf",
                                       dir_ / "models/big-00003-of-00003.gguf"));
  EXPECT_EQ(model.traits.parameters, 128U + 8 + 8);
  std::uint64_t size = 0;
  for (const fs::path& path : model.paths) size += fs::file_size(path);
  EXPECT_EQ(model.size, Bytes(size));
}

TEST_F(RegistryTest, AMissingShardIsNamed) {
  save_shard("models/big-00001-of-00003.gguf", 0, 3);
  save_shard("models/big-00003-of-00003.gguf", 2, 3);
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), IsEmpty());
  const auto found = catalog->find("big");
  EXPECT_EQ(found.error().code, errc::missing_shard);
  EXPECT_EQ(found.error().message, "'big' lacks 1 of its 3 files: 'big-00002-of-00003.gguf'");
}

TEST_F(RegistryTest, ABrokenShardExplainsTheSet) {
  save_shard("models/big-00001-of-00002.gguf", 0, 2);
  std::ofstream(dir_ / "models/big-00002-of-00002.gguf") << "GGUF";
  const auto catalog = scanned();
  EXPECT_THAT(causes(catalog->problems()), ElementsAre("big: model_file_truncated"));
}

TEST_F(RegistryTest, ARenamedShardIsRefused) {
  save_shard("models/renamed.gguf", 0, 2);
  EXPECT_THAT(scanned()->find("renamed").error().message, HasSubstr("its name must end in '-00001-of-00002.gguf'"));
}

TEST_F(RegistryTest, AShardWithAnUpperCaseEndingIsListedWithItsProblem) {
  for (std::uint16_t i = 0; i < 2; ++i) save_shard("models/Up-0000" + std::to_string(i + 1) + "-of-00002.GGUF", i, 2);
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), IsEmpty());
  EXPECT_THAT(catalog->find("Up").error().message, HasSubstr("its name must end in '-00001-of-00002.gguf'"));
}

TEST_F(RegistryTest, ASetMayBeLinksToFilesOfOtherNames) {
  for (std::uint16_t i = 0; i < 2; ++i) {
    const auto number = std::to_string(i + 1);
    save_shard("models/part" + number + ".gguf", i, 2);
    link("part" + number + ".gguf", "models/big-0000" + number + "-of-00002.gguf");
  }
  const auto catalog = scanned();
  ASSERT_THAT(names(*catalog), ElementsAre("big"));
  EXPECT_THAT(catalog->problems(), IsEmpty());
  EXPECT_THAT(catalog->models()[0]->paths,
              ElementsAre(dir_ / "models/big-00001-of-00002.gguf", dir_ / "models/big-00002-of-00002.gguf"));
}

TEST_F(RegistryTest, ASetOfWhichHalfIsHardLinkedIsWhole) {
  for (std::uint16_t i = 0; i < 2; ++i) save_shard("models/big-0000" + std::to_string(i + 1) + "-of-00002.gguf", i, 2);
  fs::create_directories(dir_ / "models/a");
  fs::create_hard_link(dir_ / "models/big-00001-of-00002.gguf", dir_ / "models/a/big-00001-of-00002.gguf");
  save_shard("models/a/big-00002-of-00002.gguf", 1, 2);
  fs::create_hard_link(dir_ / "models/big-00002-of-00002.gguf", dir_ / "models/other-00002-of-00002.gguf");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("a/big", "big"));
  EXPECT_THAT(catalog->problems(), IsEmpty());
}

TEST_F(RegistryTest, ASetThatIsHardLinkedIsOneModel) {
  for (std::uint16_t i = 0; i < 2; ++i) {
    const auto tail = "-0000" + std::to_string(i + 1) + "-of-00002.gguf";
    save_shard("models/big" + tail, i, 2);
    fs::create_hard_link(dir_ / ("models/big" + tail), dir_ / ("models/same" + tail));
  }
  const auto catalog = scanned();
  ASSERT_THAT(names(*catalog), ElementsAre("big"));
  EXPECT_EQ((*catalog->find("same"))->name, ModelName("big"));
}

TEST_F(RegistryTest, FilesThatAreNoModelsStandAside) {
  save("models/tiny.gguf");
  save("models/my-lora.gguf", GgufWriter::model("llama").text("general.type", "adapter").text("adapter.type", "lora"));
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("tiny"));
  EXPECT_THAT(catalog->problems(), IsEmpty());
  EXPECT_THAT(causes(catalog->not_models()), ElementsAre("my-lora: not_a_model"));
  EXPECT_THAT(catalog->find("my-lora").error().message, HasSubstr("is a LoRA adapter, not a model"));
}

TEST_F(RegistryTest, EqualNamesAreToldApartByTheirPlace) {
  save("models/x.gguf");
  save("models/sub/x.gguf");
  save("models/a/y.gguf");
  save("models/b/y.gguf");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("a/y", "b/y", "sub/x", "x"));
  EXPECT_EQ((*catalog->find("y"))->name, ModelName("a/y")) << "the brief name goes on to work";
}

TEST_F(RegistryTest, EqualNamesInTwoDirectories) {
  save("models/x.gguf");
  save("more/x.gguf");
  RegistryOptions two = options();
  two.models_dirs.push_back(dir_ / "more");
  EXPECT_THAT(names(*scan(two, nullptr).catalog), ElementsAre("more/x", "x"));
}

TEST_F(RegistryTest, LinksAreOtherNamesOfOneModel) {
  save("models/tiny.gguf");
  link("tiny.gguf", "models/default.gguf");
  const auto catalog = scanned();
  ASSERT_THAT(names(*catalog), ElementsAre("tiny"));
  EXPECT_EQ((*catalog->find("default"))->name, ModelName("tiny"));
}

TEST_F(RegistryTest, LinkedDirectoriesAreEnteredOnce) {
  save("models/real/x.gguf");
  link("real", "models/again");
  link("..", "models/real/loop");
  save("outside/z.gguf");
  link(dir_ / "outside", "models/linked");
  EXPECT_THAT(names(*scanned()), ElementsAre("x", "z"));
}

TEST_F(RegistryTest, LimitsAreTold) {
  save("models/1/2/3/deep.gguf");
  for (int i = 0; i < 10; ++i) save("models/flat/m" + std::to_string(i) + ".gguf");
  RegistryOptions shallow = options();
  shallow.max_depth = 2;
  EXPECT_THAT(causes(scan(shallow, nullptr).catalog->problems()), ElementsAre("3: scan_limit_reached"));
  RegistryOptions few = options();
  few.max_files = 8;
  EXPECT_THAT(causes(scan(few, nullptr).catalog->problems()), ElementsAre("flat: scan_limit_reached"));
}

TEST_F(RegistryTest, ProjectorsBelongToTheModelBesideThem) {
  save("models/see/gemma-Q4_0.gguf");
  save("models/see/mmproj-F16.gguf", GgufWriter::model("clip").flag("clip.has_vision_encoder", true));
  save("models/blind.gguf");
  const auto catalog = scanned();
  ASSERT_THAT(names(*catalog), ElementsAre("blind", "gemma-Q4_0"));
  EXPECT_TRUE(catalog->models()[0]->mmproj.empty());
  const ModelInfo& seeing = *catalog->models()[1];
  EXPECT_EQ(seeing.mmproj, dir_ / "models/see/mmproj-F16.gguf");
  EXPECT_TRUE(seeing.traits.vision);
  EXPECT_THAT(seeing.labels, ElementsAre("vision"));
  EXPECT_GT(seeing.size.value(), fs::file_size(seeing.paths[0]));
}

// The second was downloaded, and not found.
TEST_F(RegistryTest, FilesOfTheHubWithTheSameContentAreOneModelWithAllNames) {
  const fs::path repo = "hub/models--org--twins";
  save(repo / "blobs/1111");
  link("../../../blobs/1111", repo / "snapshots/new/a/one-Q8_0.gguf");
  link("../../../blobs/1111", repo / "snapshots/new/b/two-Q6_K.gguf");
  const auto catalog = scanned();
  ASSERT_THAT(names(*catalog), ElementsAre("org/twins:Q8_0"));
  for (const auto* name : {"org/twins:Q8_0", "org/twins:one-Q8_0", "org/twins:a/one-Q8_0.gguf", "org/twins:Q6_K",
                           "org/twins:two-Q6_K", "org/twins:two-Q6_K.gguf", "org/twins:b/two-Q6_K.gguf"})
    EXPECT_TRUE(catalog->find(name)) << name;
}

TEST_F(RegistryTest, FindsTheHubsModels) {
  const fs::path repo = "hub/models--org--Tiny-GGUF";
  save(repo / "blobs/1111");
  save(repo / "blobs/2222");
  save(repo / "blobs/3333", GgufWriter::model("clip").flag("clip.has_vision_encoder", true));
  link("../../blobs/1111", repo / "snapshots/new/tiny-q8_0.gguf");
  link("../../../blobs/2222", repo / "snapshots/new/Q4_K_M/tiny.gguf");
  link("../../blobs/3333", repo / "snapshots/new/mmproj-model-f16.gguf");
  save(repo / "snapshots/old/tiny-q8_0.gguf");
  save(repo / "snapshots/old/tiny-F16.gguf");
  fs::create_directories(dir_ / repo / "refs");
  std::ofstream(dir_ / repo / "refs/main") << "new";
  save("models/other.gguf");
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("org/Tiny-GGUF:F16", "org/Tiny-GGUF:Q4_K_M", "org/Tiny-GGUF:Q8_0", "other"));
  const auto q8 = catalog->find("org/tiny-gguf:q8_0");
  ASSERT_TRUE(q8);
  EXPECT_EQ((*q8)->checkpoint, "org/Tiny-GGUF:Q8_0");
  EXPECT_THAT((*q8)->paths, ElementsAre(dir_ / repo / "snapshots/new/tiny-q8_0.gguf")) << "of the revision in use";
  for (const auto* file : {"org/Tiny-GGUF:tiny-q8_0.gguf", "user.org/tiny-gguf:TINY-Q8_0.gguf", "tiny-q8_0.gguf"}) {
    const auto by_file = catalog->find(file);
    ASSERT_TRUE(by_file) << file;
    EXPECT_EQ(*by_file, *q8);
  }
  const auto in_folder = catalog->find("org/Tiny-GGUF:Q4_K_M/tiny.gguf");
  ASSERT_TRUE(in_folder);
  EXPECT_EQ((*in_folder)->paths, catalog->find("org/Tiny-GGUF:Q4_K_M").value()->paths);
  EXPECT_EQ((*q8)->mmproj, dir_ / repo / "snapshots/new/mmproj-model-f16.gguf");
  EXPECT_EQ((*catalog->find("org/Tiny-GGUF"))->name, ModelName("org/Tiny-GGUF:Q4_K_M"));
  EXPECT_EQ((*catalog->find("tiny-q8_0"))->name, ModelName("org/Tiny-GGUF:Q8_0"));
}

TEST_F(RegistryTest, HubFilesOfOneQuantisationKeepTheirStems) {
  save("hub/models--org--many/snapshots/1/one-Q8_0.gguf");
  save("hub/models--org--many/snapshots/1/two-Q8_0.gguf");
  save("models/x.gguf");
  EXPECT_THAT(names(*scanned()), ElementsAre("org/many:one-Q8_0", "org/many:two-Q8_0", "x"));
}

TEST_F(RegistryTest, ModelsOfOllamasRegistryAreCalledAsThere) {
  const fs::path repo = "hub/models--ollama.com--library--x";
  save(repo / "snapshots/1/x-latest.gguf");
  save(repo / "snapshots/2/x-1.5b.gguf", GgufWriter::model("qwen3"));
  save(repo / "snapshots/2/mmproj-x-1.5b.gguf", GgufWriter::model("clip").flag("clip.has_vision_encoder", true));
  save("hub/models--ollama.com--me--x/snapshots/1/x-1.5b.gguf", GgufWriter::model("qwen2"));
  const auto catalog = scanned();
  EXPECT_THAT(names(*catalog), ElementsAre("me/x:1.5b", "x", "x:1.5b"));
  for (const auto* name : {"x", "x:latest", "ollama.com/library/x", "ollama.com/library/x:latest"})
    EXPECT_EQ((*catalog->find(name))->name, ModelName("x")) << name;
  const auto tagged = catalog->find("ollama.com/library/x:1.5b");
  ASSERT_TRUE(tagged);
  EXPECT_EQ((*tagged)->name, ModelName("x:1.5b"));
  EXPECT_EQ((*tagged)->checkpoint, "ollama.com/library/x:1.5b");
  EXPECT_EQ((*tagged)->mmproj, dir_ / repo / "snapshots/2/mmproj-x-1.5b.gguf");
  EXPECT_TRUE((*catalog->find("x"))->mmproj.empty());
  EXPECT_FALSE(catalog->find("ollama.com/me/x")) << "nobody fetched its latest";
}

TEST_F(RegistryTest, ARescanOpensOnlyWhatChanged) {
  save("models/a.gguf");
  save("models/b.gguf");
  std::ofstream(dir_ / "models/broken.gguf") << "no";
  Registry registry(options());
  EXPECT_THAT(names(*registry.catalog()), IsEmpty()) << "nothing is scanned before the first rescan";
  const auto first = registry.rescan();
  EXPECT_EQ(registry.last_stats().opened, 3U);
  const auto second = registry.rescan();
  EXPECT_EQ(registry.last_stats().files, 3U);
  EXPECT_EQ(registry.last_stats().opened, 0U);
  EXPECT_EQ(names(*second), names(*first));

  save("models/b.gguf", GgufWriter::model("bert"));
  save("models/c.gguf");
  fs::remove(dir_ / "models/a.gguf");
  const auto third = registry.rescan();
  EXPECT_EQ(registry.last_stats().opened, 2U);
  EXPECT_THAT(names(*third), ElementsAre("b", "c"));
  EXPECT_EQ((*third->find("b"))->type, ModelType::embedding);
  EXPECT_THAT(names(*first), ElementsAre("a", "b")) << "a catalog never changes";
  EXPECT_EQ(registry.catalog(), third);
}

}  // namespace
}  // namespace corral::models
