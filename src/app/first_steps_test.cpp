#include "app/first_steps.h"

#include <gtest/gtest.h>

namespace corral::app {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

config::KnownModels known() {
  const auto model = [](const char* name, double billions, const char* label) {
    return config::KnownModel{.name = name,
                              .labels = {label},
                              .repository = "org/repo",
                              .quantisation = "Q4_K_M",
                              .billions = billions,
                              .licence = "mit"};
  };
  return {.models = {model("large", 8, "chat"), model("small", 1, "chat"), model("coder", 3, "coding")}};
}

const FirstPlaces kPlaces{{"/var/cache/corral/models"}, "/etc/corral/config.toml"};

TEST(FirstSteps, TwoLinesNameAModelThatFitsAndAFolder) {
  const auto lines = first_steps(known(), 16 * kGiB, kPlaces);
  EXPECT_EQ(lines[0].find("no models are here; download one with: corral run large (about "), 0u) << lines[0];
  EXPECT_NE(lines[0].find(" of memory; chat; licence: mit), or corral run small, corral run coder"), std::string::npos)
      << lines[0];
  EXPECT_EQ(lines[1],
            "or copy GGUF files into /var/cache/corral/models; corral doctor shows folders and files that cannot be "
            "read");
}

TEST(FirstSteps, WithoutAFolderTheSettingIsNamed) {
  EXPECT_EQ(first_steps(known(), 16 * kGiB, {{}, "/home/jo/.config/corral/config.toml"})[1],
            "or name a folder with GGUF files: --models-dir DIR, or models_dir = [\"DIR\"] in "
            "/home/jo/.config/corral/config.toml");
}

TEST(FirstSteps, NothingFitsOrNothingMayBeDownloaded) {
  EXPECT_EQ(first_steps(known(), 1 << 20, kPlaces)[0],
            "no models are here, and no known model fits this machine's memory: find a smaller one with corral search");
  EXPECT_EQ(first_steps(known(), 16 * kGiB, {{}, "/x", true})[0],
            "no models are here, and the setting offline forbids downloads");
}

}  // namespace
}  // namespace corral::app
