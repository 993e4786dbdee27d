// A draft model against libllama by hand: what it guesses is its own greedy continuation, whatever was asked before.
#include "engine/speculate/model_drafter.h"

#include <atomic>

#include <gmock/gmock.h>

#include "engine/llama/context.h"
#include "engine/schedule/row_costs.h"
#include "engine/test_support.h"
#include "engine/values/errors.h"

namespace corral::engine::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// A drafter that guesses whenever it can.
class Speculator {
 public:
  explicit Speculator(const std::string& name, std::uint32_t n_ctx = 1024, ModelDrafterOptions options = {}) {
    EXPECT_TRUE(load_backends());
    EngineLoadOptions target = load_options(name);
    target.speculative = {.max_tokens = 8, .draft_path = target.path};
    auto model = load_draft_model(target, **Model::load(target, {}));
    if (!model) throw std::runtime_error(model.error().message);
    model_ = *model;
    KvMaker make = [this, context = draft_options(target, n_ctx)](KvShape shape) -> Result<std::unique_ptr<KvMemory>> {
      ++made_;
      return LlamaContext::make(model_, context, abort_, shape);
    };
    auto memory = make({});
    if (!memory) throw std::runtime_error(memory.error().message);
    drafter_.emplace(*model_, model_->size(), std::move(*memory), make, options);
  }
  std::vector<Token> once(std::uint64_t session, const std::vector<Token>& history, std::uint32_t max = 6) {
    std::vector<DraftToken> drafts;
    drafter_->draft(SessionId{session}, history, {.max = max, .rows = 1, .costs = costs_}, drafts);
    EXPECT_LE(drafts.size(), max);
    std::vector<Token> tokens;
    for (const DraftToken& draft : drafts) tokens.push_back(draft.token);
    return tokens;
  }
  // Asks until the history is taken in.
  std::vector<Token> operator()(std::uint64_t session, const std::vector<Token>& history, std::uint32_t max = 6) {
    std::vector<Token> drafts;
    for (std::size_t tries = 0; tries <= history.size() / 100 && drafts.empty(); ++tries)
      drafts = once(session, history, max);
    return drafts;
  }
  ModelDrafter& drafter() { return *drafter_; }
  int made() const { return made_; }

 private:
  const std::atomic<bool> abort_ = false;
  const RowCosts costs_;  // nothing measured: rows are cheap
  int made_ = 0;
  std::shared_ptr<Model> model_;
  std::optional<ModelDrafter> drafter_;
};

TEST(ModelDrafter, GuessesItsOwnGreedyContinuation) {
  Speculator draft("tiny-qwen3");
  const Reference reference("tiny-qwen3");
  const std::vector<Token> first = some_tokens(40);
  EXPECT_TRUE(reference.is_greedy(first, draft(1, first)));
  // Another end of the same history, the history cut back, and a session in between.
  const std::vector<Token> second = first + some_tokens(7, 2);
  EXPECT_TRUE(reference.is_greedy(second, draft(1, second)));
  EXPECT_TRUE(reference.is_greedy(some_tokens(9, 3), draft(2, some_tokens(9, 3))));
  EXPECT_TRUE(reference.is_greedy(some_tokens(20), draft(1, some_tokens(20))));
  EXPECT_TRUE(reference.is_greedy(some_tokens(20), draft(1, some_tokens(20)))) << "the same once more";
}

TEST(ModelDrafter, TakesALongHistoryInByPieces) {
  Speculator draft("tiny-llama");
  const std::vector<Token> history = some_tokens(500);
  EXPECT_THAT(draft.once(1, history, 4), IsEmpty());
  const std::vector<Token> drafts = draft(1, history, 4);
  EXPECT_TRUE(Reference("tiny-llama").is_greedy(history, drafts));
}

TEST(ModelDrafter, MoreSessionsThanItFollowsTakeTurns) {
  Speculator draft("tiny-llama", 1024, {.sessions = 2});
  const Reference reference("tiny-llama");
  for (std::uint32_t round = 0; round < 3; ++round) {
    for (std::uint32_t i = 1; i <= 3; ++i)
      EXPECT_TRUE(reference.is_greedy(some_tokens(30 + round, i), draft(i, some_tokens(30 + round, i)))) << i;
  }
  draft.drafter().forget(SessionId{1});
  draft.drafter().forget(SessionId{1});
  EXPECT_TRUE(reference.is_greedy(some_tokens(30), draft(1, some_tokens(30))));
}

TEST(ModelDrafter, CellsThatRunOutAreTakenFromTheOthers) {
  Speculator draft("tiny-llama", 512);
  const Reference reference("tiny-llama");
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 1; i <= 2; ++i)
      EXPECT_TRUE(reference.is_greedy(some_tokens(400, i), draft(i, some_tokens(400, i)))) << i;
  }
  EXPECT_THAT(draft(1, some_tokens(510)), IsEmpty()) << "there is no room for guesses behind it";
  EXPECT_THAT(draft(1, some_tokens(600)), IsEmpty());
}

TEST(ModelDrafter, DownsizeGivesTheCellsBack) {
  Speculator draft("tiny-llama");
  const Reference reference("tiny-llama");
  EXPECT_FALSE(draft(1, some_tokens(40)).empty());
  draft.drafter().downsize();
  EXPECT_EQ(draft.made(), 1);
  draft.drafter().forget(SessionId{1});
  EXPECT_TRUE(reference.is_greedy(some_tokens(40), draft(1, some_tokens(40))));
  EXPECT_EQ(draft.made(), 2);
}

TEST(ModelDrafter, UnsureOfItselfItIsSilent) {
  const std::vector<Token> history = some_tokens(40);
  EXPECT_THAT(Speculator("tiny-llama", 1024, {.least_probability = 0.9f})(1, history), IsEmpty());
  EXPECT_THAT(Speculator("tiny-llama", 1024, {.least_probability = 0})(1, history, 3), SizeIs(3));
}

TEST(ModelDrafter, MostlyWrongItIsAskedNowAndThen) {
  Speculator draft("tiny-llama", 1024, {.pass_cost = 0.3});
  std::vector<Token> history = some_tokens(10);
  std::uint32_t made = 0;
  for (int i = 0; i < 300; ++i) {
    const std::vector<Token> drafts = draft.once(1, history);
    made += static_cast<std::uint32_t>(drafts.size());
    history.push_back(drafts.empty() || drafts.front() != 50 ? 50 : 51);
  }
  EXPECT_GT(made, 5u);
  EXPECT_LT(made, 60u);
}

TEST(ModelDrafter, StopsAtTheEndOfTheAnswer) {
  Speculator draft("scripted-hello");
  const std::vector<Token> answer = Reference("scripted-hello").greedy({10}, 200);
  std::vector<Token> history = {10};
  history.insert(history.end(), answer.begin(), answer.end() - 2);
  EXPECT_EQ(draft(1, history), (std::vector<Token>(answer.end() - 2, answer.end())));
}

TEST(ModelDrafter, TokensItDoesNotKnowSilenceIt) {
  Speculator draft("tiny-llama");
  EXPECT_THAT(draft(1, {5, 1'000'000, 6}), IsEmpty());
  EXPECT_FALSE(draft(1, {5, 6}).empty());
}

// Its layers were spread over the machines of the split, so each guess paid for their round trips.
TEST(ModelDrafter, OfASplitItIsTheHostsAlone) {
  EngineLoadOptions target = load_options("tiny-llama");
  target.speculative = {.max_tokens = 8, .draft_path = target.path};
  target.remotes = {{"worker", "127.0.0.1:1", 1.0F}};
  target.own_share = 1;
  EXPECT_TRUE(draft_options(target, 1024).remotes.empty());
  EXPECT_EQ(draft_options(target, 1024).own_share, 0);
}

TEST(ModelDrafter, OnlyFittingModelsAreLoaded) {
  const auto error = [](const std::string& target, const std::string& draft) {
    EngineLoadOptions options = load_options(target);
    options.speculative = {.max_tokens = 4, .draft_path = draft};
    const auto service = InferenceEngine::load(options);
    EXPECT_FALSE(service) << draft;
    return service ? Error(errc::load_failed, "") : service.error();
  };
  const Error other = error("scripted-hello", model_path("scripted-endless"));
  EXPECT_EQ(other.code, errc::invalid_argument);
  EXPECT_EQ(other.param, "draft_model");
  EXPECT_THAT(other.message, HasSubstr("vocabulary"));
  const Error recurrent = error("tiny-llama", model_path("tiny-mamba"));
  EXPECT_EQ(recurrent.code, errc::unsupported);
  EXPECT_EQ(recurrent.param, "draft_model");
  const Error missing = error("tiny-llama", "nowhere.gguf");
  EXPECT_EQ(missing.code, errc::file_not_found);
  EXPECT_EQ(missing.param, "draft_model");
}

}  // namespace
}  // namespace corral::engine::test
