// Help texts in two columns, wrapped to a width.
#pragma once

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "cli/terminal/terminal.h"

namespace corral::cli {

inline constexpr std::size_t kHelpWidth = 100;  // in pipes and pages

// The width of the terminal, as far as lines of that width are readable.
std::size_t help_width(const Terminal& terminal);

class HelpFormatter final : public CLI::Formatter {
 public:
  explicit HelpFormatter(std::size_t width) : width_(width) {}

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;

 private:
  std::string two_columns(const std::string& name, const std::string& description) const;

  const std::size_t width_;
};

}  // namespace corral::cli
