// corral-docs write DIR: writes the generated pages.   corral-docs check DIR: fails if one of them is out of date.
// corral-docs man DIR: writes the manual pages, of the date of $SOURCE_DATE_EPOCH or of today.
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include <fmt/chrono.h>

#include "cli/docs.h"
#include "cli/man.h"
#include "config/docs.h"
#include "config/schema.h"
#include "protocol/docs.h"

namespace {

struct Page {
  const char* name;
  std::string (*text)();
};
constexpr Page kPages[] = {{"configuration.md", corral::config::configuration_page},
                           {"config.schema.json", corral::config::configuration_schema},
                           {"requests.md", corral::protocol::requests_page},
                           {"cli.md", corral::cli::cli_page}};

std::string read(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string date() {
  const char* const epoch = std::getenv("SOURCE_DATE_EPOCH");
  const std::time_t time = epoch != nullptr ? std::strtoll(epoch, nullptr, 10) : std::time(nullptr);
  return fmt::format("{:%B %e, %Y}", fmt::gmtime(time));
}

int write_man_pages(const std::filesystem::path& folder) {
  std::ofstream(folder / "corral.1", std::ios::binary) << corral::cli::man_page(date());
  std::ofstream(folder / "corral-config.5", std::ios::binary) << corral::config::configuration_man_page(date());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode == "man") return write_man_pages(argv[2]);
  if (mode != "write" && mode != "check") {
    std::cerr << "usage: corral-docs write|check|man DIR\n";
    return 2;
  }
  const std::filesystem::path folder = argv[2];
  bool current = true;
  for (const Page& page : kPages) {
    const auto path = folder / page.name;
    if (mode == "write") {
      std::ofstream(path, std::ios::binary) << page.text();
    } else if (read(path) != page.text()) {
      std::cerr << path.string() << " is out of date; run: corral-docs write " << folder.string() << '\n';
      current = false;
    }
  }
  return current ? 0 : 1;
}
