// What a shell offers on Tab: `corral __complete WORD...` with the words after "corral" up to the cursor, the last one
// unfinished. The scripts in packaging/completions call it and contain no commands or flags themselves.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace corral::cli {

inline constexpr const char* kCompleteCommand = "__complete";

struct Candidate {
  std::string text;
  std::string help;  // empty for models
  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Candidates for the last word: commands and flags of `program`, or names of models where one belongs. Empty where the
// tables know none, such as for a file. `models` is called only where a model belongs.
std::vector<Candidate> complete(const CLI::App& program, std::span<const std::string> words,
                                const std::function<std::vector<std::string>()>& models);

}  // namespace corral::cli
