#include "cli/terminal/table_flags.h"

#include <sstream>

#include <CLI/App.hpp>

namespace corral::cli {
namespace {

constexpr const char* kWide = "--wide";
constexpr const char* kColumns = "--columns";

}  // namespace

void add_table_flags(CLI::App& app) {
  app.add_flag(kWide)->description("Print all columns, also on a terminal that is too narrow");
  app.add_option(kColumns)->description("Print only these columns, such as name,size")->type_name("NAMES");
}

TableView table_view(const CLI::App& program) {
  TableView view;
  for (const CLI::App* command : program.get_subcommands()) {
    const auto* const wide = command->get_option_no_throw(kWide);
    view.wide = view.wide || (wide != nullptr && wide->count() > 0);
    const auto* const columns = command->get_option_no_throw(kColumns);
    if (columns == nullptr || columns->count() == 0) continue;
    std::istringstream names(columns->results().back());
    for (std::string name; std::getline(names, name, ',');) {
      if (!name.empty()) view.columns.push_back(name);
    }
  }
  return view;
}

}  // namespace corral::cli
