// What a service leaves parked on disk, and which one takes it up again.
#include <filesystem>

#include "engine/kv/parked_test_support.h"
#include "engine/test_support.h"

namespace corral::engine::test {
namespace {

namespace fs = std::filesystem;

class ParkedEngine : public ParkFolderTest {
 protected:
  ParkedEngine() {
    fs::create_directory(models_);
    fs::permissions(folder_, fs::perms::owner_all);
  }
  fs::path copy_of(const std::string& model) const {
    const fs::path to = models_ / (model + ".gguf");
    fs::copy_file(model_path(model), to);
    return to;
  }
  // So many tokens of a prompt that is always the same needed no computing, in a service that ends behind it.
  std::uint32_t cached(const fs::path& model) const {
    EngineLoadOptions options = load_options("tiny-llama");
    options.path = model.string();
    options.park_dir = (folder_ / "parked").string();
    const auto engine = load(options);
    return generate(*engine, session_with(*engine, some_tokens(100)), endless(4)).finish.usage.cached_tokens;
  }

  const fs::path models_ = folder_ / "models";
};

TEST_F(ParkedEngine, OutlivesTheService) {
  const fs::path model = copy_of("tiny-llama");
  EXPECT_EQ(cached(model), 0u);
  EXPECT_EQ(cached(model), 99u);
}

// Only the first part used to count.
TEST_F(ParkedEngine, BelongsToAllPartsOfASplitSet) {
  const fs::path first = copy_of("tiny-split-00001-of-00002"), second = copy_of("tiny-split-00002-of-00002");
  EXPECT_EQ(cached(first), 0u);
  EXPECT_EQ(cached(first), 99u);
  fs::last_write_time(second, fs::last_write_time(second) - std::chrono::hours(1));
  EXPECT_EQ(cached(first), 0u) << "another second part is another model";
  fs::last_write_time(first, fs::last_write_time(first) - std::chrono::hours(1));
  EXPECT_EQ(cached(first), 0u);
}

}  // namespace
}  // namespace corral::engine::test
