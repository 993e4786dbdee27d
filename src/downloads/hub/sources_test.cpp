#include "downloads/hub/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace corral::downloads {
namespace {

using testing::ElementsAre;

std::vector<std::string> names_in(const Listing& listing, std::string_view source) {
  const auto variant = choose_in(listing, *parse_source(source));
  std::vector<std::string> names;
  std::uint64_t bytes = 0;
  for (const auto& file : variant->in_order()) {
    names.push_back(file.path);
    bytes += file.size;
  }
  EXPECT_EQ(variant->bytes, bytes);
  return names;
}

TEST(Sources, TheProjectorMayBeLeftOut) {
  Listing hub{.repo = "org/repo"};
  hub.tree = {{.path = "m-Q8_0.gguf", .size = 100}, {.path = "mmproj-F16.gguf", .size = 10}};
  EXPECT_THAT(names_in(hub, "org/repo:Q8_0"), ElementsAre("mmproj-F16.gguf", "m-Q8_0.gguf"));
  EXPECT_THAT(names_in(hub, "org/repo:Q8_0#no-mmproj"), ElementsAre("m-Q8_0.gguf"));
  EXPECT_THAT(names_in(hub, "org/repo:mmproj-F16.gguf#no-mmproj"), ElementsAre("mmproj-F16.gguf"));
  Listing ollama{.repo = "ollama.com/library/x"};
  ollama.tree = {{.path = "mmproj-x-1b.gguf", .size = 10},
                 {.path = "x-1b.params.json", .size = 1},
                 {.path = "x-1b.gguf", .size = 100}};
  EXPECT_THAT(names_in(ollama, "ollama://x:1b"), ElementsAre("x-1b.params.json", "mmproj-x-1b.gguf", "x-1b.gguf"));
  EXPECT_THAT(names_in(ollama, "ollama://x:1b#no-mmproj"), ElementsAre("x-1b.params.json", "x-1b.gguf"));
}

}  // namespace
}  // namespace corral::downloads
