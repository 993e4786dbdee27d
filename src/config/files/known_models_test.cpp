#include "config/files/known_models.h"

#include <fstream>
#include <set>

#include <gmock/gmock.h>

#include "config/errors.h"
#include "config/home_for_tests.h"

namespace corral::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kGiB = 1ull << 30;

KnownModel chat(std::string name, double billions) {
  return {.name = std::move(name),
          .labels = {"chat"},
          .repository = "org/repo",
          .quantisation = "Q4_K_M",
          .billions = billions};
}

std::vector<std::string> names_of(const std::vector<const KnownModel*>& models) {
  std::vector<std::string> names;
  for (const auto* model : models) names.push_back(model->name);
  return names;
}

std::string message_of(std::string_view text) {
  const auto table = parse_known_models(text, "mine.toml");
  if (table) return "no error";
  EXPECT_EQ(table.error().code, errc::malformed_file);
  return table.error().message;
}

class KnownModelsFile : public HomeForTests {
 protected:
  std::filesystem::path written(std::string_view text) const {
    std::ofstream(home_ / "known-models.toml") << text;
    return home_ / "known-models.toml";
  }
};

// Each row can be fetched by what it says, and says where it was seen.
TEST(KnownModelsTable, what_is_shipped_is_sound) {
  const auto known = read_known_models({});
  EXPECT_EQ(known.problem, "");
  EXPECT_THAT(known.models, SizeIs(testing::Ge(20u)));
  std::set<ModelType> types;
  for (const auto& model : known.models) {
    types.insert(model.type);
    EXPECT_NE(model.source().find(':'), std::string::npos) << model.name;
    EXPECT_NE(model.licence, "") << model.name;
    // A page or a file that anybody can look at.
    EXPECT_THAT(model.seen, testing::AnyOf(testing::StartsWith("github.com/"), testing::StartsWith("huggingface.co/")))
        << model.name;
    EXPECT_FALSE(model.labels.empty()) << model.name;
  }
  EXPECT_THAT(types, testing::IsSupersetOf({ModelType::llm, ModelType::embedding, ModelType::reranking}));
}

TEST(KnownModelsTable, names_are_found_without_regard_to_case) {
  const auto known = read_known_models({});
  ASSERT_NE(known.find("QWEN3-0.6B"), nullptr);
  EXPECT_EQ(known.find("QWEN3-0.6B")->source(), "Qwen/Qwen3-0.6B-GGUF:Q8_0");
  EXPECT_EQ(known.find("qwen3-0.6"), nullptr);
}

TEST_F(KnownModelsFile, of_a_user_adds_replaces_or_leaves_alone) {
  const std::string mine =
      "[[model]]\nname = \"mine\"\ntype = \"llm\"\nrepository = \"me/mine\"\nfile = \"mine.gguf\"\nparameters = 1\n"
      "[[model]]\nname = \"QWEN3-8B\"\ntype = \"llm\"\nrepository = \"me/other\"\nquantisation = \"Q8_0\"\n"
      "parameters = 8\n";
  const auto shipped = read_known_models({}).models.size();
  const auto more = read_known_models(written(mine));
  EXPECT_EQ(more.problem, "");
  EXPECT_THAT(more.models, SizeIs(shipped + 1));
  EXPECT_EQ(more.find("mine")->source(), "me/mine:mine.gguf");
  EXPECT_EQ(more.find("qwen3-8b")->repository, "me/other");
  EXPECT_THAT(read_known_models(written("only_these = true\n" + mine)).models, SizeIs(2));
}

TEST_F(KnownModelsFile, that_is_broken_is_told_and_what_is_shipped_stays) {
  const auto known = read_known_models(written("[[model]]\nname = \"a b\"\n"));
  EXPECT_THAT(known.problem, HasSubstr("model 'a b': name must be"));
  EXPECT_NE(known.find("qwen3-8b"), nullptr);
  EXPECT_EQ(read_known_models(home_ / "missing.toml").problem, "");
}

TEST(KnownModelsTable, errors_name_the_model_and_the_key) {
  const std::string good =
      "[[model]]\nname = \"m\"\ntype = \"llm\"\nrepository = \"a/b\"\nquantisation = \"Q8_0\"\nparameters = 1\n";
  EXPECT_EQ(message_of(good), "no error");
  EXPECT_THAT(message_of("x = ["), HasSubstr("mine.toml: line 1: not valid TOML"));
  EXPECT_THAT(message_of("models = 1"), HasSubstr("'models': there are [[model]] tables"));
  EXPECT_THAT(message_of(good + "size = 1\n"), HasSubstr("model 'm': there is no key 'size'"));
  EXPECT_THAT(message_of(good + "file = \"x.gguf\"\n"), HasSubstr("a quantisation or a file, one of them"));
  EXPECT_THAT(message_of(good + "labels = \"chat\"\n"), HasSubstr("labels must be a list of texts"));
  EXPECT_THAT(message_of(good + good), HasSubstr("model 'm' is in it twice"));
  EXPECT_THAT(message_of("[[model]]\nname = \"m\"\ntype = \"chat\"\n"), HasSubstr("type 'chat' is none of"));
  EXPECT_THAT(message_of("[[model]]\nname = \"m\"\ntype = \"llm\"\nrepository = \"ab\"\n"), HasSubstr("org/repo"));
  EXPECT_THAT(message_of("[[model]]\nname = \"m\"\ntype = \"llm\"\nrepository = \"a/b\"\nquantisation = \"Q8_0\"\n"
                         "parameters = \"8B\"\n"),
              HasSubstr("parameters must be a number"));
}

TEST(KnownModelsTable, sizes_are_guessed_by_parameters_and_bits) {
  EXPECT_EQ(estimated_size(chat("m", 8)), 4'900'000'000u);
  auto model = chat("m", 0.6);
  model.quantisation = "q8_0";
  EXPECT_EQ(estimated_size(model), 637'500'000u);
  EXPECT_EQ(estimated_memory(1'000), 1'100 + (256ull << 20));
}

TEST(SuggestedModels, the_largest_a_quick_one_and_one_for_code) {
  KnownModels known{.models = {chat("one", 1), chat("eight", 8), chat("four", 4), chat("seventy", 70)}};
  auto coder = chat("coder", 7);
  coder.labels = {"coding", "chat"};
  known.models.push_back(coder);
  auto embedding = chat("embedding", 3);
  embedding.type = ModelType::embedding;
  known.models.push_back(embedding);
  EXPECT_THAT(names_of(suggested_models(known, 11 * kGiB)), ElementsAre("eight", "four", "coder"));
  EXPECT_THAT(names_of(suggested_models(known, 7 * kGiB)), ElementsAre("four", "one", "coder"));
  EXPECT_THAT(names_of(suggested_models(known, 3 * kGiB)), ElementsAre("one"));
  EXPECT_THAT(suggested_models(known, 100 << 20), IsEmpty());
  EXPECT_THAT(names_of(suggested_models(known, 1'000 * kGiB)), ElementsAre("seventy", "eight", "coder"));
}

// What is offered fits, on machines of all sizes, and a machine of 4 GiB has something to begin with.
TEST(SuggestedModels, what_is_shipped_suits_machines_of_all_sizes) {
  const auto known = read_known_models({});
  for (const std::uint64_t gib : {2, 4, 8, 16, 24, 32, 64, 256}) {
    const auto models = suggested_models(known, gib * kGiB);
    EXPECT_THAT(models, SizeIs(testing::Ge(gib < 4 ? 1u : 2u))) << gib;
    for (const auto* model : models) EXPECT_LE(estimated_memory(estimated_size(*model)), gib * kGiB) << model->name;
    EXPECT_EQ(std::set(models.begin(), models.end()).size(), models.size()) << gib;
  }
}

}  // namespace
}  // namespace corral::config
