// corral-docs write DIR: writes the generated pages.   corral-docs check DIR: fails if one of them is out of date.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "cli/docs.h"
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

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc == 3 ? argv[1] : "";
  if (mode != "write" && mode != "check") {
    std::cerr << "usage: corral-docs write|check DIR\n";
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
